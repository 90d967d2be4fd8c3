"""A few labels: which images to label, and what their answers say of all of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import betaincinv

from helpers.checks import open_share
from helpers.metrics.inputs import correct_array, share_array

_STRATA, _LABELS = 10, 20  # at most so many, of so many labels each on average
_DOUBT = 0.1  # how far confidences are drawn to one half
_FEWEST = 10  # labels


class LabelPlan(NamedTuple):
    """Which images to label.

    Attributes
    ----------
    places : ndarray of int64, shape [n]
        Their places among all images, ascending.
    strata : ndarray of int64, shape [N]
        The stratum of every image, from the least confident, 0.
    """

    places: np.ndarray
    strata: np.ndarray


class LabelledEstimate(NamedTuple):
    """What labels say of all images.

    Attributes
    ----------
    value, low, high : float
        The estimate and the ends of its interval, in [0, 1].
    equivalent : float
        How many labels of images drawn at random would say it as precisely, by the estimated
        variance.
    """

    value: float
    low: float
    high: float
    equivalent: float


def choose_to_label(confidence, budget: int, *, seed: int = 0) -> LabelPlan:
    r"""Choose the images whose labels say most about the accuracy on all of them.

    The images are cut by their confidence into strata of equal size, and of each are drawn
    at random as many as Neyman's allocation has it: in proportion to :math:`\sqrt{p (1 - p)}`, with
    p from the mean confidence of the stratum, and at least two.

    Parameters
    ----------
    confidence : array_like, shape [N]
        Of all unlabelled images, in [0, 1]; the nearer it is to the probability that the answer is
        right, the more labels are saved.  No promise rests on it.
    budget : int
        Labels, from 10 to N.
    seed : int
        Of the draw.

    Returns
    -------
    LabelPlan
        For ten strata it takes 200 labels; with fewer there are fewer.

    Raises
    ------
    ValueError
        Empty, NaN, the wrong shape, outside [0, 1]; a budget outside 10 to N.

    Notes
    -----
    Neyman 1934.  For the allocation confidences are drawn to one half by a tenth, since the surest
    images too are wrong where their class is unknown.  *Not to be used* to choose images to train
    with: it looks for what says most about the mean, not for what is learnt from.

    Examples
    --------
    >>> plan = choose_to_label(np.linspace(0.5, 1, 1000), 100)
    >>> np.bincount(plan.strata[plan.places])
    array([24, 23, 21, 18, 14])
    """
    confidence = share_array("confidence", confidence)
    images = len(confidence)
    if not _FEWEST <= budget <= images:
        raise ValueError(
            f"budget: {_FEWEST} to {images} labels (all images) expected, got {budget}"
        )
    groups = np.array_split(
        np.argsort(confidence, kind="stable"), max(1, min(_STRATA, budget // _LABELS))
    )
    sizes = np.array([len(group) for group in groups])
    means = np.array([confidence[group].mean() for group in groups])
    right = (1 - _DOUBT) * means + _DOUBT / 2
    counts = _allocate(sizes * np.sqrt(right * (1 - right)), sizes, budget)
    generator = np.random.default_rng(seed)
    strata = np.empty(images, np.int64)
    for number, group in enumerate(groups):
        strata[group] = number
    drawn = [
        generator.choice(group, count, replace=False)
        for group, count in zip(groups, counts, strict=True)
    ]
    return LabelPlan(np.sort(np.concatenate(drawn)), strata)


def labelled_accuracy(
    plan: LabelPlan, confidence, correct, *, accepted=None, level: float = 0.95
) -> LabelledEstimate:
    r"""Return the accuracy on all images, or on those that are accepted, from a few labels.

    .. math:: \hat a = \frac{\lambda}{N} \sum_i f_i
              + \sum_h \frac{N_h}{N} \cdot \frac{1}{n_h} \sum_{i \in S_h} (y_i - \lambda f_i)

    with the confidence f of all images, and answers y that are right (1) or wrong (0) of the
    :math:`n_h` labelled of the :math:`N_h` images of each stratum.  The λ in [0, 1] of least
    variance is taken.

    Parameters
    ----------
    plan : LabelPlan
        From `choose_to_label`.
    confidence : array_like, shape [N]
        As it was there.
    correct : array_like of bool, shape [n]
        Whether each of ``plan.places`` is classified correctly; those of unknown classes never
        are.
    accepted : array_like of bool, shape [N], optional
        Which images a threshold accepts that did not look at these labels; all if not given.
    level : float
        In (0, 1).

    Returns
    -------
    LabelledEstimate
        Of these N images.  The interval is about them alone, and a point once all are labelled.

    Raises
    ------
    ValueError
        Empty, NaN, the wrong shape or length; confidences outside [0, 1]; a level outside (0, 1);
        no labelled image that is accepted.

    Notes
    -----
    Prediction-powered inference (Angelopoulos et al. 2023) with the λ of its second edition
    (Angelopoulos, Duchi and Zrnic 2023), in strata (Fisch et al. 2024); of a finite number of
    images it is the difference estimator of survey sampling.  The interval is that of Clopper and
    Pearson with as many labels as a simple sample would need for its variance (Korn and Graubard
    1998), so that it holds near 0 and 1 too; the variance of a stratum is drawn a little to that of
    one more right and one more wrong answer, or a stratum without errors would claim to have none.

    *Not to be used* with labels of other images than the plan's, those that were easy to get, say.

    Examples
    --------
    >>> confidence = np.linspace(0, 1, 1000)
    >>> plan = choose_to_label(confidence, 100)
    >>> found = labelled_accuracy(plan, confidence, confidence[plan.places] > 0.4)
    >>> round(found.value, 2), bool(found.low < 0.6 < found.high), found.equivalent > 200
    (0.6, True, True)
    """
    open_share("level", level)
    confidence = share_array("confidence", confidence, length=len(plan.strata))
    correct = correct_array(correct, length=len(plan.places)).astype(float)
    every = np.full(len(confidence), True)
    if accepted is not None:
        every = correct_array(accepted, length=len(confidence))
    own, said, strata = every[plan.places], confidence[plan.places], plan.strata[plan.places]
    if not own.any():
        raise ValueError(
            "accepted: no labelled image is; lower the threshold, or choose the images to label "
            "among those that are accepted"
        )
    sizes, counts = np.bincount(plan.strata), np.bincount(strata)
    weights = (sizes / counts)[strata]
    total = every.sum()

    def centred(values):
        """Return values of accepted images less their mean, and 0 of others."""
        return np.where(own, values - np.average(values, weights=weights * own), 0.0)

    # variance of a mean of terms [n] of which each stratum has its own
    factors = sizes**2 * (1 / counts - 1 / sizes) / total**2
    within = _within(strata, counts)
    moments = [
        factors @ within(centred(one), centred(said)) for one in (correct, said)
    ]  # of answer and confidence, and of confidence alone
    ratio = float(np.clip(moments[0] / moments[1], 0, 1)) if moments[1] > 0 else 0.0
    gaps = correct - ratio * said
    value = ratio * confidence[every].mean() + np.average(gaps, weights=weights * own)
    value = float(np.clip(value, 0, 1))
    hits, labelled = (
        np.bincount(strata, weights=one * own) for one in (correct, np.ones(len(own)))
    )
    prior = (hits + 1) / (labelled + 2)
    prior = prior * (1 - prior) * np.bincount(plan.strata, weights=every) / sizes
    spread = within(centred(gaps), centred(gaps))
    variance = factors @ (((counts - 1) * spread + 2 * prior) / (counts + 1))
    plain = value * (1 - value)
    if variance == 0:
        return LabelledEstimate(value, value, value, float(total))
    labels = plain / variance if plain else float(own.sum())
    low, high = _beta_ends(value * labels, labels, (1 - level) / 2)
    equivalent = 1 / (1 / labels + 1 / total)  # a simple sample of so few images is the surer
    return LabelledEstimate(value, low, high, float(equivalent))


def labelled_risk(
    plan: LabelPlan, confidence, correct, accepted, *, level: float = 0.95
) -> LabelledEstimate:
    """Return the selective risk: the share of errors among the images that are accepted.

    Parameters
    ----------
    plan, confidence, correct, accepted, level
        As for `labelled_accuracy`, of which it is the complement.

    Returns
    -------
    LabelledEstimate

    Raises
    ------
    ValueError
        As `labelled_accuracy`.

    Examples
    --------
    >>> confidence = np.linspace(0, 1, 1000)
    >>> plan = choose_to_label(confidence, 100)
    >>> found = labelled_risk(plan, confidence, confidence[plan.places] > 0.4, confidence > 0.5)
    >>> round(found.value, 2), round(found.low, 2), found.high < 0.15
    (0.0, 0.0, True)
    """
    found = labelled_accuracy(plan, confidence, correct, accepted=accepted, level=level)
    return LabelledEstimate(1 - found.value, 1 - found.high, 1 - found.low, found.equivalent)


def _allocate(wanted: np.ndarray, sizes: np.ndarray, budget: int) -> np.ndarray:
    """Return whole numbers in proportion to what is wanted, from 2 to the sizes, that sum up."""
    counts = np.minimum(2, sizes)
    while rest := budget - counts.sum():
        # one label after the other to where most is missing
        short = np.where(counts < sizes, wanted / wanted.sum() * budget - counts, -np.inf)
        counts[np.argsort(-short, kind="stable")[: max(1, rest // (2 * len(sizes)))]] += 1
    return counts


def _within(strata: np.ndarray, counts: np.ndarray):
    """Return a function from terms of labelled images to their covariance in each stratum."""

    def covariance(first: np.ndarray, second: np.ndarray) -> np.ndarray:
        sums = [np.bincount(strata, weights=one) for one in (first, second, first * second)]
        return (sums[2] - sums[0] * sums[1] / counts) / np.maximum(counts - 1, 1)

    return covariance


def _beta_ends(hits: float, labels: float, tail: float) -> tuple[float, float]:
    misses = labels - hits
    low = betaincinv(hits, misses + 1, tail) if hits > 0 else 0.0
    high = betaincinv(hits + 1, misses, 1 - tail) if misses > 0 else 1.0
    return float(low), float(high)
