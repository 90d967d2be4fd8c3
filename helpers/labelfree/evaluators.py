"""The evaluators: every way from the scores of an unlabelled mixture to a Gscore."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

import helpers.labelfree.parts as parts
from helpers.checks import known_name
from helpers.labelfree.gaussians import fit_mixture, mixture_parts
from helpers.metrics.inputs import share_array

EVALUATORS = {
    "kmeans_l2": "k-means + ℓ2",
    "gmm_l2": "GMM + ℓ2",
    "gmm_kl": "GMM + KL",
    "gmm_wasserstein": "GMM + Wasserstein",
    "ude_l2": "UDE + ℓ2",
    "ude_kl": "UDE + KL",
    "ude_wasserstein": "UDE + Wasserstein",
}
"""Titles of the evaluators; a name is a split and a distance."""

TAUS = np.arange(101) / 100
"""Thresholds from 0 to 1 in steps of 0.01, which `fit_regression` searches."""


def gscores(
    scores,
    evaluators: Iterable[str] = tuple(EVALUATORS),
    *,
    taus=TAUS,
    validation=None,
    one_sided: bool = False,
) -> dict[str, np.ndarray]:
    """Return the Gscores [T] of a mixture by several evaluators, for all thresholds at once."""
    scores, taus = parts.SortedScores.of(scores), share_array("taus", taus)
    splits, distances = {}, {}
    for evaluator in evaluators:
        split, kind = known_name("evaluator", evaluator, EVALUATORS).split("_")
        if split not in splits:  # once for all distances
            splits[split] = _split(scores, split, taus, validation, one_sided)
        distances[evaluator] = parts.distance(splits[split], kind) + np.zeros(taus.shape)
    return distances


def _split(scores, split: str, taus: np.ndarray, validation, one_sided: bool) -> parts.Parts:
    if split == "kmeans":
        return parts.two_means(scores)
    if split == "gmm":
        return mixture_parts(scores, fit_mixture(scores), taus)
    if validation is None:
        raise ValueError(
            "validation: UDE needs the scores of held-out ID images; pass them, or leave out the "
            "evaluators whose names begin with 'ude_'"
        )
    return parts.density_parts(scores, validation, taus, one_sided=one_sided)
