"""Thresholds with a guarantee, from labelled images that had no other use."""

from __future__ import annotations

from contextlib import suppress
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import bdtr, betainc, betaincinv, ndtri, stdtrit

from helpers.checks import float_array, open_share, whole_number
from helpers.metrics.inputs import correct_array
from helpers.metrics.ranking import last_of_ties, rounded_up

#: Ratio, number and largest value of the risks that replace a risk that cannot be guaranteed.
RATIO = 1.25
RISKS = 12
LARGEST = 0.5


class RiskThreshold(NamedTuple):
    """A threshold with a guaranteed selective risk, and its effect on the calibration images.

    An image is accepted if its score is at least `threshold`, which is a calibration score.
    `coverage` is the share of accepted calibration images, and `bound` the upper confidence bound
    of the share of errors among images that are accepted.
    """

    threshold: float
    coverage: float
    bound: float


def clopper_pearson(successes: int, total: int, *, confidence: float = 0.95) -> tuple[float, float]:
    """Return the exact two-sided confidence interval of a probability (Clopper, Pearson 1934).

    Examples
    --------
    >>> low, high = clopper_pearson(0, 10)
    >>> low, round(high, 4)  # 1 - 0.025 ** (1 / 10)
    (0.0, 0.3085)
    """
    whole_number("total", total)
    if not whole_number("successes", successes, least=0) <= total:
        raise ValueError(f"successes: 0 to {total} (the total) expected, got {successes}")
    return beta_interval(successes, total, confidence)


def beta_interval(successes: float, total: float, confidence: float) -> tuple[float, float]:
    """Return the interval of `clopper_pearson` for numbers that need not be whole."""
    tail = (1 - open_share("confidence", confidence)) / 2
    low = betaincinv(successes, total - successes + 1, tail) if successes > 0 else 0.0
    return float(low), _upper_bound(successes, total, tail)


def clustered_interval(happened, groups, *, confidence: float = 0.95) -> tuple[float, float]:
    r"""Return the confidence interval of a share if the images of a group are similar.

    It is the interval of `clopper_pearson` for the number of independent images with the same
    noise, corrected by Student's t (Korn and Graubard 1998).  The number follows from the
    similarity ρ of `_similarity` and the sizes of the groups (Kish 1965):

    .. math:: \frac{N}{1 + \rho (N / D - 1)}, \qquad D = \frac{N^2}{\sum_g n_g^2}

    with :math:`n_g` of N images in group g.  There are at least D independent images: as many as
    groups, if these have one size and all images of a group are equal.  t has D − 1 degrees of
    freedom, but at most the number D of the events, or of the images without an event: a few events
    show little of their noise.  ρ is 1 if it is unknown, because all
    images of groups with two or more images are of one kind.

    In a test with errors of whole groups and very unequal sizes (lognormal with σ = 2), 96 % of the
    intervals hold.

    Examples
    --------
    >>> twice = np.repeat([True, True, False, True, True], 2)
    >>> low, high = clustered_interval(twice, np.arange(10) // 2)
    >>> round(low, 2), round(high, 2)  # as of five images
    (0.28, 0.99)
    >>> [round(end, 2) for end in clustered_interval([True, True, False], ["a", "a", "a"])]
    [0.0, 1.0]
    >>> one = np.arange(1500) > 0  # in 30 groups
    >>> [round(low, 2) for low, _ in (clustered_interval(one, np.arange(1500) // 50),)]
    [0.9]
    """
    happened = correct_array(happened)
    _, which, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    events = np.bincount(which, happened)
    value = happened.mean()
    effective = groups_of_one_size(sizes)
    if 0 < value < 1 and len(sizes) > 1:
        several = sizes > 1
        sums = [part[several].sum() for part in (_within(events, sizes), events, sizes)]
        similar = np.fmin(_similarity(*sums), 1)  # 1 if it is unknown
        images = len(happened) / (1 + (len(happened) / effective - 1) * similar)
        mixed = min(groups_of_one_size(events), groups_of_one_size(sizes - events))
        freedom = min(mixed, effective - 1)
        tail = (1 + open_share("confidence", confidence)) / 2
        effective = max(effective, images * (ndtri(tail) / stdtrit(freedom, tail)) ** 2)
    return beta_interval(value * effective, effective, confidence)


