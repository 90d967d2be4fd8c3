"""Thresholds that come with a promise, from labelled images that chose nothing else."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import bdtr, betaincinv

from helpers.checks import float_array, open_share, whole_number
from helpers.metrics.inputs import correct_array


class Interval(NamedTuple):
    """The two ends of a confidence interval."""

    low: float
    high: float


class RiskThreshold(NamedTuple):
    """A threshold whose selective risk is promised, and what it did on the calibration images.

    Attributes
    ----------
    threshold : float
        One of the scores; an image is accepted when its score is at least that.
    coverage : float
        Share of the calibration images that it accepts.
    risk : float
        Share of these that are classified wrongly.
    bound : float
        Upper confidence bound of the risk at this threshold, at most the risk that was wished.
    """

    threshold: float
    coverage: float
    risk: float
    bound: float


def clopper_pearson(successes: int, total: int, *, confidence: float = 0.95) -> Interval:
    """Return the exact confidence interval of a probability, two-sided.

    Parameters
    ----------
    successes, total : int
        How often it happened, and of how many independent trials.
    confidence : float
        In (0, 1).

    Returns
    -------
    Interval
        In [0, 1]; it holds the probability with at least this confidence, whatever the probability
        is.  Its lower end is 0 without successes, its upper end 1 without anything else.

    Raises
    ------
    ValueError
        `total` below 1, `successes` outside 0 … `total`, `confidence` outside (0, 1).

    Notes
    -----
    Clopper and Pearson 1934.

    Examples
    --------
    >>> low, high = clopper_pearson(0, 10)
    >>> low, round(high, 4)  # 1 - 0.025 ** (1 / 10)
    (0.0, 0.3085)
    """
    whole_number("total", total)
    if not whole_number("successes", successes, least=0) <= total:
        raise ValueError(f"successes: 0 to {total} (the total) expected, got {successes}")
    tail = (1 - open_share("confidence", confidence)) / 2
    low = betaincinv(successes, total - successes + 1, tail) if successes else 0.0
    return Interval(float(low), float(_upper_bound(successes, total, tail)))


def images_needed(risk: float, confidence: float) -> int:
    r"""Return how many images a promised selective risk takes at the least.

    .. math:: \left\lceil \frac{\log(1 - \text{confidence})}{\log(1 - \text{risk})} \right\rceil + 1

    So many in a row, all right, would otherwise be too likely; one more sets the threshold.

    Parameters
    ----------
    risk, confidence : float
        As for `risk_threshold`.

    Returns
    -------
    int
        With fewer `risk_threshold` finds no threshold, however good the model is.  With errors
        among the most confident images it takes more.

    Raises
    ------
    ValueError
        An argument outside (0, 1).

    Examples
    --------
    >>> images_needed(0.05, 0.95), images_needed(0.01, 0.95)
    (60, 300)
    """
    return _run_length(risk, confidence) + 1


def risk_threshold(scores, correct, *, risk: float, confidence: float = 0.95) -> RiskThreshold:
    r"""Return the smallest threshold that is shown to keep the selective risk low enough.

    The selective risk is the probability that an accepted image is classified wrongly.  Over the
    draw of the calibration images, that of the threshold returned exceeds `risk` with a
    probability of at most 1 − `confidence`.

    Parameters
    ----------
    scores : array_like, shape [N]
        Of the calibration images, higher = more likely known.  These are drawn independently from
        what the model will meet, and were used for nothing that the score depends on: not to train,
        to fit or to choose among scores.
    correct : array_like of bool, shape [N]
        Whether each is classified correctly; those of unknown classes never are.
    risk : float
        The selective risk that is wished, in (0, 1).
    confidence : float
        In (0, 1).

    Returns
    -------
    RiskThreshold
        The same for any order of the images.

    Raises
    ------
    ValueError
        Empty, NaN, infinite, of wrong shape or length; `risk` or `confidence` outside (0, 1); fewer
        images than `images_needed`, or too many errors among the most confident ones: the message
        says how many images it takes, or which larger risk these images would have shown.

    Notes
    -----
    Fixed-sequence testing with several starts (Angelopoulos et al. 2021): the threshold is lowered
    image by image, and at each the hypothesis "the risk is too large" is rejected while

    .. math:: P(\operatorname{Bin}(m, \text{risk}) \le e) \le (1 - \text{confidence}) / g

    with e errors among the m images above, which is when their Clopper–Pearson bound is at most
    `risk`.  Each of the g walks ends at the first hypothesis that stands, and the lowest
    threshold that any of them passed is returned.  They start at ranks that double, from the
    first at which a rejection is possible, and so depend on N, `risk` and `confidence` alone; one
    start would be lost to a single error among the very first images.  Geifman and El-Yaniv 2017
    share the error probability among the steps of a bisection, about as many.

    A walk errs only if it passes the first threshold at or below its start at which the risk is
    too large.  Which one that is depends on the images, but this does no harm.  If the risk is
    too large at the start, whose threshold is the score of the image just below, then the images
    above are independent draws from what exceeds it: their errors follow a binomial law with more
    than `risk`.  If it is not, that first threshold is where the risk, which changes continuously,
    equals `risk`, and so did it where it last was too large, above the start.  Between these two
    thresholds, as above the upper one, errors follow a binomial law with `risk`, however many
    images fall there.  Nothing is assumed of how the risk changes with the threshold.

    Tied images are walked in random order, drawn with a fixed seed: as if the score were refined
    by independent noise, which makes it continuous.  Only thresholds between the ties are returned.

    Examples
    --------
    100 images, all of the 80 most confident right:

    >>> found = risk_threshold(np.arange(100), np.arange(100) >= 20, risk=0.05, confidence=0.9)
    >>> found.threshold, found.coverage, round(found.bound, 4)
    (19.0, 0.81, 0.0472)
    """
    scores = float_array("scores", scores)
    correct = correct_array(correct, length=len(scores))
    starts = _starts(len(scores), risk, confidence)
    if not starts:
        raise ValueError(
            f"scores: at least {images_needed(risk, confidence)} images expected to promise a risk "
            f"of {risk:g} with confidence {confidence:g}, got {len(scores)}; bring more, or ask "
            "for a larger risk or a smaller confidence"
        )
    scores, errors = _rank(scores, correct)
    accepted = _count_accepted(scores, errors, risk, confidence)
    if not accepted:
        shown = _search_larger_risk(scores, errors, risk, confidence)
        advice = f"bring more, or, of new images, ask for about {shown:g}" if shown else ""
        raise ValueError(
            f"risk: no threshold is shown to keep it at {risk:g} with confidence {confidence:g}, "
            "since too many of the most confident images are wrong; "
            + (advice or "no larger risk can be promised either")
        )
    wrong = errors[accepted - 1]
    return RiskThreshold(
        threshold=float(scores[accepted - 1]),
        coverage=accepted / len(scores),
        risk=float(wrong / accepted),
        bound=float(_upper_bound(wrong, accepted, (1 - confidence) / len(starts))),
    )


def larger_risk(scores, correct, *, risk: float, confidence: float = 0.95) -> float | None:
    """Return about the smallest risk above `risk` for which `risk_threshold` finds a threshold.

    To say what could be wished instead, of new images: of many wishes tried on the same ones, the
    boldest that is granted is promised with less confidence.

    Parameters
    ----------
    scores, correct, risk, confidence
        As for `risk_threshold`.

    Returns
    -------
    float or None
        With two digits; None if there is none.

    Examples
    --------
    >>> larger_risk(np.arange(100), np.arange(100) >= 20, risk=0.01)
    0.038
    """
    scores = float_array("scores", scores)
    return _search_larger_risk(
        *_rank(scores, correct_array(correct, length=len(scores))), risk, confidence
    )


def coverage_threshold(scores, *, coverage: float) -> float:
    r"""Return the largest threshold that accepts a new image with at least this probability.

    The :math:`\lfloor (N + 1)(1 - \text{coverage}) \rfloor`-th smallest of the scores.

    Parameters
    ----------
    scores : array_like, shape [N]
        Of the calibration images, higher = more likely known.  Together with the new image these
        are exchangeable (ID images like those to come), and the score does not depend on them.
    coverage : float
        The probability, in (0, 1).

    Returns
    -------
    float
        An image is accepted when its score is at least that.

    Raises
    ------
    ValueError
        Empty, NaN, infinite or of wrong shape; `coverage` outside (0, 1); too few images, the
        message says how many are needed.

    Notes
    -----
    Split conformal prediction: Vovk et al. 2005; for the detection of outliers Bates et al. 2023.
    A new image is as likely to have any rank among the N + 1 as any other, so it lies below the
    k-th smallest of the N with probability k / (N + 1), and less where there are ties.  The
    promise holds on average over the calibration images; `helpers.metrics.rejection_threshold`,
    which keeps that share of the given scores, promises nothing.

    Examples
    --------
    >>> coverage_threshold(np.arange(99), coverage=0.95)
    4.0
    """
    scores = float_array("scores", scores)
    rank = _rank_rejected(len(scores), coverage)
    return float(np.partition(scores, rank - 1)[rank - 1])


def conditional_coverage(images: int, *, coverage: float, confidence: float = 0.95) -> float:
    r"""Return the coverage that one draw of calibration images has, with this confidence.

    `coverage_threshold`, and sets made by the same rule, promise a coverage on average over draws
    of calibration images; some draws give less.  Over the draw it follows
    :math:`\operatorname{Beta}(N + 1 - r, r)` with
    :math:`r = \lfloor (N + 1)(1 - \text{coverage}) \rfloor`, of which this is a lower quantile.

    Parameters
    ----------
    images : int
        N, the calibration images.
    coverage, confidence : float
        In (0, 1).

    Returns
    -------
    float
        In all but 1 − `confidence` of the draws the coverage is at least that; ties make it larger.

    Raises
    ------
    ValueError
        A share outside (0, 1); too few images for this coverage.

    Notes
    -----
    Vovk 2012, proposition 2b; the law is that of an order statistic of uniform numbers.

    Examples
    --------
    >>> [round(conditional_coverage(n, coverage=0.9), 3) for n in (100, 1000, 10_000)]
    [0.848, 0.884, 0.895]
    """
    rank = _rank_rejected(images, coverage)
    tail = 1 - open_share("confidence", confidence)
    return float(betaincinv(images + 1 - rank, rank, tail))


def _rank_rejected(images: int, coverage: float) -> int:
    """Return which of the scores, from the smallest, is the threshold for a coverage."""
    rejected = 1 - open_share("coverage", coverage)
    # rounded, so that 0.1 of 10 is 1 although 1 - 0.9 is below 0.1
    rank = int(np.floor(np.round((images + 1) * rejected, 9)))
    if not rank:
        needed = int(np.ceil(np.round(1 / rejected, 9))) - 1
        raise ValueError(
            f"scores: at least {needed} images expected to promise a coverage of {coverage:g}, "
            f"got {images}; bring more, or ask for a smaller coverage"
        )
    return rank


def _upper_bound(successes, total, tail: float):
    """Return the probability at which so few successes, or fewer, are as likely as `tail`."""
    failures = total - successes
    bound = betaincinv(successes + 1, np.maximum(failures, 1), 1 - tail)
    return np.where(failures > 0, bound, 1.0)


def _run_length(risk: float, confidence: float) -> int:
    """Return how many images, none of them wrong, show that the risk is at most `risk`."""
    count = np.log1p(-open_share("confidence", confidence)) / np.log1p(-open_share("risk", risk))
    return max(1, int(np.ceil(np.round(count, 9))))


def _rank(scores: np.ndarray, correct: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the scores as they fall, ties in random order, and the errors down to each."""
    # First in an order that does not depend on that of the images, then ties at random.
    order = np.lexsort((correct, -scores))
    noise = np.random.default_rng(0).random(len(order))
    order = order[np.lexsort((noise, -scores[order]))]
    return scores[order], np.cumsum(~correct[order])


