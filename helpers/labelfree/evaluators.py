"""The evaluators: every way from the scores of an unlabelled mixture to a Gscore."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from helpers.checks import known_name
from helpers.labelfree.distances import distance
from helpers.labelfree.gaussian_mixture import fit_mixture, mixture_parts
from helpers.labelfree.splits import Parts, SortedScores, check_spread, density_parts, two_means
from helpers.metrics.inputs import share_array

#: Titles of the evaluators; a name is a split and a distance, or a statistic of the scores.
EVALUATORS = {
    "kmeans_l2": "k-means + ℓ2",
    "gmm_l2": "GMM + ℓ2",
    "gmm_kl": "GMM + KL",
    "gmm_wasserstein": "GMM + Wasserstein",
    "ude_l2": "UDE + ℓ2",
    "ude_kl": "UDE + KL",
    "ude_wasserstein": "UDE + Wasserstein",
    "components_kl": "GMM's components + KL",
    "components_wasserstein": "GMM's components + Wasserstein",
    "ude_reversed_kl": "UDE + reversed KL",
    "statistic_mean": "mean score",
    "statistic_moment": "second moment",
    "statistic_share": "share below the 5 % quantile",
}

#: Thresholds from 0 to 1 in steps of 0.01, which `fit_regression` searches.
TAUS = np.arange(101) / 100


def gscores(
    scores,
    evaluators: Iterable[str] = tuple(EVALUATORS),
    *,
    taus=TAUS,
    validation=None,
) -> dict[str, np.ndarray]:
    """Return the Gscores [T] of a mixture by several evaluators, for all thresholds at once.

    ``components`` takes the parts of a Gaussian mixture from its means and deviations, without a
    threshold.  A ``statistic`` works without parts: the mean score, the second moment about the
    mean of the validation scores, and the share of scores below their 5 % quantile.
    """
    scores = SortedScores.of(scores)
    taus = share_array("taus", taus)
    names = [known_name("evaluator", name, EVALUATORS).split("_", 1) for name in evaluators]
    mixed = any(split in ("gmm", "components") for split, _ in names)
    mixture = fit_mixture(scores) if mixed else None
    splits = {}
    values = {}
    for split, kind in names:
        if split in ("ude", "statistic") and validation is None:
            raise ValueError(
                f"validation: '{split}_{kind}' needs the scores of held-out ID images; pass them, "
                "or leave out the evaluators whose names begin with 'ude_' or 'statistic_'"
            )
        if split == "statistic":
            held_out = check_spread("validation", validation)
            value = np.full(taus.shape, _statistic(scores.values, held_out, kind))
        else:
            if split not in splits:  # once for all distances
                splits[split] = _split(scores, split, mixture, taus, validation)
            value = distance(splits[split], kind)
        values[f"{split}_{kind}"] = value + np.zeros(taus.shape)
    return values


def _split(scores, split: str, mixture, taus: np.ndarray, validation) -> Parts:
    if split == "kmeans":
        return two_means(scores)
    if split == "gmm":
        return mixture_parts(scores, mixture, taus)
    if split == "components":
        return mixture.components(len(scores.values))
    return density_parts(scores, validation, taus)


def _statistic(scores: np.ndarray, validation: np.ndarray, kind: str) -> float:
    if kind == "mean":
        return scores.mean()
    if kind == "moment":
        return np.mean((scores - validation.mean()) ** 2)
    return np.mean(scores < np.quantile(validation, 0.05))