def independent_draws(images: int, groups) -> int:
    """Return the number of images, or of groups if images belong together.

    >>> independent_draws(4, None), independent_draws(4, ["a", "a", "b", "b"])
    (4, 2)
    """
    return len(one_of_each(images, groups))


def one_of_each(count: int, groups: np.ndarray | None) -> np.ndarray:
    """Return the first place of each group among `count` images; all places without groups.

    >>> one_of_each(4, np.array([7, 7, 3, 7]))
    array([2, 0])
    """
    if groups is None:
        return np.arange(count)
    return np.unique(groups, return_index=True)[1]


def groups_of_one_size(sizes: np.ndarray) -> float:
    """Return the number of equal groups with the same noise as groups of these sizes (Kish 1965).

    >>> groups_of_one_size(np.array([10, 10, 0])), groups_of_one_size(np.array([8, 1, 1, 2]))
    (2.0, 2.057...)
    """
    return float(sizes.sum() ** 2 / np.square(sizes).sum())


def images_needed(risk: float, confidence: float) -> int:
    r"""Return the smallest number of images for which a selective risk can be guaranteed.

    .. math:: \left\lceil \frac{\log(1 - \text{confidence})}{\log(1 - \text{risk})} \right\rceil + 1

    If the risk were larger, this many correct images in a row would be too unlikely; one more
    image sets the threshold. Errors among the most confident images make the number larger.

    Examples
    --------
    >>> images_needed(0.05, 0.95), images_needed(0.01, 0.95)
    (60, 300)
    """
    return _run_length(risk, confidence) + 1


def risk_threshold(
    scores, correct, *, risk: float, confidence: float = 0.95, groups=None
) -> RiskThreshold:
    r"""Return the smallest threshold that is shown to keep the selective risk low enough.

    The selective risk is the probability that an accepted image is classified incorrectly.
    Over the draw of the calibration images, it exceeds `risk` with probability at most 1 −
    `confidence`.

    Parameters
    ----------
    scores : array_like, shape [N]
        Scores of the calibration images: independent draws from the images that the model will
        receive, not used to train, to fit or to choose the score.
    correct : array_like of bool, shape [N]
        Whether each image is classified correctly; False for images of unknown classes.
    risk, confidence : float
        Target for the selective risk, and confidence of the guarantee; in (0, 1).
    groups : array_like, shape [N], optional
        Groups of images that belong together; then groups are independent draws, and images are
        not.

    Raises
    ------
    ValueError
        Arrays that are empty, NaN, infinite, or of wrong shape or length. Fewer images than
        `images_needed`. Too many errors among the most confident images.

    Notes
    -----
    Fixed-sequence testing with several starts (Angelopoulos et al. 2021): the threshold is
    lowered image by image, and at each step the hypothesis "the risk is too large" is
    rejected while

    .. math:: P(\operatorname{Bin}(m, \text{risk}) \le e) \le \alpha

    with e errors among the m images above. Each of the g starts brings (1 − confidence) / g to
    :math:`\alpha`. A walk ends at the first hypothesis that is not rejected. A walk that
    reaches the next start keeps its share, and adds the share of this start (the fallback
    procedure, Wiens and Dmitrienko 2005). The lowest threshold of all walks is returned. The
    starts are ranks that double, and depend only on N, `risk` and `confidence`; with a single
    start, one early error could end the only walk.

    A walk errs only if it passes the first threshold at or below its start at which the risk
    is too large. This threshold depends on the images. But between this threshold and the last
    larger threshold with too large a risk, and above the larger threshold, errors follow a
    binomial law with at least `risk`. No share passes this threshold, so the shares of all
    starts that can err add up to at most 1 − confidence.

    Hypotheses inside ties are not tested. If a start lies inside a tie, ties have a random
    order with a fixed seed; a start among the highest scores, all equal, moves to their end.

    With groups, m and e are divided by the design effect (Kish 1965)

    .. math:: 1 + \rho \Big( \frac{\sum_g m_g^2}{m} - 1 \Big)

    with :math:`m_g` images of group g above the threshold.  The similarity ρ of `_similarity` is
    the larger one of all images and of those above the threshold.  If ρ is
    unknown, m and e are of one random image of each group.  This is an approximation for large
    groups that are like small groups.  If only a few large groups have similar images, ρ is too
    small.

    Examples
    --------
    >>> rule = risk_threshold(np.arange(100), np.arange(100) >= 20, risk=0.05, confidence=0.9)
    >>> rule.threshold, rule.coverage, round(rule.bound, 4)
    (19.0, 0.81, 0.0472)
    """
    scores = float_array("scores", scores)
    correct = correct_array(correct, length=len(scores))
    order = _order(scores, correct)
    ranked = scores[order]
    errors = np.cumsum(~correct[order])
    draws = independent_draws(len(scores), groups)
    starts = [round(rank * len(scores) / draws) for rank in _starts(draws, risk, confidence)]
    if not starts:
        noun = "images" if groups is None else "groups"
        raise ValueError(
            f"scores: at least {images_needed(risk, confidence)} {noun} expected for a guaranteed "
            f"risk of {risk:g} with confidence {confidence:g}, got {draws}; bring more, or set a "
            "larger risk or a smaller confidence"
        )
    if groups is None:
        p_values = bdtr(errors, np.arange(1, len(scores) + 1), risk)
    else:
        p_values = _p_values(~correct[order], np.asarray(groups)[order], risk)
    accepted, level = _count_accepted(ranked, p_values, starts, confidence)
    if not accepted:
        raise ValueError(
            f"risk: no threshold guarantees {risk:g} with confidence {confidence:g}, because too "
            "many of the most confident answers are wrong; bring more images, or set a larger risk "
            "for new images"
        )
    wrong = errors[accepted - 1]
    return RiskThreshold(
        threshold=float(ranked[accepted - 1]),
        coverage=accepted / len(scores),
        bound=_upper_bound(wrong, accepted, level) if groups is None else risk,
    )


