"""Compare the coverage of guaranteed risks with plain learn-then-test, MAPIE and zugzwang.

Confidences have the distribution of a published network's confidences, and an answer with the
confidence p is correct with the probability p.  So the risk of every threshold is known.

    pip install . pyarrow mapie==1.6.0 zugzwang==1.1.0   in a separate environment
    python -m benchmarks.guarantees
"""

import warnings
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import bdtr

from helpers.scores.calibration import fit_temperature, softmax
from known_unknowns.bench.feature_packs import EMBEDDED, FeaturePack
from known_unknowns.guarantees import images_needed, risk_threshold

STORED = Path(__file__).with_name("results") / "guarantees.parquet"
CONFIDENCE = 0.95
RISKS = (0.01, 0.05, 0.1)
SIZES = (100, 200, 300, 1000, 3000, 5000, 10_000, 100_000)
NETWORKS = {"CIFAR-10": "densenet100.dice_cifar10", "CIFAR-100": "densenet100.dice_cifar100"}
SCORES = {"smooth": 15, "two digits": 2, "one digit": 1}


def ours(scores, correct, risk: float) -> float:
    """Return the threshold of this project."""
    return risk_threshold(scores, correct, risk=risk, confidence=CONFIDENCE).threshold


def plain(scores, correct, risk: float) -> float:
    """Return the threshold of one walk over all scores, with the whole error probability."""
    values, counts = np.unique(-scores, return_counts=True)
    accepted = np.cumsum(counts)
    errors = np.cumsum(np.bincount(np.searchsorted(values, -scores), ~correct))
    start = np.searchsorted(accepted, images_needed(risk, CONFIDENCE) - 1)
    failed = bdtr(errors, accepted, risk)[start:] > (1 - CONFIDENCE) * (1 + 1e-9)
    passed = start + np.append(np.flatnonzero(failed), len(failed))[0]
    return -values[passed - 1] if passed > start else np.inf


def mapie(scores, correct, risk: float) -> float:
    """Return the threshold of MAPIE with its defaults (Holm's correction, a hundred thresholds)."""
    from mapie.risk_control import BinaryClassificationController, precision

    controller = BinaryClassificationController(
        lambda part: np.c_[1 - part, part], precision, 1 - risk, confidence_level=CONFIDENCE
    ).calibrate(scores[:, None], correct.astype(int))
    return np.inf if controller.best_predict_param is None else controller.best_predict_param


def zugzwang(scores, correct, risk: float) -> float:
    """Return the threshold of zugzwang with its defaults."""
    from zugzwang import certify_threshold

    return certify_threshold(scores, ~correct, risk, 1 - CONFIDENCE).threshold


def compare() -> pd.DataFrame:
    """Return the mean coverage, and the share of draws whose true risk is too large."""
    rows = []
    for network, file in NETWORKS.items():
        test = FeaturePack.read(EMBEDDED / f"{file}.safetensors").test
        known = softmax(test.logits, fit_temperature(test.logits, test.labels)).max(axis=1)
        fine = np.quantile(known, (np.arange(2**19) + 0.5) / 2**19)[::-1]
        errors = np.cumsum(1 - fine)
        for (kind, digits), images in product(SCORES.items(), SIZES):
            falling = -fine.round(digits)
            generator = np.random.default_rng(images)
            for _ in range(max(10, min(600, 600_000 // images))):
                drawn = np.quantile(known, generator.random(images))
                correct = generator.random(images) < drawn
                scores = drawn.round(digits)
                for risk, method in product(RISKS, (ours, plain, mapie, zugzwang)):
                    try:
                        threshold = method(scores, correct, risk)
                    except ValueError:  # there is no threshold
                        threshold = np.inf
                    kept = int(np.searchsorted(falling, -threshold, side="right"))
                    row = network, kind, risk, images, method.__name__, kept / len(fine)
                    rows.append((*row, kept > 0 and errors[kept - 1] > risk * kept))
    names = ["network", "scores", "risk", "images", "method"]
    table = pd.DataFrame(rows, columns=[*names, "coverage", "violated"])
    return (
        table.groupby(names, sort=False)
        .agg(
            coverage=("coverage", "mean"), violated=("violated", "mean"), draws=("violated", "size")
        )
        .reset_index()
    )


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # MAPIE warns if it finds no threshold
    compare().to_parquet(STORED, index=False)
