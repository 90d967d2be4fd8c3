"""The evaluators: every way from the scores of an unlabelled mixture to a Gscore."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from helpers.checks import known_name
from helpers.labelfree.gaussians import fit_mixture, mixture_parts
from helpers.labelfree.parts import (
    DISTANCES,
    Parts,
    SortedScores,
    density_parts,
    distance,
    tau_array,
    two_means,
)

_SPLITS = {"kmeans": "k-means", "gmm": "GMM", "ude": "UDE"}
_TITLES = dict(zip(DISTANCES, ("ℓ2", "KL", "Wasserstein"), strict=True))

EVALUATORS = {"kmeans_l2": "k-means + ℓ2"} | {
    f"{split}_{kind}": f"{_SPLITS[split]} + {_TITLES[kind]}"
    for split in ("gmm", "ude")
    for kind in DISTANCES
}
"""The evaluators by name, and how they are called."""

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
    """Return the Gscores of a mixture by several evaluators, for all thresholds at once.

    What evaluators share is done once: the scores are sorted, and the mixture of Gaussians is
    fitted, once for all.

    Examples
    --------
    >>> gscores([0, 1, 5, 7], ["kmeans_l2"], taus=[0.5])
    {'kmeans_l2': array([5.5])}
    """
    scores, taus, parts = SortedScores.of(scores), tau_array(taus), {}
    found = {}
    for evaluator in evaluators:
        split, kind = known_name("evaluator", evaluator, EVALUATORS).split("_")
        if split not in parts:
            parts[split] = _split(scores, split, taus, validation, one_sided)
        found[evaluator] = np.broadcast_to(distance(parts[split], kind), taus.shape).copy()
    return found


def _split(
    scores: SortedScores, split: str, taus: np.ndarray, validation, one_sided: bool
) -> Parts:
    if split == "kmeans":
        return two_means(scores)
    if split == "gmm":
        return mixture_parts(scores, fit_mixture(scores), taus)
    if validation is None:
        raise ValueError(
            "validation: UDE needs the scores of held-out ID images; pass them, or leave out the "
            "evaluators whose names begin with 'ude_'"
        )
    return density_parts(scores, validation, taus, one_sided=one_sided)