def smallest_risk(
    scores, correct, *, risk: float, confidence: float = 0.95, groups=None
) -> tuple[float, RiskThreshold] | None:
    """Return the smallest of some larger risks that can be guaranteed, and its threshold.

    The `RISKS` larger risks with the `RATIO` are for as many images.  Each gets an equal share of
    the error probability, so the guarantee has the whole confidence although the images choose.

    Examples
    --------
    >>> larger, rule = smallest_risk(np.arange(100), np.arange(100) >= 20, risk=0.01)
    >>> larger, rule.coverage
    (0.0745, 0.8)
    >>> right = np.ones(1000, bool)
    >>> smallest_risk(np.arange(1000), right, risk=0.01, groups=np.arange(1000) // 40)[0]
    0.182
    """
    draws = independent_draws(len(scores), groups)
    larger_risks = (float(f"{risk * RATIO**step:.3g}") for step in range(1, 40))
    risks = [
        larger
        for larger in larger_risks
        if larger < LARGEST and images_needed(larger, confidence) < draws
    ][:RISKS]
    for larger in risks:
        with suppress(ValueError):
            each = 1 - (1 - confidence) / len(risks)
            return larger, risk_threshold(
                scores, correct, risk=larger, confidence=each, groups=groups
            )
    return None


def average_threshold(scores, correct, *, risk: float, groups=None) -> float | None:
    r"""Return the smallest threshold t with at most this risk on average, or None.

    .. math:: 1 + \#\{\text{incorrect}, s_i \ge t\} \le \text{risk} \cdot \#\{s_i \ge t\}

    Conformal selection (Jin and Candès 2023), with the calibration images in the role of new
    images.  The risk is an average over draws of calibration images, and no guarantee for one draw.
    The page on methods has its mean in simulations.  With groups, an image counts as 1 divided by
    the size of its group.

    Examples
    --------
    >>> float(average_threshold(np.arange(100), np.arange(100) >= 20, risk=0.05))
    17.0
    """
    scores = float_array("scores", scores)
    correct = correct_array(correct, length=len(scores))
    open_share("risk", risk)
    order = _order(scores, correct)
    ranked = scores[order]
    ends = last_of_ties(ranked)
    counted = _weights(len(scores), groups)[order]
    errors = np.cumsum(~correct[order] * counted)
    kept = np.flatnonzero(ends & (1 + errors <= risk * np.cumsum(counted)))
    return ranked[kept[-1]] if len(kept) else None


