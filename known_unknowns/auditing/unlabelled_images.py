"""Estimates from unlabelled images: share of unlike images, bracket for the accuracy, drift."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
from scipy.special import kolmogorov

from known_unknowns import without_labels
from known_unknowns.without_labels import FEWEST

LEVEL = 0.9  # of the intervals
#: Largest expected share of known images among those listed as unlike the validation images.
RATE = 0.1
SETS = 9  # smallest number of sets for an interval
#: Standard deviations of chance in a bracket, for 5 % of the draws at each end.
MARGIN = 1.64
#: Smallest number of unlabelled images for a bracket without evidence of unlike images: with fewer,
#: many unlike images may go unnoticed.
ENOUGH = 200
#: Largest number of directions in which drift is tested.
DIRECTIONS = 16
_MORE = 8  # extra directions of the sketch, for precision
#: Probability that the test finds a drift although the images have not changed.
DRIFT_LEVEL = 0.05


def look_at_unlabelled(
    known: np.ndarray,
    production: np.ndarray,
    probabilities: np.ndarray,
    production_probabilities: np.ndarray,
    correct: np.ndarray,
    chosen: np.ndarray,
    unknown: Mapping[str, np.ndarray],
    threshold: float,
) -> dict:
    """Return estimates for unlabelled images by `known_unknowns.without_labels`.

    Parameters
    ----------
    known, production : ndarray, shapes [n] and [M]
        Scores of validation images that were not used for a choice, and of unlabelled images.
    probabilities, production_probabilities : ndarray, shapes [n, K] and [M, K]
    correct : ndarray of bool, shape [n]
    chosen : ndarray, shape [m]
        Scores of the other validation images.
    unknown : mapping of str to ndarray
        Scores of the sets of unknown images.
    threshold : float
        Threshold of the rejector, infinite without a rejector.

    Returns
    -------
    dict
        ``images``: M.  ``least``, ``share``: 95 % lower bound and estimate of the share of images
        unlike the validation images.  ``listed``: indices of such images; a tenth of
        them is expected to be like the validation images.  ``fewest``: the smallest number for a
        list.  ``accuracy``, ``accepted``: brackets of the accuracy on all images and on accepted
        images, None with fewer than 50 images, or 200 if the bound is 0.  ``detection``: AUROC and
        FPR95 with 90 % intervals, empty without an answer.
    """
    images = len(production)
    suspected = without_labels.suspected_unknown(known, production, rate=RATE)
    share = without_labels.estimate_share(known, production)
    least = without_labels.share_bound(known, production)
    accuracy = None
    accepted = None
    detection = {}
    if images >= (FEWEST if least else ENOUGH):
        bracket = partial(
            without_labels.accuracy_bracket,
            probabilities,
            correct,
            production_probabilities,
            share=without_labels.cautious_share(known, production),
        )
        accuracy = _with_sampling(bracket(), correct, images)
        kept = known >= threshold
        kept_production = production >= threshold
        if kept.any() and kept_production.sum() >= FEWEST:
            narrow = bracket(accepted=(kept, kept_production))
            accepted = _with_sampling(narrow, correct[kept], int(kept_production.sum()))
        if len(unknown) >= SETS:
            meta = without_labels.MetaSets(chosen, unknown)
            estimator = without_labels.DetectionEstimator(known, meta)
            for metric, estimate in estimator.estimate(production, level=LEVEL).items():
                if not np.isnan(estimate.value):
                    detection[metric] = tuple(estimate)
    order = np.argsort(production, kind="stable")
    return {
        "images": images,
        "least": least,
        "share": share,
        "listed": order[suspected.chosen[order]].tolist(),
        "fewest": suspected.fewest,
        "accuracy": accuracy,
        "accepted": accepted,
        "detection": detection,
    }


def find_causes(
    known: np.ndarray,
    production: np.ndarray,
    labels: np.ndarray,
    answers: np.ndarray,
    production_answers: np.ndarray,
    class_names: Sequence[str],
) -> dict:
    """Return what another mixture of the known classes explains of the unlabelled images.

    Parameters
    ----------
    known, labels, answers : ndarray, shape [n]
        Scores, classes and predictions of validation images that were not used for a choice.
    production, production_answers : ndarray, shape [M]
        Scores and predictions of unlabelled images.
    class_names : sequence of str, length K

    Returns
    -------
    dict
        ``mixture``: ``moved``, the share of images that another mixture explains, with its
        interval, and the class that became more frequent: ``name``, ``before``, ``after``.
        ``rest``: lower bound and estimate of the share of images that no mixture explains; the
        interval of ``moved`` is longer by this estimate.
    """
    found = without_labels.class_mixture(
        answers, labels, production_answers, classes=len(class_names)
    )
    reweighted = found.reweighted(known)
    least = without_labels.share_bound(reweighted, production)
    share = max(least, without_labels.estimate_share(reweighted, production))
    risen = int((found.after - found.before).argmax())
    return {
        "mixture": {
            "moved": (found.moved, max(0.0, found.low - share), min(1.0, found.high + share)),
            "name": class_names[risen],
            "before": float(found.before[risen]),
            "after": float(found.after[risen]),
        },
        "rest": (least, share),
    }


def _with_sampling(bracket: tuple[float, float], correct, images: int) -> tuple[float, float]:
    """Return a bracket with the margin of chance among both groups of images."""
    accuracy = correct.mean()
    margin = MARGIN * np.sqrt(accuracy * (1 - accuracy) * (1 / len(correct) + 1 / images))
    return max(0.0, float(bracket[0] - margin)), min(1.0, float(bracket[1] + margin))


def find_drift(
    scores: np.ndarray, other_scores: np.ndarray, values: np.ndarray, other_values: np.ndarray
) -> dict:
    """Return tests of whether two groups of images have the same scores and features.

    ``score`` and ``features`` have the largest difference between the distribution functions, over
    all ``directions``, and the corrected p-value.  ``found`` lists the names that differ.
    Kolmogorov–Smirnov tests of the score and of each direction (Rabanser, Günnemann and Lipton
    2019) share the error by Bonferroni's correction: half for the score, half for all directions.
    P-values are asymptotic: too large for few images and for ties.
    """
    columns = list(zip(np.asarray(values).T, np.asarray(other_values).T, strict=True))
    tests = {}
    for name, pairs in (("score", [(scores, other_scores)]), ("features", columns)):
        difference = max(distance(*pair) for pair in pairs)
        # there can be fewer values than scores
        first, second = map(len, pairs[0])
        size = first * second / (first + second)
        p_value = min(1, 2 * len(pairs) * kolmogorov(np.sqrt(size) * difference))
        tests[name] = difference, float(p_value)
    found = tuple(name for name, (_, p_value) in tests.items() if p_value <= DRIFT_LEVEL)
    return {"directions": len(columns)} | tests | {"found": found}


def distance(first, second) -> float:
    """Return the largest difference between two empirical distribution functions.

    >>> distance([1, 2, 3, 4], [3, 4, 5, 6])
    0.5
    """
    first = np.sort(first)
    second = np.sort(second)
    both = np.concatenate([first, second])
    below = [np.searchsorted(group, both, side="right") / len(group) for group in (first, second)]
    return float(np.abs(below[0] - below[1]).max())


def principal_directions(values, *, seed: int = 0) -> np.ndarray:
    """Return the directions of the largest variance, the largest first, shape [D, at most 16].

    A random sketch with one power iteration (Halko, Martinsson and Tropp 2011).

    >>> values = np.random.default_rng(0).normal(size=(100, 3)) * [1, 5, 2]
    >>> np.abs(principal_directions(values)).argmax(axis=0)
    array([1, 2, 0])
    """
    values = np.asarray(values, np.float32)
    values = values - values.mean(axis=0)
    width = min(DIRECTIONS + _MORE, *values.shape)
    drawn = np.random.default_rng(seed).standard_normal((values.shape[1], width), dtype=np.float32)
    for _ in range(2):
        basis = np.linalg.qr(values @ drawn)[0]
        drawn = values.T @ basis
    return np.linalg.svd(drawn, full_matrices=False)[0][:, : min(DIRECTIONS, *values.shape)]
