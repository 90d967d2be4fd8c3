"""Audit known mixtures, and count how often each number of the audits is false.

The images are drawn from outputs of published networks for test images and for sets of unknown
images.  An audit gets N test images, N images of an unknown set, and N new images, among which this
set has a known share, which is stated to the audit.  60 or 300 new images have labels.  The outputs
of `TINIEST` are also for corrupted images, and for sets of no other comparison.

    python -m benchmarks.audits --draws 200    continues after a stop
    DATA_ROOT=... NETWORK_ROOT=... python -m benchmarks.audits --outputs    writes `OUTPUTS`
"""

import argparse
import time
from collections import defaultdict
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from safetensors.numpy import load_file, save_file
from scipy.stats import binom

from helpers.files import atomic_path
from helpers.metrics import aurc
from helpers.outputs import Outputs
from known_unknowns.auditing import Audit, audit
from known_unknowns.auditing.checked import NO_CLASS, NOT_LABELLED
from known_unknowns.auditing.labelling import draw
from known_unknowns.bench.feature_packs import EMBEDDED, FeaturePack

STORED = Path(__file__).with_name("results") / "audits.csv"
PACKS = ("resnet20.akamaster_cifar10", "densenet100.dice_cifar10", "densenet100.dice_cifar100")
TINIEST = "tiniest.thales_cifar10"
OUTPUTS = STORED.with_name("tiniest.safetensors")
#: Corruptions with their severities, and sets of unknown images.
CHANGES = {"fog": 3, "gaussian_noise": 1, "jpeg_compression": 2, "defocus_blur": 3}
SETS = """doc_figures emnist_letters facial_expressions flowers5 food101_64 road_potholes svhn
wesnoth_units""".split()
#: Numbers of test images without a change and of each corruption, and of each unknown set.
TEST = 1800
CHANGED = 400
UNKNOWN = 100
#: Numbers of labels, each with the shares of unknown images and the numbers of images.
CASES = {60: ((0, 0.01, 0.05, 0.2, 0.5, 0.8), (200, 1000, 3000)), 300: ((0.05, 0.2), (1000, 3000))}
RISK = 0.05
#: Draws that are stored together.
ROUND = 10
#: The largest share of draws in which each number may be false.
ALLOWED = {
    "accuracy": 0.05,
    "aurc": 0.05,
    "risk": 0.05,
    "smallest": 0.05,
    "by answer": 0.05,
    "worse answers": 0.05,
    "conditional coverage": 0.05,
    "bound": 0.05,
    "drift": 0.05,
    "labelled accuracy": 0.05,
    "labelled risk": 0.05,
    "labelled unknown": 0.05,
    "verdict": 0.05,
    "production": 0.05,
    "bracket": 0.1,
    "accepted": 0.1,
    # means
    "average": RISK,
    "rejected": 0.1,
    "list": 0.1,
}
#: Numbers without a guarantee for all draws: they hold if there is an answer.
IF_ANSWERED = ("aurc", "average", "bracket", "accepted")
KEYS = ["network", "change", "labels", "unknown", "images"]
COUNTS = ("draws", "cpu_seconds", "width", "narrow")
COLUMNS = [*KEYS, *COUNTS, *(f"{name}{end}" for name in ALLOWED for end in ("", ", answers"))]
#: Probability that chance alone reports a cell.
CHANCE = 1e-4


class Law(NamedTuple):
    """Scores and answers of images of known classes, and scores of a share of unknown images."""

    scores: np.ndarray
    correct: np.ndarray
    answers: np.ndarray
    unknown: np.ndarray
    share: float

    def risk(self, threshold: float) -> float:
        """Return the share of wrong answers among the accepted answers."""
        kept = self.scores >= threshold
        let_in = self.share * (self.unknown >= threshold).mean()
        wrong = (1 - self.share) * (kept & ~self.correct).mean() + let_in
        accepted = (1 - self.share) * kept.mean() + let_in
        return wrong / accepted if accepted else 0.0

    def risk_of(self, answer: int, threshold: float) -> float:
        """Return the risk of an answer, without unknown images."""
        among = self.answers == answer
        return self._replace(scores=self.scores[among], correct=self.correct[among], share=0).risk(
            threshold
        )


class Drawn(NamedTuple):
    """The arrays of an audit, and the true labels of all new images."""

    arrays: dict[str, np.ndarray]
    labels: np.ndarray