def coverage_threshold(scores, *, coverage: float, groups=None) -> float:
    r"""Return the largest threshold that accepts a new image with at least this probability.

    It is the :math:`\lfloor (N + 1)(1 - \text{coverage}) \rfloor`-th smallest score, by split
    conformal prediction (Vovk et al. 2005, Bates et al. 2023). The guarantee holds on average
    over draws of the calibration images, unlike the guarantee of
    `helpers.metrics.rejection_threshold`.

    With groups, N is their number, and an image counts as 1 divided by the size of its group (Lee,
    Barber and Willett 2023).  This is exact for a random image of a new group.

    Examples
    --------
    >>> coverage_threshold(np.arange(99), coverage=0.95)
    4.0
    """
    scores = float_array("scores", scores)
    most = _most_below(independent_draws(len(scores), groups), coverage)
    order = np.argsort(scores)
    # rounded, so that the images of each group are exactly 1 together
    counted = np.round(np.cumsum(_weights(len(scores), groups)[order]), 9)
    return float(scores[order[np.searchsorted(counted, most, side="right")]])


def conditional_coverage(images: int, *, coverage: float, confidence: float = 0.95) -> float:
    r"""Return the coverage for one draw of calibration images with this confidence.

    Over draws, the coverage of `coverage_threshold` follows
    :math:`\operatorname{Beta}(N + 1 - r, r)` with
    :math:`r = \lfloor (N + 1)(1 - \text{coverage}) \rfloor` (Vovk 2012); this is its quantile at
    1 − `confidence`.

    Examples
    --------
    >>> [round(conditional_coverage(n, coverage=0.9), 3) for n in (100, 1000, 10_000)]
    [0.848, 0.884, 0.895]
    """
    rank = int(_most_below(images, coverage)) + 1
    tail = 1 - open_share("confidence", confidence)
    return float(betaincinv(images + 1 - rank, rank, tail))


def _weights(images: int, groups) -> np.ndarray:
    """Return what each image counts: 1, or 1 divided by the size of its group."""
    if groups is None:
        return np.ones(images)
    _, which, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    return 1 / sizes[which]


def _most_below(images: int, coverage: float) -> float:
    """Return how many images may be below the threshold for a coverage."""
    rejected = 1 - open_share("coverage", coverage)
    # rounded, so that 0.1 of 10 is 1 although 1 - 0.9 is below 0.1
    most = round((images + 1) * rejected, 9) - 1
    if most < 0:
        needed = rounded_up(1 / rejected) - 1
        raise ValueError(
            f"scores: at least {needed} independent images expected for a guaranteed coverage of "
            f"{coverage:g}, got {images}; bring more, or set a smaller coverage"
        )
    return most


def _upper_bound(successes: float, total: float, tail: float) -> float:
    """Return the probability at which this number of successes or fewer has probability `tail`."""
    failures = total - successes
    return float(betaincinv(successes + 1, failures, 1 - tail)) if failures > 0 else 1.0


def _run_length(risk: float, confidence: float) -> int:
    """Return how many images without error show that the risk is at most `risk`."""
    count = np.log1p(-open_share("confidence", confidence)) / np.log1p(-open_share("risk", risk))
    return max(1, rounded_up(count))


def _p_values(wrong: np.ndarray, groups: np.ndarray, risk: float) -> np.ndarray:
    """Return p-values of all ranks for groups of similar images, see `risk_threshold`."""
    of_groups = pd.Series(wrong.astype(float)).groupby(groups)
    errors = of_groups.cumsum().to_numpy()  # of the same group, down to each rank
    images = 1 + of_groups.cumcount().to_numpy()
    accepted = np.arange(1.0, len(wrong) + 1)
    similar = _similarity(
        np.cumsum(_within(errors, images) - _within(errors - wrong, images - 1)),
        np.cumsum(np.where(images == 2, errors, wrong * (images > 2))),
        np.cumsum(np.where(images == 2, 2, images > 2)),
    )
    if np.isnan(similar[-1]):
        order = np.random.default_rng(0).permutation(len(wrong))
        chosen = order[one_of_each(len(wrong), groups[order])]
        counted = np.bincount(chosen, minlength=len(wrong))
        return _binomial(np.cumsum(wrong * counted), np.cumsum(counted), risk)
    squares = np.cumsum(2 * images - 1)
    effective = accepted / (1 + np.fmax(similar, similar[-1]) * (squares / accepted - 1))
    return _binomial(np.cumsum(wrong) / accepted * effective, effective, risk)


