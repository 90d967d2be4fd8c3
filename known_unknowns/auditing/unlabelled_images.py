"""Estimates from unlabelled images: share of unlike images, bracket for the accuracy, drift."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.special import kolmogorov

from known_unknowns import without_labels
from known_unknowns.auditing.labelling import Labelled
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
#: Number of mixtures for the share that no mixture explains.
DRAWN = 40
_MORE = 8  # extra directions of the sketch, for precision
#: Probability that the test finds a drift although the images have not changed.
DRIFT_LEVEL = 0.05


class Part(NamedTuple):
    """Scores, probabilities and predictions of a group of images."""

    scores: np.ndarray
    probabilities: np.ndarray
    answers: np.ndarray


class Mixture(NamedTuple):
    """What another mixture of the known classes explains.

    `moved` is the share of images with its interval.  The class `name` became more frequent, from
    the share `before` to the share `after`.
    """

    moved: tuple[float, float, float]
    name: str
    before: float
    after: float


@dataclass(frozen=True, kw_only=True)
class Unlabelled:
    """Estimates for unlabelled images.

    Attributes
    ----------
    images : int
        Number M of the images.
    least, share : float
        95 % lower bound and estimate of the share of images unlike the validation images.
    listed : list of int
        Indices of such images; a tenth of them is expected to be like the validation images.
    fewest : int
        Smallest number of unlike images for a list.
    accuracy, accepted : (float, float), optional
        Brackets of the accuracy on all images and on accepted images; None with fewer than 50
        images, or 200 if the bound is 0.
    detection : dict
        AUROC and FPR95 with 90 % intervals; empty without an answer.
    mixture : Mixture
        Another mixture of the known classes; its interval is longer by the estimate of `rest`.
    rest : (float, float)
        Lower bound and estimate of the share of images that no mixture explains.
    to_state : float, optional
        Share of unknown images to state for a guarantee; None without a reason.
    to_label : list of int
        Indices of the next images to label.
    labelled : Labelled, optional
        Numbers from labels; None without a label.
    """

    images: int
    least: float
    share: float
    listed: list[int]
    fewest: int
    accuracy: tuple[float, float] | None
    accepted: tuple[float, float] | None
    detection: dict[str, tuple[float, ...]]
    mixture: Mixture
    rest: tuple[float, float]
    to_state: float | None
    to_label: list[int] = field(default_factory=list)
    labelled: Labelled | None = None


def look_at_unlabelled(
    known: Part,
    labels: np.ndarray,
    production: Part,
    *,
    chosen: np.ndarray,
    unknown: Mapping[str, np.ndarray],
    threshold: float,
    class_names: Sequence[str],
) -> Unlabelled:
    """Return estimates for unlabelled images by `known_unknowns.without_labels`.

    Parameters
    ----------
    known, production : Part
        Validation images that were not used for a choice, and M unlabelled images.
    labels : ndarray, shape [n]
        Classes of these validation images.
    chosen : ndarray, shape [m]
        Scores of the other validation images.
    unknown : mapping of str to ndarray
        Scores of the sets of unknown images.
    threshold : float
        Threshold of the rejector, infinite without a rejector.
    class_names : sequence of str, length K
    """
    scores = known.scores, production.scores
    images = len(production.scores)
    correct = labels == known.answers
    suspected = without_labels.suspected_unknown(*scores, rate=RATE)
    least = without_labels.share_bound(*scores)
    accuracy = None
    accepted = None
    detection = {}
    if images >= (FEWEST if least else ENOUGH):
        bracket = partial(
            without_labels.accuracy_bracket,
            known.probabilities,
            correct,
            production.probabilities,
            share=without_labels.cautious_share(*scores),
        )
        accuracy = _with_sampling(bracket(), correct, images)
        kept, kept_production = (part >= threshold for part in scores)
        if kept.any() and kept_production.sum() >= FEWEST:
            narrow = bracket(accepted=(kept, kept_production))
            accepted = _with_sampling(narrow, correct[kept], int(kept_production.sum()))
        if len(unknown) >= SETS:
            meta = without_labels.MetaSets(chosen, unknown)
            estimator = without_labels.DetectionEstimator(known.scores, meta)
            for metric, estimate in estimator.estimate(production.scores, level=LEVEL).items():
                if not np.isnan(estimate.value):
                    detection[metric] = tuple(estimate)
    mixture, rest = _causes(known, labels, production, class_names)
    order = np.argsort(production.scores, kind="stable")
    stated = round(rest[1] + 0.005, 2)
    return Unlabelled(
        images=images,
        least=least,
        share=max(least, without_labels.estimate_share(*scores)),
        listed=order[suspected.chosen[order]].tolist(),
        fewest=suspected.fewest,
        accuracy=accuracy,
        accepted=accepted,
        detection=detection,
        mixture=mixture,
        rest=rest,
        to_state=stated if unknown and rest[0] and stated < 1 else None,
    )


def _causes(
    known: Part, labels: np.ndarray, production: Part, class_names: Sequence[str]
) -> tuple[Mixture, tuple[float, float]]:
    """Return what another mixture explains, and the bound and the estimate of the rest.

    Another mixture alone leaves no rest, although a class has few validation images.  With fewer
    than ten validation images for each class, on average, among the known images, it is 0.

    >>> generator = np.random.default_rng(3)
    >>> rare, often = np.arange(300) < 15, np.arange(1000) < 500
    >>> logits = [generator.normal(1.5 * y) for y in (rare, often)]
    >>> parts = [Part(np.abs(x - 2.7), np.empty(0), (x > 2.7).astype(int)) for x in logits]
    >>> _causes(parts[0], rare.astype(int), parts[1], ["often", "rare"])[1][0]
    0.0
    >>> few = Part(parts[0].scores[:8], np.empty(0), parts[0].answers[:8])
    >>> lower = Part(parts[1].scores - 9, np.empty(0), parts[1].answers)
    >>> _causes(few, rare[:8].astype(int), lower, ["often", "rare"])[1][0]
    0.0
    """
    found = without_labels.class_mixture(
        known.answers, labels, production.answers, classes=len(class_names)
    )
    new = production.scores
    # the bound holds for most mixtures that the answers allow; too few images allow any mixture
    least = 0.0
    if len(found.drawn) > 1:
        least = min(
            without_labels.share_bound(found.reweighted(known.scores, after), new)
            for after in found.drawn[:DRAWN]
        )
    share = max(least, without_labels.estimate_share(found.reweighted(known.scores), new))
    risen = int((found.after - found.before).argmax())
    moved = found.moved, max(0.0, found.low - share), min(1.0, found.high + share)
    shares = float(found.before[risen]), float(found.after[risen])
    return Mixture(moved, class_names[risen], *shares), (least, share)


def _with_sampling(bracket: tuple[float, float], correct, images: int) -> tuple[float, float]:
    """Return a bracket with the margin of chance among both groups of images."""
    accuracy = correct.mean()
    margin = MARGIN * np.sqrt(accuracy * (1 - accuracy) * (1 / len(correct) + 1 / images))
    return max(0.0, float(bracket[0] - margin)), min(1.0, float(bracket[1] + margin))


class Drift(NamedTuple):
    """Tests of whether two groups of images have the same scores and features.

    `score` and `features` have the largest difference between the distribution functions, over all
    `directions`, and the corrected p-value.  `found` lists the names that differ.
    """

    directions: int
    score: tuple[float, float]
    features: tuple[float, float]
    found: tuple[str, ...]


def find_drift(
    scores: np.ndarray, other_scores: np.ndarray, values: np.ndarray, other_values: np.ndarray
) -> Drift:
    """Return Kolmogorov–Smirnov tests of the score and of each direction.

    See Rabanser, Günnemann and Lipton 2019.  The tests share the error by Bonferroni's correction:
    half for the score, half for all directions.  P-values are of Kolmogorov's limit: too large for
    few images and for ties.
    """
    from scipy.stats import ks_2samp  # half a second

    columns = list(zip(values.T, other_values.T, strict=True))
    tests = {}
    for name, pairs in (("score", [(scores, other_scores)]), ("features", columns)):
        # SciPy's p-values are too small for few images with "asymp", and slow with "exact"
        difference = max(ks_2samp(*pair, method="asymp").statistic for pair in pairs)
        first, second = map(len, pairs[0])  # there can be fewer values than scores
        size = first * second / (first + second)
        p_value = min(1, 2 * len(pairs) * kolmogorov(np.sqrt(size) * difference))
        tests[name] = float(difference), float(p_value)
    found = tuple(name for name, (_, p_value) in tests.items() if p_value <= DRIFT_LEVEL)
    return Drift(len(columns), **tests, found=found)


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
