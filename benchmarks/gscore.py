"""All Gscores of a suite at once, beside scikit-learn's mixture fitted to the same scores.

Scores are drawn with a distance between ID and OOD images that differs from set to set: as logits
are spread, or pressed towards 1 as the largest probability is.  The suite uses all cores; the fits
use one on both sides, end as exactly, and are first checked to agree.

    python -m benchmarks.gscore           # a tenth of the sets
    python -m benchmarks.gscore --full    # 200 sets, 20,000 images each, 4 detectors
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from sklearn.mixture import GaussianMixture

from benchmarks.comparing import seconds
from helpers import gscore

SETS, IMAGES, DETECTORS = 200, 20_000, 4
FITTED = 5


def mixture(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the scores of a mixture, half of them of ID images, and of 500 validation images."""
    generator = np.random.default_rng(seed)
    known = 8 + 2 * generator.standard_normal(IMAGES // 2 + 500)
    unknown = generator.gamma(generator.uniform(2, 6), generator.uniform(0.3, 1.2), IMAGES // 2)
    if seed % 2:
        known, unknown = (1 / (1 + 9 * np.exp(-np.abs(part))) for part in (known, unknown))
    return np.concatenate([known[500:], unknown]), known[:500]


def scikit_learn(scores: np.ndarray) -> GaussianMixture:
    """Fit the mixture from the same start, as exactly as ours is fitted."""
    start, floor = gscore.two_means(scores), 1e-6 * scores.var()
    precisions = 1 / (start.deviations**2 + floor)
    return GaussianMixture(
        2,
        tol=1e-14,
        max_iter=2000,
        reg_covar=floor,
        weights_init=start.counts / len(scores),
        means_init=start.means[:, None],
        precisions_init=precisions[:, None, None],
    ).fit(scores[:, None])


def main(arguments: list[str] | None = None) -> None:
    """Print the seconds of the whole suite, and the ratio of the fits."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="all 200 sets")
    count = (SETS if parser.parse_args(arguments).full else SETS // 10) * DETECTORS
    mixtures = [mixture(seed) for seed in range(count)]
    cores = os.cpu_count() or 1

    def one(pair: tuple[np.ndarray, np.ndarray]) -> dict[str, np.ndarray]:
        return gscore.gscores(pair[0], validation=pair[1])

    with ThreadPoolExecutor(cores) as pool:
        spent = seconds(lambda: list(pool.map(one, mixtures)))
    print(f"{platform.processor() or platform.machine()}, {cores} cores: {count} mixtures of "
          f"{IMAGES:,} images, {len(gscore.EVALUATORS)} evaluators, {len(gscore.TAUS)} thresholds: "
          f"{spent:.1f} s, {1e3 * spent / count:.1f} ms a mixture")  # fmt: skip
    ratios = []
    for scores, _ in mixtures[:FITTED]:
        ours, theirs = gscore.fit_mixture(scores), scikit_learn(scores)
        assert ours.converged and theirs.converged_
        assert np.allclose(ours.means, np.sort(theirs.means_[:, 0])[::-1], rtol=0,
                           atol=1e-6 * scores.std())  # fmt: skip
        slow = seconds(lambda scores=scores: scikit_learn(scores))
        ratios.append(slow / seconds(lambda scores=scores: gscore.fit_mixture(scores)))
    print(f"a mixture of Gaussians: ratio to scikit-learn {statistics.median(ratios):.1f} "
          f"({min(ratios):.1f} to {max(ratios):.1f})", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