def draw_images(
    known: Outputs,
    new: Outputs,
    others: Outputs,
    share: float,
    sizes: tuple[int, int],
    seed: list[int],
) -> Drawn:
    """Return random images for an audit; `sizes` are the numbers of labels and of images."""
    count, images = sizes
    generator = np.random.default_rng(seed)
    validation = known.subset(generator.integers(len(known), size=images))
    production = new.subset(generator.integers(len(new), size=images))
    unknown = generator.random(images) < share
    logits = [generator.choice(others.logits, images) for _ in range(2)]
    labels = np.where(unknown, NO_CLASS, production.labels)
    labelled = np.full(images, NOT_LABELLED)
    drawn = draw(labels, 0)[:count]
    labelled[drawn] = labels[drawn]
    arrays = {
        "logits": validation.logits,
        "labels": validation.labels,
        "ood_set_logits": logits[0],
        "production_logits": np.where(unknown[:, None], logits[1], production.logits),
        "production_labels": labelled,
    }
    return Drawn(arrays, labels)


def laws(audited: Audit, known: Outputs, new: Outputs, others: Outputs, share: float) -> list[Law]:
    """Return the laws of validation images and of new images, with unknown images."""
    score = audited.score.score_samples
    return [
        Law(score(part), part.correct, part.predictions, score(others), share)
        for part in (known, new)
    ]


def guarantees(audited: Audit, law: Law) -> Iterator[tuple[str, float]]:
    """Yield each number of the validation images, and whether it is false, or its mean."""
    alone = law._replace(share=0)
    yield "accuracy", is_outside(law.correct.mean(), *audited.accuracy[1:])
    area = audited.confirmed.query("metric == 'aurc' and set == ''").iloc[0]
    yield "aurc", is_outside(aurc(law.scores, law.correct), area["low"], area["high"])
    for name in ("risk", "smallest", "average"):
        threshold = audited.thresholds.get(name)
        if threshold and not threshold.problem:
            risk = law.risk(threshold.value)
            yield name, risk if name == "average" else risk > threshold.wished
    risks = [
        law.risk_of(answer, row["value"])
        for answer, row in enumerate(audited.answers)
        if not np.isnan(row["value"])
    ]
    if risks:
        yield "by answer", max(risks) > RISK
    if audited.threshold:
        worse = [
            law.risk_of(answer, audited.threshold.value)
            for answer, row in enumerate(audited.classes)
            if row["beyond"]
        ]
        yield "worse answers", min(worse, default=1) <= audited.threshold.wished
    threshold = audited.thresholds["coverage"]
    coverage = (alone.scores >= threshold.value).mean()
    yield "rejected", 1 - coverage
    yield "conditional coverage", coverage < threshold.conditional


def estimates(
    audited: Audit, law: Law, labels: np.ndarray, changed: bool
) -> Iterator[tuple[str, float]]:
    """Yield each number of the new images, and whether it is false, or its mean."""
    seen = audited.unlabelled
    inputs = audited.inputs
    assert seen and audited.drift and inputs.production
    right = inputs.production.predictions == labels
    if not changed and not law.share:
        yield "drift", bool(audited.drift["found"])
    if seen["least"]:
        yield "bound", not changed and seen["least"] > law.share
    if seen["listed"]:
        yield "list", 0 if changed else (labels[seen["listed"]] != NO_CLASS).mean()
    if seen["accuracy"]:
        low, high = seen["accuracy"]
        yield "bracket", is_outside(right.mean(), low, high)
        yield "width", high - low
        yield "narrow", high - low <= 0.3
    by_labels = seen["labelled"]
    accuracy = (1 - law.share) * law.correct.mean()
    yield "labelled accuracy", is_outside(accuracy, *by_labels["accuracy"][1:3])
    yield "labelled unknown", is_outside(law.share, *by_labels["unknown"][1:3])
    if "production" in audited.thresholds:
        yield "production", law.risk(audited.thresholds["production"].value) > RISK
    if not audited.threshold:
        return
    threshold = audited.threshold
    risk = law.risk(threshold.value)
    if seen["accepted"]:
        kept = audited.samples["production"] >= threshold.value
        yield "accepted", right[kept].mean() < seen["accepted"][0]
    if by_labels["risk"]:
        yield "labelled risk", is_outside(risk, *by_labels["risk"][1:3])
    if by_labels["promise"] and by_labels["promise"].state != "open":
        yield "verdict", (by_labels["promise"].state == "broken") == (risk <= threshold.wished)


def is_outside(value: float, low: float, high: float) -> bool:
    """Return whether an interval does not contain a value."""
    return not low <= value <= high


