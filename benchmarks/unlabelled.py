"""Compare what an audit reports on unlabelled images with labels, for new kinds of images.

An audit gets test images, and two packs of unknown images of each kind but one.  Its unlabelled
images are other test images, perhaps corrupted, mixed with a pack of the kind that is left out.

    DATA_ROOT=... NETWORK_ROOT=... python -m benchmarks.unlabelled
"""

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

from helpers import data
from helpers.data.corruptions import corrupt_set
from helpers.labelfree import counts_at_share
from helpers.networks import zoo
from known_unknowns.auditing import Inputs, audit
from known_unknowns.auditing.inputs import unlabelled
from synthesis.without_labels import experiment

STORED = Path(__file__).with_name("results") / "unlabelled.parquet"
#: Networks, their data set and the target risk.
NETWORKS = {
    "resnet20.akamaster_cifar10": ("cifar10", 0.05),
    "resnet56.akamaster_cifar10": ("cifar10", 0.05),
    "densenet100.dice_cifar100": ("cifar100", 0.1),
}
PACKS = """brain_mri breast_ultrasound captcha crypto_icons dtd_subset fashion_mnist flags gtsrb
icons_gnome magnetic_tile minetest_textures mnist mri_slices notmnist omniglot planet_maps pokemon
sign_digits""".split()
KINDS = {
    kind.replace("medical", "medical images"): [name for name in PACKS if name in names]
    for kind, names in sorted(experiment.KINDS.items())
}
IMAGES = 1500
OTHERS = 250
SHARES = (0.01, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8)
CHANGES: dict[str, tuple] = {"none": (), "fog": ("fog", 3), "noise": ("gaussian_noise", 1)}
COLUMNS = "network kind change pack share accuracy accepted stated coverage exceeded".split()


def outputs_of(network: str, id_set: str) -> tuple:
    """Return outputs of validation images, of other test images by change, and of packs."""
    model = zoo.load(network, progress=False)
    test = data.subsample(data.load(id_set, "test"), 2 * IMAGES, seed=0)
    other = test.subset(slice(1, None, 2))
    known = {
        name: model.outputs(corrupt_set(other, *change) if change else other)
        for name, change in CHANGES.items()
    }
    packs = {
        name: model.outputs(data.subsample(data.load(name, "test"), OTHERS, seed=0).unknown())
        for name in PACKS
    }
    return model.outputs(test.subset(slice(0, None, 2))), known, packs


def compare(network: str, id_set: str, risk: float) -> list[tuple]:
    """Return a row of `COLUMNS` for each kind, change, pack and share."""
    validation, known, packs = outputs_of(network, id_set)
    classes = tuple(map(str, range(validation.num_classes)))
    rows = []
    for kind in KINDS:
        ood = {name: packs[name] for other in KINDS if other != kind for name in KINDS[other][:2]}
        inputs = Inputs(network, validation, classes, ood=ood)
        again = {}
        for (change, part), name, share in product(known.items(), KINDS[kind], SHARES):
            sizes = counts_at_share(IMAGES, len(packs[name]), share)
            ours = part.subset(slice(sizes[0]))
            others = packs[name].subset(slice(sizes[1]))
            mixture = unlabelled([ours, others])
            first = audit(replace(inputs, production=mixture), risk=risk, replicates=20)
            seen = first.unlabelled
            correct = np.append(ours.correct, np.zeros(sizes[1], bool))
            stated = seen.to_state
            accepted = correct[first.rejector.accepts(mixture)]
            brackets = held(seen.accuracy, correct), held(seen.accepted, accepted)
            if stated and stated not in again:
                again[stated] = audit(inputs, risk=risk, unknown_share=stated, replicates=20)
            coverage = exceeded = np.nan
            if stated and (rule := again[stated].rejector):
                kept = rule.accepts(part)
                unknown = rule.accepts(packs[name]).mean()
                wrong = (1 - share) * (kept & ~part.correct).mean() + share * unknown
                coverage = kept.mean()
                exceeded = float(wrong > risk * ((1 - share) * coverage + share * unknown))
            setting = network, kind, change, name, share
            rows.append((*setting, *brackets, stated or np.nan, coverage, exceeded))
    return rows


def held(bracket: tuple[float, float] | None, correct: np.ndarray) -> float:
    """Return whether a bracket contains the accuracy; NaN without a bracket."""
    return float(bracket[0] <= correct.mean() <= bracket[1]) if bracket else np.nan


if __name__ == "__main__":
    rows = [row for network, more in NETWORKS.items() for row in compare(network, *more)]
    pd.DataFrame(rows, columns=COLUMNS).to_parquet(STORED, index=False)
