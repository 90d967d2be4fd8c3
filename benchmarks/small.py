"""Compare the coverage of a risk from few test images: all of them, half of them, on average.

The images are drawn from the test images of two published networks, and the score is the MSP.

    python -m benchmarks.small
"""

from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

from helpers.scores.calibration import confidences
from known_unknowns.bench.feature_packs import EMBEDDED, FeaturePack
from known_unknowns.guarantees import average_threshold, risk_threshold

STORED = Path(__file__).with_name("results") / "small.csv"
#: Networks with their target risks.
NETWORKS = {"densenet100.dice_cifar10": 0.05, "densenet100.dice_cifar100": 0.1}
SIZES = (100, 150, 200, 300, 500, 1000)
DRAWS = 1000


def guaranteed(scores: np.ndarray, correct: np.ndarray, risk: float) -> float:
    """Return the threshold with a guarantee, infinite without one."""
    try:
        return risk_threshold(scores, correct, risk=risk).threshold
    except ValueError:
        return np.inf


def on_average(scores: np.ndarray, correct: np.ndarray, risk: float) -> float:
    """Return the threshold with this risk on average, infinite without one."""
    threshold = average_threshold(scores, correct, risk=risk)
    return np.inf if threshold is None else threshold


def compare() -> pd.DataFrame:
    """Return the mean coverage and risk, and the share of draws whose true risk is too large."""
    rows = []
    for (network, risk), images in product(NETWORKS.items(), SIZES):
        test = FeaturePack.read(EMBEDDED / f"{network}.safetensors").test
        scores = confidences(test.logits)
        generator = np.random.default_rng(images)
        for _ in range(DRAWS):
            drawn = generator.integers(len(test), size=images)
            half = drawn[: images // 2]
            thresholds = {
                "half": guaranteed(scores[half], test.correct[half], risk),
                "all": guaranteed(scores[drawn], test.correct[drawn], risk),
                "on average": on_average(scores[drawn], test.correct[drawn], risk),
            }
            for method, threshold in thresholds.items():
                kept = scores >= threshold
                reached = float((~test.correct[kept]).mean()) if kept.any() else 0.0
                row = network, images, method, kept.mean(), reached, reached > risk
                rows.append(row)
    names = ["network", "images", "method"]
    table = pd.DataFrame(rows, columns=[*names, "coverage", "risk", "violated"])
    return table.groupby(names, sort=False).mean().reset_index()


if __name__ == "__main__":
    rows = compare().round(4)
    rows.to_csv(STORED, index=False)
    print(rows.to_string(index=False))
