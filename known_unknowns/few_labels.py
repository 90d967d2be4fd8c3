r"""Numbers from a few labels of new images, and a guarantee that such labels keep or break.

The images with a label must be a random draw from the new images.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp, ndtri, stdtrit

from helpers.checks import float_array, open_share
from helpers.metrics.inputs import correct_array
from known_unknowns.guarantees import beta_interval

#: Probability of a wrong decision about a guarantee, at any time.
ERROR = 0.05
#: Largest number of labels that is computed for a decision.
MOST_LABELS = 100_000
#: Odds of the alternative risks, as multiples of the odds of the guaranteed risk.
_WORSE = np.array([1.3, 1.6, 2.0, 3.0, 5.0])
_BETTER = np.array([0.8, 0.65, 0.5, 0.3, 0.1])
#: Weight of the first label as the start of a larger risk; later starts share the rest.
_AT_ONCE = 0.8
#: Number of labels that the risk in the audit counts for.
_PRIOR = 20
#: Number of labels that are added with no use of the predictor, against a chance fit.
_UNEXPLAINED = 3


class LabelledShare(NamedTuple):
    """A share of all new images with its interval; `worth` is the number of plain labels."""

    value: float
    low: float
    high: float
    worth: float


def labelled_share(happened, predictor, labelled) -> LabelledShare:
    r"""Return the share of images for which something is true, from labels of a random subset.

    The interval is for 95 %.

    With the labels y, a predictor f of all images and the slope λ of y on f, the estimate is

    .. math:: \bar y + \lambda \, (\bar f_\text{all} - \bar f_\text{labelled})

    as in prediction-powered inference (PPI++, Angelopoulos, Duchi and Zrnic 2023).  Its variance
    determines how many plain labels it is worth.  The interval is the exact binomial interval for
    this number, corrected by Student's t (Korn and Graubard 1998): the interval of PPI++ is too
    short for few labels.  Without a use of the predictor, it is the exact interval.

    Parameters
    ----------
    happened : array_like of bool, shape [n]
        Whether it is true for each labelled image.
    predictor : array_like, shape [M]
        A number that predicts it, for all images.
    labelled : array_like of int, shape [n]
        Indices of the labelled images, drawn at random from the M images.

    Examples
    --------
    >>> sure = np.linspace(0, 1, 1000)
    >>> drawn = np.random.default_rng(0).permutation(1000)[:60]
    >>> found = labelled_share(sure[drawn] > 0.3, sure, drawn)
    >>> round(found.value, 2), round(found.low, 2), round(found.high, 2), round(found.worth)
    (0.7, 0.61, 0.78, 129)
    """
    predictor = float_array("predictor", predictor)
    drawn = predictor[np.asarray(labelled)]
    values = correct_array(happened, length=len(drawn)).astype(float)
    count = len(values)
    spread = values.var()
    if not spread or not drawn.var():
        return LabelledShare(values.mean(), *beta_interval(values.sum(), count, 0.95), float(count))
    slope = np.cov(values, drawn)[0, 1] / drawn.var(ddof=1)
    value = values.mean() + slope * (predictor.mean() - drawn.mean())
    left = (values - slope * drawn).var() / spread
    unexplained = (left * count + _UNEXPLAINED) / count
    unexplained += slope**2 * predictor.var() / len(predictor) * count / spread
    worth = count / min(1.0, unexplained)
    effective = worth * (ndtri(0.975) / stdtrit(count - 1, 0.975)) ** 2
    if worth == count:  # then the exact interval needs no correction
        value = values.mean()
        effective = count
    value = float(np.clip(value, 0, 1))
    return LabelledShare(value, *beta_interval(value * effective, effective, 0.95), worth)


def evidence(events, trials, null, others, starts) -> np.ndarray:
    r"""Return the logarithm of the evidence against probabilities after each look, [T, ..., S].

    With :math:`e_i` events in :math:`m_i` trials at look i, it is the mean over the alternatives q
    of

    .. math:: \sum_{j \le T} w_j \prod_{i \ge j} \Big(\frac{q}{p}\Big)^{e_i}
              \Big(\frac{1 - q}{1 - p}\Big)^{m_i - e_i} .

    If the weights of the starts sum to at most 1, it ever reaches 1 / α with a probability of at
    most α, as long as the probability of an event does not pass p in the direction of the q
    (Ville's inequality; Ramdas et al. 2023).  Sums over the start j find a change at any time.

    Parameters
    ----------
    events, trials : array_like, shapes [T, ...]
    null, others : array_like, shapes [S, 1] and [S, Q]
        The probabilities p, and the alternatives of each.
    starts : array_like, shape [T]
        The weights.
    """
    gains = np.log(others / null)
    losses = np.log1p(-others) - np.log1p(-null)
    events, trials = (counts[..., None, None] for counts in np.broadcast_arrays(events, trials))
    total = np.full(np.broadcast(events[0], gains).shape, -np.inf)
    after = []
    for look, weight in enumerate(starts):
        begun = np.logaddexp(total, np.log(weight)) if weight else total
        total = begun + events[look] * gains + (trials[look] - events[look]) * losses
        after.append(logsumexp(total, axis=-1) - np.log(np.shape(others)[-1]))
    return np.array(after)


def guarantee_evidence(wrong, labels, risk: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the logarithms of the evidence against and for a guaranteed risk after each look.

    The evidence against it finds a risk that becomes too large at any look; the evidence for it is
    for all looks together.  Parameters are as in `check_guarantee`, of shapes [T, ...].
    """
    open_share("risk", risk)
    looks = len(wrong)
    later = np.arange(1, looks)
    starts = np.append(_AT_ONCE, (1 - _AT_ONCE) / (later * (later + 1)))
    against = evidence(wrong, labels, *_risks(risk, _WORSE), starts)
    support = evidence(wrong, labels, *_risks(risk, _BETTER), np.arange(looks) == 0)
    return against[..., 0], support[..., 0]


class Guarantee(NamedTuple):
    """The evidence of labels of accepted answers about a guaranteed risk.

    `state` is ``broken``, ``kept`` or ``open``; each of the first two is false with a probability
    of at most `ERROR`, however often one looks.  `more` is the number of further labels until a
    decision if the share of wrong answers stays the same; None if it is above `MOST_LABELS`.
    """

    state: str
    wrong: int
    labels: int
    more: int | None


def check_guarantee(wrong, labels, risk: float, *, expected: float | None = None) -> Guarantee:
    """Return the state of a guaranteed risk.

    Parameters
    ----------
    wrong, labels : array_like of int, shape [T]
        Numbers of wrong accepted answers and of labelled accepted answers at each look.
    risk : float
        The guaranteed risk.
    expected : float, optional
        Risk in the audit, for the number of labels to expect.

    Examples
    --------
    >>> [check_guarantee([wrong] * 20, [50] * 20, 0.05).state for wrong in (1, 8)]
    ['kept', 'broken']
    >>> check_guarantee([1], [40], 0.05)
    Guarantee(state='open', wrong=1, labels=40, more=453)
    """
    wrong = np.asarray(wrong)
    labels = np.asarray(labels)
    least = np.log(1 / ERROR)
    against, support = guarantee_evidence(wrong, labels, risk)
    errors = int(wrong.sum())
    total = int(labels.sum())
    if (against >= least).any():
        return Guarantee("broken", errors, total, 0)
    if support[-1] >= least:
        return Guarantee("kept", errors, total, 0)
    share = (errors + _PRIOR * (risk / 2 if expected is None else expected)) / (total + _PRIOR)
    return Guarantee("open", errors, total, _labels_until(share, risk, errors, total))


def _risks(risk: float, factors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a risk and the risks with these multiples of its odds, as `evidence` expects them."""
    odds = risk / (1 - risk) * factors
    return np.array([[risk]]), (odds / (1 + odds))[None]


def _labels_until(share: float, risk: float, wrong: int, labels: int) -> int | None:
    """Return how many further labels with this share of errors decide about a guaranteed risk."""
    more = np.unique(np.geomspace(1, MOST_LABELS, 400).astype(int))
    factors = _WORSE if share > risk else _BETTER
    null, others = _risks(risk, factors)
    after = evidence([wrong + share * more], [labels + more], null, others, [1.0])[0, :, 0]
    enough = np.flatnonzero(after >= np.log(1 / ERROR))
    return int(more[enough[0]]) if len(enough) else None


def certified_threshold(looks, risk: float, thresholds, error: float = ERROR) -> float | None:
    """Return the smallest threshold that labels of new images show to keep a risk, or None.

    The thresholds are tested from the largest to the smallest, until one is not shown after the
    last look, or is broken: the probability of an error is for all thresholds together, at any
    time.

    Parameters
    ----------
    looks : sequence of (scores, wrong)
        Scores of the labelled images, and whether each answer is wrong, for each look.
    thresholds : array_like
        Chosen before any label was seen.
    error : float
        Largest probability that the threshold does not keep the risk.

    Examples
    --------
    >>> scores = np.arange(1000) / 1000
    >>> certified_threshold([(scores, scores < 0.3)], 0.05, [0.2, 0.3, 0.4, 0.5])
    0.3
    """
    least = np.log(1 / error)
    certified = None
    for threshold in sorted(thresholds, reverse=True):
        accepted = [bad[each >= threshold] for each, bad in looks]
        errors = [kept.sum() for kept in accepted]
        counts = [len(kept) for kept in accepted]
        against, support = guarantee_evidence(errors, counts, risk)
        if (against >= least).any() or support[-1] < least:
            break
        certified = float(threshold)
    return certified
