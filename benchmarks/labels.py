"""Test what a few labels show of new images, and compare it with PPI++.

The images are drawn from the outputs of two published networks for test images and images of
unknown classes.  The second table draws errors with a known probability, a label at a look.

    pip install . ppi-python==0.2.3   in a separate environment
    python -m benchmarks.labels
"""

import warnings
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.guarantees import NETWORKS
from helpers.scores.calibration import confidences, fit_temperature
from known_unknowns.bench.feature_packs import EMBEDDED, FeaturePack
from known_unknowns.few_labels import ERROR, guarantee_evidence, labelled_share
from known_unknowns.guarantees import clopper_pearson

INTERVALS = Path(__file__).with_name("results") / "labels.csv"
SHARES = (0, 0.01, 0.05, 0.2, 0.5, 0.8)
#: Numbers of labels, and of new images.
SIZES = ((60, 200), (60, 1000), (60, 3000), (200, 3000))
DRAWS = 700
METHODS = ("exact", "PPI++", "ours")
GUARANTEED = 0.05
RISKS = (0.01, 0.02, 0.03, 0.05, 0.08, 0.118, 0.2)
RUNS = 500
LABELS = 3000
VERDICTS = ("broken", "kept")


def ppi(happened, sure, drawn) -> tuple[float, float]:
    """Return the interval of PPI++ by ppi-python."""
    from ppi_py import ppi_mean_ci

    others = np.setdiff1d(np.arange(len(sure)), drawn)
    low, high = ppi_mean_ci(happened.astype(float), sure[drawn], sure[others], alpha=0.05)
    return low.item(), high.item()


def intervals() -> pd.DataFrame:
    """Return, by network, share and size, how often intervals of the accuracy hold, and widths."""
    rows = []
    for (network, file), share, (labels, images) in product(NETWORKS.items(), SHARES, SIZES):
        pack = FeaturePack.read(EMBEDDED / f"{file}.safetensors")
        temperature = fit_temperature(pack.test.logits, pack.test.labels)
        known, *sets = (
            confidences(part.logits, temperature)
            for part in (pack.test, *(pack.near | pack.far).values())
        )
        generator = np.random.default_rng(labels + images)
        accuracy = (1 - share) * pack.test.correct.mean()
        for draw in range(DRAWS):
            unknown = generator.random(images) < share
            index = generator.integers(len(known), size=images)
            others = generator.choice(sets[draw % len(sets)], images)
            sure = np.where(unknown, others, known[index])
            right = ~unknown & pack.test.correct[index]
            drawn = generator.permutation(images)[:labels]
            ours = labelled_share(right[drawn], sure, drawn)
            exact = clopper_pearson(int(right[drawn].sum()), labels)
            row = [network, share, labels, images, ours.worth]
            for low, high in (exact, ppi(right[drawn], sure, drawn), ours[1:3]):
                row += [low <= accuracy <= high, high - low]
            rows.append(row)
    keys = "network unknown labels images".split()
    names = [f"{name}{end}" for name in METHODS for end in ("", ", width")]
    table = pd.DataFrame(rows, columns=[*keys, "worth", *names])
    return table.groupby(keys, sort=False).mean().reset_index()


def decisions() -> pd.DataFrame:
    """Return, for each risk, how often a guarantee is decided, and the median number of labels."""
    rows = []
    for risk in RISKS:
        wrong = np.random.default_rng(0).random((LABELS, RUNS)) < risk
        row = [risk]
        for log in guarantee_evidence(wrong, 1, GUARANTEED):
            above = log >= np.log(1 / ERROR)
            labels = np.where(above.any(axis=0), 1 + above.argmax(axis=0), np.inf)
            row += [np.isfinite(labels).mean(), np.median(labels)]
        rows.append(row)
    names = [f"{name}{end}" for name in VERDICTS for end in ("", ", labels")]
    return pd.DataFrame(rows, columns=["risk", *names])


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(decisions().round(3).to_string(index=False))
    intervals().round(4).to_csv(INTERVALS, index=False)