def _within(events: np.ndarray, images: np.ndarray) -> np.ndarray:
    """Return the variance of events within each group, times its number of images."""
    return events * (images - events) / np.maximum(images - 1, 1)


def _similarity(within, events, images) -> np.ndarray:
    """Return the similarity of the images of a group, from 0 (independent) to 1 (all are equal).

    It is the correlation within groups from an analysis of variance (Fisher 1925): 1 minus the
    variance `within` groups, divided by the variance of all `images`, both times their number.
    The arguments are sums over the groups with two images or more.  It is NaN, for unknown, if all
    images are of one kind.

    >>> half = np.array([2.0, 0.0])  # events in two groups
    >>> for images in (np.array([2.0, 2.0]), np.array([4.0, 4.0])):
    ...     print(_similarity(_within(half, images).sum(), half.sum(), images.sum()))
    1.0
    0.1...
    """
    variance = events * (images - events) / np.maximum(images, 1)
    ratio = np.divide(within, variance, out=np.full_like(variance, np.nan), where=variance > 0)
    return np.maximum(1 - ratio, 0)


def _binomial(events: np.ndarray, trials: np.ndarray, probability: float) -> np.ndarray:
    """Return the probability of at most this many events, for numbers that need not be whole."""
    return betainc(np.maximum(trials - events, 1e-9), events + 1, 1 - probability)


def _order(scores: np.ndarray, correct: np.ndarray) -> np.ndarray:
    """Return the order of the images by falling score, ties in random order."""
    # The first sort makes the result independent of the order of the images.
    order = np.lexsort((correct, -scores))
    noise = np.random.default_rng(0).random(len(order))
    return order[np.lexsort((noise, -scores[order]))]


def _count_accepted(
    scores: np.ndarray, p_values: np.ndarray, starts: list[int], confidence: float
) -> tuple[int, float]:
    """Return how many images the lowest threshold of all walks accepts, and its test's level.

    `p_values` are of the hypotheses that the risk down to each rank is too large.
    """
    total = len(scores)
    ends = last_of_ties(scores)
    moved = np.maximum(starts, ends.argmax() + 1)
    tested = np.union1d(np.flatnonzero(ends), moved - 1)
    untested = np.ones(total, bool)
    untested[tested] = False
    # A rounding error must not undo an equality, as at the first rank and without any error.
    p_values = np.where(untested, 0.0, p_values * (1 - 1e-9))
    accepted = 0
    level = 0.0
    used = 0.0
    lasts = np.append(moved[1:] - 1, total)
    for start, rank, last in zip(starts, moved, lasts, strict=True):
        if not level:  # the image at the start is the evidence for thresholds below it only
            begin = start if start == rank else 0
        level += (1 - confidence) / len(starts)
        failed = np.flatnonzero(p_values[rank - 1 : last] > level)
        passed = rank - 1 + failed[0] if len(failed) else last
        usable = np.flatnonzero(ends[begin:passed])
        if len(usable):
            accepted = begin + int(usable[-1]) + 1
            used = level
        if len(failed):
            level = 0.0
    return accepted, used


def _starts(images: int, risk: float, confidence: float) -> list[int]:
    """Return the ranks at which walks start, each twice the previous rank.

    The first is the smallest rank at which a walk without error continues.  A single start is
    below `images`, and the last of several starts below a third of `images`.
    """
    starts: list[int] = []
    while True:
        count = len(starts) + 1
        first = _run_length(risk, 1 - (1 - confidence) / count)
        if first * 2 ** (count - 1) * (3 if starts else 1) >= images:
            return starts
        starts = [first * 2**i for i in range(count)]
