"""How well a score ranks known above unknown images: AUROC, AUPR, FPR at a TPR, detection error.

Areas need one sort of whole numbers, `even_keys`, that keep the group of each image.  Tied scores
are never split, so the order in which images arrive does not matter.  Infinite scores are allowed,
since they rank; NaN is not.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from helpers.checks import float_array, known_name, number

# Scores ranked at a time, to bound the memory.
_BLOCK = 2**13


def last_of_ties(ranked: np.ndarray) -> np.ndarray:
    """Return whether each of sorted scores [N] is the last of its equals, bool [N].

    >>> last_of_ties(np.array([3.0, 1.0, 1.0]))
    array([ True, False,  True])
    """
    return np.append(ranked[1:] != ranked[:-1], True)


def rounded_up(number) -> int:
    """Return the next whole number; a rounding error above one counts as this number.

    >>> rounded_up(0.07 * 100), rounded_up(7.1)
    (7, 8)
    """
    return int(np.ceil(np.round(number, 9)))


def cumulative_counts(scores: np.ndarray, positive: np.ndarray):
    """Return the distinct scores [G], the highest first, and the numbers of images they accept.

    A threshold accepts the images with a score at least as high.  The counts are of all images
    [G], and of the `positive` images [..., G], int64.  The scores [N] are checked already.

    >>> cumulative_counts(np.array([1.0, 3.0, 1.0]), np.array([True, True, False]))
    (array([3., 1.]), array([1, 3]), array([1, 2]))
    """
    order = np.argsort(-scores)
    ranked = scores[order]
    last = np.flatnonzero(last_of_ties(ranked))
    return ranked[last], last + 1, np.cumsum(positive[..., order], axis=-1)[..., last]


def even_keys(scores: np.ndarray) -> np.ndarray:
    """Return even whole numbers in the order of float64 scores [N], which are overwritten.

    Equal scores have equal keys, so an odd key can mark an image, and one fast sort of numbers
    keeps the marks.  A key is twice the bits of its score, for which the bits of numbers below 1
    have room: larger scores are multiplied by a power of 2.  Ranks replace scores of which some
    lose digits by it.

    >>> even_keys(np.array([3e300, 1e-300, 3e300]))
    array([2, 0, 2])
    """
    blocks = [scores[start : start + _BLOCK] for start in range(0, len(scores), _BLOCK)]
    largest = max(scores.max(), -scores.min())
    if np.isinf(largest):
        largest = max(np.abs(block[np.isfinite(block)]).max(initial=0) for block in blocks)
    factor = np.ldexp(1.0, -max(0, np.frexp(largest)[1]))
    if any((block * factor / factor != block).any() for block in blocks):
        return 2 * np.unique(scores, return_inverse=True)[1]
    for block in blocks:
        block *= factor
        np.clip(block, -1.5, 1.5, out=block)  # infinite scores
        block += 0.0  # turns −0.0 into 0.0
        bits = block.view(np.int64)
        bits ^= (bits >> 63) & np.iinfo(np.int64).max  # negative numbers rise, too
        bits <<= 1
    return scores.view(np.int64)


def ranked_places(keys: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Sort keys [N] of all images, and yield the places of those with even keys, rising.

    A key is of `even_keys`, or larger by 1.  The places are the number of even keys below, of all
    images below, and of all images not above; a block of images after another bounds the memory.

    >>> list(ranked_places(np.array([2, 0, 1, 2])))
    [(array([0, 1, 1]), array([0, 2, 2]), array([2, 4, 4]))]
    """
    keys.sort()
    count = 0
    lowest = 0
    for start in range(0, len(keys), _BLOCK):
        places = start + np.flatnonzero(keys[start : start + _BLOCK] & 1 == 0)
        if not len(places):
            continue
        even = keys.take(places)
        # even keys come first among equal scores, so the first of them is above all lower scores
        below = np.maximum.accumulate(np.where(keys[places - 1] != even, places, lowest))
        lowest = below[-1]
        following = keys.take(places + 1, mode="clip")
        not_above = np.where(following != even, places + 1, len(keys))
        searched = np.append(np.flatnonzero(following == even + 1), len(places) - 1)
        not_above[searched] = np.searchsorted(keys, even[searched] + 1, side="right")
        not_above = np.minimum.accumulate(not_above[::-1])[::-1]
        yield count - places + below + np.arange(len(places)), below, not_above
        count += len(places)


def required_count(name: str, share: float, total: int) -> int:
    """Return how many of `total` are "at least `share`" of them, and never none.

    >>> required_count("tpr", 0.95, 20), required_count("tpr", 0.95, 21)
    (19, 20)
    """
    if not 0 < number(name, share) <= 1:
        raise ValueError(f"{name}: a share in (0, 1] expected, got {share}")
    return max(1, rounded_up(float(share) * total))


def _groups(known, unknown, positive: str = "known") -> tuple[np.ndarray, np.ndarray]:
    """Return the checked scores of the positives, and of the others; higher = more positive."""
    known = float_array("known", known, finite=False)
    unknown = float_array("unknown", unknown, finite=False)
    known_name("positive class", positive, ("known", "unknown"))
    return (known, unknown) if positive == "known" else (-unknown, -known)