def populations() -> Iterator[tuple[str, Outputs, list[Outputs], list[Outputs]]]:
    """Yield each network, its test images, their corruptions (or none), and the unknown sets."""
    for network in PACKS:
        pack = FeaturePack.read(EMBEDDED / f"{network}.safetensors")
        yield network, pack.test, [], [*(pack.near | pack.far).values()]
    stored = load_file(OUTPUTS)
    step = stored["step"]
    labels = stored["labels"].astype(int)
    known, *others = (
        Outputs(step * stored[part], np.empty((len(stored[part]), 0)), labels[: len(stored[part])])
        for part in ("test", *CHANGES, *SETS)
    )
    yield TINIEST, known, [], others[len(CHANGES) :]
    yield TINIEST, known, others[: len(CHANGES)], others[len(CHANGES) :]


def simulate(draws: int) -> pd.DataFrame:
    """Audit this number of draws of each cell, and store the rows after each cell and round."""
    rows: dict[tuple, defaultdict[str, Any]] = {}
    if STORED.exists():
        for stored in pd.read_csv(STORED).to_dict("records"):
            rows[tuple(stored[name] for name in KEYS)] = defaultdict(float, stored)
    cells = [
        (labels, share, images, *population)
        for labels, (shares, sizes) in CASES.items()
        for share, images, population in product(shares, sizes, list(populations()))
    ]
    for most, (labels, share, images, network, known, changed, sets) in product(
        range(ROUND, draws + 1, ROUND), cells
    ):
        cell = (network, "corrupted" if changed else "none", labels, share, images)
        row = rows.setdefault(cell, defaultdict(float, zip(KEYS, cell, strict=True)))
        if row["draws"] >= most:
            continue
        began = time.process_time()
        for number in range(int(row["draws"]), most):
            others = sets[number % len(sets)]
            new = changed[number // len(sets) % len(changed)] if changed else known
            seed = [number, images, round(100 * share), len(known), len(changed)]
            drawn = draw_images(known, new, others, share, (labels, images), seed)
            audited = audit(drawn.arrays, risk=RISK, unknown_share=share, fallback="smallest")
            before, after = laws(audited, known, new, others, share)
            for name, value in (
                *guarantees(audited, before),
                *estimates(audited, after, drawn.labels, bool(changed)),
            ):
                row[name] += float(value)
                row[f"{name}, answers"] += 1
            row["draws"] += 1
        row["cpu_seconds"] += time.process_time() - began
        with atomic_path(STORED) as temporary:
            table = pd.DataFrame(list(rows.values()), columns=COLUMNS).fillna(0).round(4)
            table.to_csv(temporary, index=False)
        print(*cell, row["draws"], flush=True)
    return pd.read_csv(STORED)


def failing(table: pd.DataFrame) -> list[str]:
    """Return each cell in which a number is false more often than allowed, beyond chance.

    A cell has all networks together; larger groups, such as all sizes of a network, count too.
    """
    reported = []
    sizes = [*KEYS[1:3], "images"]
    for keys in (KEYS[1:2], KEYS[:3], KEYS[:4], KEYS[1:4], sizes, KEYS[1:]):
        sums = table.groupby(keys).sum(numeric_only=True)
        for name, allowed in ALLOWED.items():
            counts = sums[f"{name}, answers" if name in IF_ANSWERED else "draws"]
            most = binom.isf(CHANCE, counts, allowed)
            for cell, row in sums[sums[name] > most].iterrows():
                reported.append(f"{cell}: {name}, {row[name]:g} of {counts[cell]:g}")
    return reported


def write_outputs() -> None:
    """Write the logits of `TINIEST` in 8 bits."""
    from helpers import data
    from helpers.data.corruptions import corrupt_set
    from helpers.networks import zoo

    model = zoo.load(TINIEST, progress=False)
    test = data.subsample(data.load("cifar10", "test"), TEST, seed=1)
    test = test.subset(np.random.default_rng(1).permutation(TEST))
    images = {"test": test}
    for name, severity in CHANGES.items():
        images[name] = corrupt_set(test.subset(slice(CHANGED)), name, severity)
    for name in SETS:
        every = data.load(name, "test" if "test" in data.splits(name) else "train", size=32)
        images[name] = data.subsample(every.unknown(), UNKNOWN, seed=1)
    logits = {name: model.outputs(part).logits for name, part in images.items()}
    step = max(np.abs(values).max() for values in logits.values()) / 127
    arrays = {name: np.rint(values / step).astype(np.int8) for name, values in logits.items()}
    arrays |= {"labels": test.labels.astype(np.int8), "step": np.array([step], np.float32)}
    save_file(arrays, OUTPUTS)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--outputs", action="store_true")
    given = parser.parse_args()
    if given.outputs:
        write_outputs()
    else:
        print("\n".join(failing(simulate(given.draws))) or "Each number holds in each cell.")
