"""A bank of training images, in which the nearest ones are found."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

#: Rows of a bank in one comparison, to bound the memory.
ROWS = 2048
# Numbers that are stored for them.
_NUMBERS = 2**22
# Rows whose largest number is between 1 / _FAR and _FAR, with factors below, are not rescaled.
_FAR = 1e15


def draw(outputs, size: int | None, *, k: int = 1):
    """Return the outputs of `size` images, drawn without replacement with a fixed seed.

    All images are returned, without a copy, if `size` is None or not smaller; at least `k` needed.

    >>> from helpers.outputs import Outputs
    >>> outputs = Outputs(np.zeros((5, 2)), np.arange(5.0)[:, None], np.zeros(5, int))
    >>> len(draw(outputs, 3)), draw(outputs, 5) is outputs
    (3, True)
    """
    images = len(outputs) if size is None else min(size, len(outputs))
    if k > images:
        raise ValueError(f"k: at most {images} (the images in the bank) expected, got {k}")
    if images == len(outputs):
        return outputs
    images_of_bank = np.random.default_rng(0).choice(len(outputs), size, replace=False)
    return outputs.subset(np.sort(images_of_bank))


class Bank:
    """Rows [M, D], in which the largest inner products with queries are found.

    All products are computed in single precision.  Those that may be among the largest are computed
    again in double precision, so results are exact and do not depend on other queries.  Products
    are multiplied by `factors` [M], then `offsets` [M] are added.  `length` bounds the norm of each
    row times its factor.  Rows of float32 are not copied and may be memory-mapped.

    >>> bank = Bank(np.eye(3), np.array([1.0, 2.0, 3.0]), np.zeros(3), 3.0)
    >>> bank.largest(np.ones((1, 3)), 2), bank.kth_largest(np.ones((1, 3)), 2)
    (array([[2., 3.]]), array([2.]))
    >>> rows = np.array([[3e-40, 4e-40], [1.0, 0.0]], np.float32)
    >>> Bank(rows, np.array([2e39, 1.0]), np.zeros(2), 1.0).largest(np.array([[1.0, 0.0]]), 1)
    array([[1.]])
    """

    def __init__(self, rows, factors, offsets, length):
        largest = max(rows.max(initial=0), -rows.min(initial=0))  # without a copy
        # products of float32 may overflow, or lose digits
        if not (1 / _FAR < largest < _FAR and np.max(factors) < _FAR):
            rows, factors = _rescaled(rows, factors)
        self.exact = rows, factors, offsets
        self.rounded = rows.astype(np.float32, copy=False)
        # A sum of D products of vectors of length 1 is off by at most half of D eps, in whatever
        # order it is taken (Higham 2002, section 3.1); the rest is for factor and offset.
        self.error = (rows.shape[1] + 8) * np.finfo(np.float32).eps * length

    def largest(self, queries: np.ndarray, k: int) -> np.ndarray:
        """Return the k largest products of each query [n, D], rising, float64 [n, k]."""
        return self._search(queries, k, every=True)

    def kth_largest(self, queries: np.ndarray, k: int) -> np.ndarray:
        """Return the k-th largest product of each query, float64 [n]; faster than all k."""
        return self._search(queries, k, every=False)[:, 0]

    def _search(self, queries, k, every, spare=64):
        """Return the k largest; without `every`, those certainly above the k-th as infinite.

        `spare` more products are kept, which may be among the largest.
        """
        values, places = self._candidates(queries, k + spare)
        middle = np.partition(values, -k, axis=1)[:, -k, None]
        margin = 2 * self.error * np.linalg.norm(queries, axis=1, keepdims=True)
        above = values > (np.inf if every else middle + margin)
        close = np.flatnonzero((values >= middle - margin) & ~above)
        rows, columns = np.divmod(close, values.shape[1])
        table = np.where(above, np.inf, -np.inf)
        for rows_at_once in _split(len(rows), queries.shape[1]):
            i = rows[rows_at_once]
            j = columns[rows_at_once]
            near = places[i, j]
            bank, factors, offsets = self.exact
            products = np.vecdot(queries[i], bank[near].astype(np.float64))
            table[i, j] = products * factors[near] + offsets[near]
        largest = np.sort(table, axis=1)[:, -k:]
        # If the smallest stored product may be one of the largest, further ones may be, too.
        short = (values.min(axis=1, keepdims=True) >= middle - margin) & (margin > 0)
        if values.shape[1] < len(self.exact[0]) and short.any():
            again = np.flatnonzero(short)
            for rows_at_once in _split(len(again), 8 * spare):
                largest[again[rows_at_once]] = self._search(
                    queries[again[rows_at_once]], k, every, 8 * spare
                )
        return largest

    def _candidates(self, queries, count):
        """Return the `count` largest products in single precision, and their rows in the bank."""
        bank = self.rounded
        _, factors, offsets = self.exact
        queries = queries.astype(np.float32)
        values = np.empty((len(queries), 0), np.float32)
        places = np.empty((len(queries), 0), np.int64)
        for start in range(0, len(bank), ROWS):
            block = slice(start, start + ROWS)
            products = queries @ bank[block].T
            products *= factors[block].astype(np.float32)
            products += offsets[block].astype(np.float32)
            if values.shape[1] < count:
                columns = _largest_columns(products, count)
                products = np.take_along_axis(products, columns, axis=1)
            else:  # few are above the smallest of those kept: the others need no sorting
                products, columns = _values_above(products, values.min(axis=1, keepdims=True))
            values = np.hstack([values, products])
            places = np.hstack([places, columns + start])
            best = _largest_columns(values, count)
            values = np.take_along_axis(values, best, axis=1)
            places = np.take_along_axis(places, best, axis=1)
        return values, places


def _rescaled(rows: np.ndarray, factors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return rows whose largest number is between 1/2 and 1, and the factors that undo it.

    >>> _rescaled(np.array([[3e37, -1e37]]), np.array([2.0]))[0].round(3)
    array([[ 0.705, -0.235]])
    """
    exponents = np.frexp(np.abs(rows).max(axis=1))[1]
    return np.ldexp(rows, -exponents[:, None]), np.ldexp(factors, exponents)


def _largest_columns(values: np.ndarray, count: int) -> np.ndarray:
    """Return the columns of the `count` largest values of each row, in no order."""
    count = min(count, values.shape[1])
    return np.argpartition(values, -count, axis=1)[:, -count:]


def _values_above(values: np.ndarray, floor: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the values of each row [n, M] above its floor [n, 1], and their columns.

    Rows with fewer values are filled up with minus infinity.
    """
    above_floor = np.flatnonzero(values > floor)
    rows, columns = np.divmod(above_floor, values.shape[1])
    counts = np.bincount(rows, minlength=len(values))
    slots = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    shape = len(values), counts.max()
    largest = np.full(shape, -np.inf, np.float32)
    places = np.zeros(shape, np.int64)
    largest[rows, slots] = values.ravel()[above_floor]
    places[rows, slots] = columns
    return largest, places


def _split(length: int, width: int) -> Iterator[slice]:
    """Yield slices of `length` rows of this width, each within the memory limit."""
    size = max(1, _NUMBERS // width)
    for start in range(0, length, size):
        yield slice(start, start + size)
