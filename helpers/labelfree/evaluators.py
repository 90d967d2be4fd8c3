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

    Parameters
    ----------
    scores : array_like, shape [N], or SortedScores
        Of ID and OOD images, unlabelled; higher = more likely known.
    evaluators : iterable of str
        Of `EVALUATORS`.
    taus : array_like, shape [T]
        Thresholds in [0, 1] between the part that is taken for ID and the other.
    validation : array_like, shape [V], optional
        The same score of held-out ID images; the evaluators by UDE need it.
    one_sided : bool
        As for `density_parts`.

    Returns
    -------
    dict of str to ndarray of float64, shape [T]
        By evaluator, each at least 0, higher = further apart; 0 where a part is empty.  K-means
        has no threshold, and gives all thresholds the same number.

    Raises
    ------
    ValueError
        Empty, NaN, infinite or constant scores, the wrong shape, or only one image; an unknown
        evaluator; UDE without `validation`; thresholds outside [0, 1].

    Notes
    -----
    Zhang et al. 2023.  A Gscore has the unit of its score (``wasserstein`` its square), so that a
    regression holds for one score alone; ``kl`` has none.

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