def _search_larger_risk(
    scores: np.ndarray, errors: np.ndarray, risk: float, confidence: float
) -> float | None:
    rounded = {float(f"{one:.2g}") for one in np.geomspace(risk, 1, 60)[1:-1]}
    larger = sorted(one for one in rounded if risk < one < 1)
    return next((one for one in larger if _count_accepted(scores, errors, one, confidence)), None)


def _count_accepted(scores: np.ndarray, errors: np.ndarray, risk: float, confidence: float) -> int:
    """Return how many images the lowest threshold accepts that a walk passes; 0 if there is none.

    `scores` fall, and `errors` counts the wrong images down to each.
    """
    starts = _starts(len(scores), risk, confidence)
    if not starts:  # too few images, whatever they are
        return 0
    ranks = np.arange(1, len(scores) + 1)
    # A rounding error must not undo an equality, as at the first rank and without any error.
    stands = bdtr(errors, ranks, risk) > (1 - confidence) / len(starts) * (1 + 1e-9)
    between_ties = np.append(scores[:-1] > scores[1:], True)
    accepted = 0
    for start in starts:
        failed = np.flatnonzero(stands[start - 1 :])
        passed = start - 1 + failed[0] if len(failed) else len(scores)
        # The image at the start is the evidence for thresholds below it only.
        usable = ranks[start:passed][between_ties[start:passed]]
        accepted = max(accepted, int(usable[-1]) if len(usable) else 0)
    return accepted


def _starts(images: int, risk: float, confidence: float) -> list[int]:
    """Return the ranks at which walks start: as many as find room, each an image before the last.

    Each is twice the one before; at the first, a walk goes on if there is no error.
    """
    starts: list[int] = []
    while True:
        count = len(starts) + 1
        first = _run_length(risk, 1 - (1 - confidence) / count)
        if first * 2 ** (count - 1) >= images:
            return starts
        starts = [first * 2**i for i in range(count)]
