"""Compare the coverage of a risk from few test images: all of them, half of them, on average.

The images are drawn from the test images of two published networks, and the score is the MSP.

    python -m benchmarks.small
"""

from contextlib import suppress
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.guarantees import ours
from helpers.scores.calibration import confidences
from known_unknowns.bench.feature_packs import EMBEDDED, FeaturePack
from known_unknowns.guarantees import average_threshold

STORED = Path(__file__).with_name("results") / "small.csv"
#: Networks with their target risks.
NETWORKS = {"densenet100.dice_cifar10": 0.05, "densenet100.dice_cifar100": 0.1}
SIZES = (100, 150, 200, 300, 500, 1000)
DRAWS = 1000


def compare() -> pd.DataFrame:
    """Return the mean coverage and risk, and the share of draws whose true risk is too large."""
    rows = []
    for (network, risk), images in product(NETWORKS.items(), SIZES):
        test = FeaturePack.read(EMBEDDED / f"{network}.safetensors").test
        scores = confidences(test.logits)
        generator = np.random.default_rng(images)
        for _ in range(DRAWS):
            drawn = generator.integers(len(test), size=images)
            for method, find, part in (
                ("half", ours, drawn[: images // 2]),
                ("all", ours, drawn),
                ("on average", average_threshold, drawn),
            ):
                threshold = None
                with suppress(ValueError):  # there is no threshold
                    threshold = find(scores[part], test.correct[part], risk=risk)
                kept = scores >= (np.inf if threshold is None else threshold)
                reached = (~test.correct[kept]).mean() if kept.any() else 0.0
                rows.append((network, images, method, kept.mean(), reached, reached > risk))
    names = ["network", "images", "method"]
    table = pd.DataFrame(rows, columns=[*names, "coverage", "risk", "violated"])
    return table.groupby(names, sort=False).mean().reset_index()


if __name__ == "__main__":
    compare().round(4).to_csv(STORED, index=False)