def _places_of_first(first: np.ndarray, second: np.ndarray) -> Iterator[tuple]:
    """Return the `ranked_places` of the first group among the scores of both."""
    keys = even_keys(np.concatenate([first, second]))
    keys[len(first) :] += 1
    return ranked_places(keys)


def auroc(known, unknown) -> float:
    r"""Return the area under the ROC curve of known against unknown images.

    The probability that a known image scores higher than an unknown one, a tie counting one half:
    :math:`P(s_k > s_u) + \tfrac12 P(s_k = s_u)`.  Equal to the Mann–Whitney statistic, and to the
    trapezoid area of the ROC curve.  Which side is called positive does not matter. Used for
    out-of-distribution detection since Hendrycks and Gimpel 2017.

    Parameters
    ----------
    known, unknown : array_like, shape [P] and [U]
        Scores, higher = more likely known.

    Returns
    -------
    float
        In [0, 1]; 0.5 for a constant score.

    Examples
    --------
    >>> auroc([3, 2, 1], [1, 0])
    0.9166666666666666
    """
    known, unknown = _groups(known, unknown)
    # of two known images, one is below, or each is not above: P² in all, which are no pairs
    doubled = -(len(known) ** 2)
    for _, below, not_above in _places_of_first(known, unknown):
        doubled += int(below.sum() + not_above.sum())
    return doubled / (2.0 * len(known) * len(unknown))


def aupr(known, unknown, *, positive: str) -> float:
    r"""Return the area under the precision–recall curve, as average precision.

    :math:`\sum_g (R_g - R_{g-1})\,P_g` over the distinct thresholds g, the step rule of
    scikit-learn's ``average_precision_score``.  The trapezoid over the same points, which
    several out-of-distribution libraries report, is optimistic and not the same number.

    Parameters
    ----------
    known, unknown : array_like, shape [P] and [U]
        Scores, higher = more likely known.
    positive : {"known", "unknown"}
        The class that is looked for (AUPR-In and AUPR-Out in much of the literature).

    Returns
    -------
    float
        In (0, 1]; for a constant score the share of positives.

    Examples
    --------
    >>> aupr([3, 1], [2], positive="known")
    0.8333333333333333
    """
    hits, others = _groups(known, unknown, positive)
    total = 0.0
    for hits_below, below, _ in _places_of_first(hits, others):
        total += ((len(hits) - hits_below) / (len(hits) + len(others) - below)).sum()
    return float(total / len(hits))


def fpr_at_tpr(known, unknown, *, tpr: float = 0.95, positive: str = "known") -> float:
    """Return the false positive rate at the threshold that keeps a given share of positives.

    The threshold is the largest that keeps *at least* `tpr` of the positives, so a smaller share
    cannot lower the rate.  With ``positive="known"`` the rate is the share of unknown images that
    are accepted when 95 % of the known are kept; with ``positive="unknown"`` it is the share of
    known images that are rejected when 95 % of the unknown are detected.  These are different
    numbers, and papers report either under one name. Source: Liang et al. 2018, section 4.2
    (``positive="known"``).

    Parameters
    ----------
    known, unknown : array_like, shape [P] and [U]
        Scores, higher = more likely known.
    tpr : float
        The share to keep, in (0, 1].
    positive : {"known", "unknown"}
        The group whose share is kept.

    Returns
    -------
    float
        In [0, 1]; 1 for a constant score.

    Examples
    --------
    >>> fpr_at_tpr([4, 3, 2, 1], [2.5, 0], tpr=0.75)
    0.5
    """
    hits, others = _groups(known, unknown, positive)
    index = len(hits) - required_count("tpr", tpr, len(hits))
    threshold = np.partition(hits, index)[index]
    return float(np.count_nonzero(others >= threshold) / len(others))


def detection_error(known, unknown) -> float:
    r"""Return the smallest balanced error rate that any threshold reaches.

    :math:`\min_\delta \tfrac12 (1 - \mathrm{TPR}(\delta)) + \tfrac12 \mathrm{FPR}(\delta)`, the
    mean of the share of known images rejected and the share of unknown images accepted. Source:
    Liang et al. 2018 define it with the minimum, but their tables print the error at 95 % TPR,
    :math:`0.025 + \mathrm{FPR} / 2`; this is the minimum.

    Parameters
    ----------
    known, unknown : array_like, shape [P] and [U]
        Scores, higher = more likely known.

    Returns
    -------
    float
        In [0, 0.5]; 0.5 for a constant score, which is what accepting everything gives.

    Examples
    --------
    >>> detection_error([4, 3, 2, 1], [2.5, 0])
    0.25
    """
    known, unknown = _groups(known, unknown)
    is_known = np.arange(len(known) + len(unknown)) < len(known)
    _, accepted, true = cumulative_counts(np.concatenate([known, unknown]), is_known)
    errors = 1 - true / len(known) + (accepted - true) / len(unknown)
    return float(errors.min() / 2)  # the lowest threshold accepts everything, which is 0.5
