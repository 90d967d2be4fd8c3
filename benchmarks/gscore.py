"""All Gscores of a suite at once, beside scikit-learn's mixture fitted to the same scores.

Scores are drawn with a distance between ID and OOD images that differs from set to set: as logits
are spread, or pressed towards 1 as the largest probability is.  Both fits use one core, end as
exactly, and are first checked to agree.  Then all Gscores are taken of a tenth of 200 sets with 4
detectors.

    python -m benchmarks.gscore
"""

from __future__ import annotations

import numpy as np
from sklearn.mixture import GaussianMixture

from benchmarks.comparing import Comparison, seconds
from helpers import labelfree as gscore

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


def main() -> None:
    """Measure the fits, and keep it; print the seconds of a tenth of the suite."""
    comparison = Comparison("gscore")
    mixtures = [mixture(seed) for seed in range(SETS * DETECTORS // 10)]
    fitted = [scores for scores, _ in mixtures[:FITTED]]
    for scores in fitted:
        ours, theirs = gscore.fit_mixture(scores), scikit_learn(scores)
        assert ours.converged and theirs.converged_
        assert np.allclose(ours.means, np.sort(theirs.means_[:, 0])[::-1], rtol=0,
                           atol=1e-6 * scores.std())  # fmt: skip
    comparison.add(
        "two Gaussians fitted to scores", f"{FITTED} × {IMAGES:,} images", "scikit-learn",
        lambda: [gscore.fit_mixture(scores) for scores in fitted],
        lambda: [scikit_learn(scores) for scores in fitted], wanted=10, rounds=3,
    )  # fmt: skip
    comparison.write()
    spent = seconds(lambda: [gscore.gscores(one, validation=other) for one, other in mixtures])
    print(f"{len(gscore.EVALUATORS)} evaluators, {len(gscore.TAUS)} thresholds, {IMAGES:,} images: "
          f"{1e3 * spent / len(mixtures):.1f} ms a mixture")  # fmt: skip


if __name__ == "__main__":
    main()
