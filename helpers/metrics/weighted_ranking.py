"""Ranking metrics of bootstrap replicates, by weights on scores that are sorted once.

A replicate changes how often an image counts, not which images are above a threshold.  It
therefore costs one cumulative sum of its weights.  Every value equals the plain metric on the
images repeated by their weights.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from helpers.checks import float_array, plain_array
from helpers.metrics.inputs import correct_array
from helpers.metrics.ranking import last_of_ties, required_count
from helpers.metrics.selective import harmonic_numbers

# Images and counts that are held at a time: about the size of a CPU's cache.
_ROWS = 256
_CELLS = 2**18


def _count_array(name: str, weights, length: int) -> tuple[np.ndarray, np.ndarray]:
    """Return whole numbers [B, length] and their row sums; refuse other values."""
    weights = plain_array(name, weights)
    if weights.ndim != 2 or weights.shape[1] != length or len(weights) == 0:
        raise ValueError(f"{name}: shape [B, {length}] expected, got {weights.shape}")
    kind = weights.dtype.kind
    if kind != "u" and (kind != "i" or weights.min() < 0):
        raise ValueError(f"{name}: whole numbers of at least 0 expected, how often each is drawn")
    totals = weights.sum(axis=1, dtype=np.int64)
    if not totals.all():
        raise ValueError(f"{name}: a row sums to 0")
    return weights, totals


class _Segments(NamedTuple):
    """Images of two groups, sorted once, the highest score first, and cut into segments.

    A segment contains images of only one group in any order, or images of both groups with equal
    scores: their order within the segment does not change any metric.  `order` [N] sorts the
    images, `positive` [N] marks in this order the images of the first group, `ends` [S] counts the
    images up to the end of each segment.  `mixed` and `negative` [S] mark the segments with images
    of both groups, and of the second group.
    """

    order: np.ndarray
    positive: np.ndarray
    ends: np.ndarray
    mixed: np.ndarray
    negative: np.ndarray

    @classmethod
    def of(cls, scores: np.ndarray, positive: np.ndarray) -> _Segments:
        """Sort [N] scores, and find the segments."""
        order = np.argsort(-scores)
        ranked = scores[order]
        positive = positive[order]
        ends = np.flatnonzero(last_of_ties(ranked)) + 1
        size = np.diff(ends, prepend=0)
        true = np.diff(np.cumsum(positive)[ends - 1], prepend=0)
        mixed = (0 < true) & (true < size)
        negative = true < size
        # a run of one group can be cut anywhere: at the end of a block, too
        inside = np.arange(_ROWS, len(scores), _ROWS)
        cut = inside[~mixed[np.searchsorted(ends, inside)]]
        goes_on = ~mixed[:-1] & ~mixed[1:] & (negative[:-1] == negative[1:])
        segment_ends = np.union1d(ends[np.append(~goes_on, True)], cut)
        group = np.searchsorted(ends, segment_ends)
        return cls(order, positive, segment_ends, mixed[group], negative[group])

    def cumulate(
        self, columns: tuple[np.ndarray, np.ndarray], places: np.ndarray, most: int
    ) -> Iterator[tuple]:
        """Yield how many images are drawn up to the end of each segment, a block at a time."""
        kind = np.int32 if 2 * most < 2**31 else np.int64
        groups = [
            (array, places[self.order[members]], np.append(0, np.cumsum(members)))
            for array, members in zip(columns, (self.positive, ~self.positive), strict=True)
        ]
        last = np.searchsorted(self.ends, np.arange(_ROWS, len(self.order) + _ROWS, _ROWS))
        blocks = np.unique(np.append(0, np.minimum(last, len(self.ends) - 1) + 1))
        limits = np.append(0, self.ends[blocks[1:] - 1])
        longest = int(np.diff(limits).max())
        width = max(1, _CELLS // longest)
        for left in range(0, columns[0].shape[1], width):
            replicates = slice(left, left + width)
            groups_of_block = [
                (np.ascontiguousarray(array[:, replicates]), *rest) for array, *rest in groups
            ]
            before = np.zeros((2, 1, groups_of_block[0][0].shape[1]), dtype=kind)
            # Sums within the block, after a row of zeros; new memory would take longer than them.
            sums = np.zeros((longest + 1, before.shape[2]), dtype=kind)
            for first, stop, begin, end in zip(
                blocks[:-1], blocks[1:], limits[:-1], limits[1:], strict=True
            ):
                ends = np.append(begin, self.ends[first:stop])
                accepted = []
                for start, (array, rows, rank) in zip(before, groups_of_block, strict=True):
                    low = rank[begin]
                    high = rank[end]
                    out = sums[1 : high - low + 1]
                    np.cumsum(array.take(rows[low:high], axis=0), axis=0, dtype=kind, out=out)
                    accepted.append(sums.take(rank[ends] - low, axis=0) + start)
                    start += sums[high - low]
                yield replicates, slice(first, stop), tuple(accepted)


def weighted_aurc(confidence, correct, weights) -> np.ndarray:
    r"""Return `aurc`, once for each row of weights.

    As in `aurc`: the e errors of a tied group, which fills the places from a + 1 to
    b in random order, add the mean over these places, with harmonic numbers H:

    .. math:: \mathrm{AURC} = \frac{1}{N} \sum_g e_g
              \left( H_N - \frac{S_b - S_a}{b - a} \right), \qquad
              S_n = \sum_{j < n} H_j = n (H_n - 1)

    Source: Geifman, Uziel and El-Yaniv 2019, section 3; the sum over errors is this project's.

    Parameters
    ----------
    confidence, correct : array_like, shape [N]
        As in `aurc`.
    weights : array_like of int, shape [B, N]
        From `resample_weights`, or in the same order in memory: others are copied first.

    Returns
    -------
    ndarray of float64, shape [B]
        In [0, 1], lower is better.

    Examples
    --------
    >>> weighted_aurc([0.9, 0.8, 0.7, 0.6], [True, True, False, True], [[1, 1, 1, 1], [0, 2, 2, 0]])
    array([0.14583333, 0.20833333])
    """
    confidence = float_array("confidence", confidence, finite=False)
    correct = correct_array(correct, length=len(confidence))
    weights, totals = _count_array("weights", weights, len(confidence))
    harmonic, summed = harmonic_numbers(totals.max())
    areas = np.zeros(len(weights))
    segments = _Segments.of(confidence, correct)
    images = np.arange(len(confidence))
    for rows, block_segments, (hits, errors_so_far) in segments.cumulate(
        (weights.T, weights.T), images, totals.max()
    ):
        # of errors alone, e_g is the number of the places: the mean over them need not be taken
        lost = np.diff(summed.take(hits + errors_so_far), axis=0)
        for tied in np.flatnonzero(segments.mixed[block_segments]):
            errors = errors_so_far[tied + 1] - errors_so_far[tied]
            size = errors + hits[tied + 1] - hits[tied]
            lost[tied] *= errors / np.maximum(size, 1)  # nothing drawn, no errors either
        areas[rows] += (errors_so_far[-1] - errors_so_far[0]) * harmonic[totals[rows]]
        areas[rows] -= segments.negative[block_segments].astype(float) @ lost
    return areas / totals


def weighted_detection(
    known, unknown, known_weights, unknown_weights, *, tpr: float = 0.95
) -> tuple[np.ndarray, np.ndarray]:
    """Return `auroc` and `fpr_at_tpr` with ``positive="known"``, once for each row of weights.

    The threshold of a replicate is the largest that keeps at least `tpr` of the known images,
    counted by their weights. Source: Liang et al. 2018, section 4.2.

    Parameters
    ----------
    known, unknown : array_like, shape [P] and [U]
        Scores, higher = more likely known.
    known_weights, unknown_weights : array_like of int, shape [B, P] and [B, U]
        From `resample_weights`, one call for each group.
    tpr : float
        The share of known images to keep, in (0, 1].

    Returns
    -------
    tuple of two ndarrays of float64, shape [B]
        AUROC, higher is better, and FPR, lower is better, in [0, 1].

    Examples
    --------
    >>> weights = [[1, 1, 1, 1], [2, 2, 0, 0]], [[1, 1], [1, 1]]
    >>> weighted_detection([4, 3, 2, 1], [2.5, 0], *weights, tpr=0.75)
    (array([0.75, 1.  ]), array([0.5, 0. ]))
    """
    known = float_array("known", known, finite=False)
    unknown = float_array("unknown", unknown, finite=False)
    known_weights, positives = _count_array("known_weights", known_weights, len(known))
    unknown_weights, negatives = _count_array("unknown_weights", unknown_weights, len(unknown))
    if len(known_weights) != len(unknown_weights):
        raise ValueError(
            f"unknown_weights: as many rows as known_weights ({len(known_weights)}) expected, got"
            f" {len(unknown_weights)}"
        )
    totals, which = np.unique(positives, return_inverse=True)  # few different ones, as a rule
    needed = np.array([required_count("tpr", tpr, int(total)) for total in totals])[which]
    is_known = np.arange(len(known) + len(unknown)) < len(known)
    segments = _Segments.of(np.concatenate([known, unknown]), is_known)
    places = np.concatenate([np.arange(len(known)), np.arange(len(unknown))])
    columns = (known_weights.T, unknown_weights.T)
    most = (positives + negatives).max()
    doubled = np.zeros(len(positives))
    accepted = negatives.copy()
    for rows, _, (true, false) in segments.cumulate(columns, places, most):
        # twice the area below these steps of the ROC, in counts of images
        steps = np.diff(false, axis=0)
        heights = true[1:] + true[:-1]
        doubled[rows] += np.einsum("ij,ij->j", steps, heights, dtype=np.float64)
        # the smallest number of unknown images accepted by a step that keeps enough known images
        reached = np.where(true[1:] >= needed[rows], false[1:], accepted[rows])
        accepted[rows] = np.minimum(accepted[rows], reached.min(axis=0))
    return doubled / (2.0 * negatives * positives), accepted / negatives
