"""What was wished, as a number by which scores are compared: what they keep, or what is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

_CELLS = 2**18  # counts held at a time: about the size of a CPU's cache


class Wish(NamedTuple):
    """What a threshold is to promise.

    Attributes
    ----------
    name : {"risk", "coverage"}
    level : float
        The risk, or the coverage.
    unknown : float
        Share of unknown images that the promise of a risk reckons with.
    """

    name: str = "risk"
    level: float = 0.05
    unknown: float = 0.0

    @property
    def metric(self) -> str:
        """What a score gives for it: the ``coverage`` at a risk, or the ``risk`` at a coverage."""
        return "coverage" if self.name == "risk" else "risk"

    def measure(self, scores, correct, unknown, weights) -> np.ndarray:
        """Return that number once for each row of weights, float64 [B].

        Parameters
        ----------
        scores, correct : ndarray, shape [N]
            Of ID images.
        unknown : sequence of ndarray
            Scores of each set of unknown images; looked at if the wish reckons with them.
        weights : sequence of ndarray, shape [B, N] and [B, M] each
            How often each ID image is drawn, and each of every set.
        """
        if self.name == "coverage":
            return risk_at_coverage(scores, correct, weights[0], self.level)
        if not self.unknown:
            return coverage_at_risk(scores, correct, weights[0], self.level)
        shares = [1 - self.unknown, *[self.unknown / len(unknown)] * len(unknown)]
        masses = [
            share * one / one.sum(axis=1, keepdims=True, dtype=np.int64)
            for share, one in zip(shares, weights, strict=True)
        ]
        drawn = np.concatenate([scores, *unknown])
        known = np.arange(len(drawn)) < len(scores)
        right = np.concatenate([correct, np.zeros(len(drawn) - len(scores), bool)])
        return coverage_at_risk(drawn, right, np.concatenate(masses, axis=1), self.level, known)


DEFAULT = Wish()
"""What an audit wishes for where nothing is said."""


def coverage_at_risk(confidence, correct, weights, risk: float, known=None) -> np.ndarray:
    """Return which share of the images can be kept with at most `risk` of these wrong, float64 [B].

    Parameters
    ----------
    confidence, correct : ndarray, shape [N]
    weights : ndarray, shape [B, N]
        How often each image is drawn, or how much it counts.
    risk : float
    known : ndarray of bool, shape [N], optional
        Of which images the share is taken; by default of all.

    Examples
    --------
    >>> coverage_at_risk(np.array([4, 3, 2, 1]), np.array([1, 1, 0, 1]) > 0, np.ones((1, 4)), 0.25)
    array([1.])
    >>> coverage_at_risk(np.array([4, 3, 2, 1]), np.array([1, 1, 0, 1]) > 0, np.ones((1, 4)), 0.2)
    array([0.5])
    """
    order, ends = _ranked(confidence)
    wrong, found = ~correct[order], np.empty(len(weights))
    for rows, drawn in _sums(weights, order):
        kept, errors = np.cumsum(drawn, axis=1), np.cumsum(drawn * wrong, axis=1)
        counted = kept if known is None else np.cumsum(drawn * known[order], axis=1)
        # a rounding error must not undo an equality
        possible = ends & (errors <= risk * kept * (1 + 1e-9))
        found[rows] = (counted * possible).max(axis=1) / counted[:, -1]
    return found


def risk_at_coverage(confidence, correct, weights, coverage: float) -> np.ndarray:
    """Return which share is wrong of the images kept where `coverage` of all are, float64 [B].

    Parameters are those of `coverage_at_risk`.

    Examples
    --------
    >>> some = np.array([4, 3, 2, 1]), np.array([1, 1, 0, 1]) > 0, np.ones((1, 4))
    >>> risk_at_coverage(*some, 0.5), risk_at_coverage(*some, 0.51)
    (array([0.]), array([0.33333333]))
    """
    order, ends = _ranked(confidence)
    wrong, found = ~correct[order], np.empty(len(weights))
    for rows, drawn in _sums(weights, order):
        kept, errors = np.cumsum(drawn, axis=1), np.cumsum(drawn * wrong, axis=1)
        first = (ends & (kept >= coverage * kept[:, -1:] * (1 - 1e-9))).argmax(axis=1)[:, None]
        both = np.take_along_axis(errors, first, 1), np.take_along_axis(kept, first, 1)
        found[rows] = (both[0] / both[1])[:, 0]
    return found


def _ranked(confidence: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the images by falling score, and which are the last of those with one score."""
    order = np.argsort(-confidence, kind="stable")
    ranked = confidence[order]
    return order, np.append(ranked[1:] != ranked[:-1], True)


def _sums(weights: np.ndarray, order: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield some rows of weights in this order, so that sums need no more than float64 or int64."""
    kind = np.float64 if weights.dtype.kind == "f" else np.int64
    size = max(1, _CELLS // len(order))
    for start in range(0, len(weights), size):
        rows = slice(start, start + size)
        yield rows, weights[rows, order].astype(kind)
