"""Training images, or what stands for them, that others are compared with."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

# Rows of a bank that are compared with at once, and numbers that are kept of them: both bound the
# memory.
_ROWS, _NUMBERS = 2048, 2**22


def draw(outputs, size: int | None, *, k: int = 1):
    """Return the outputs of `size` images, drawn without replacement and with a fixed seed.

    Of all images, and without a copy, where `size` is None or there are no more.

    Raises
    ------
    ValueError
        These are fewer than the `k` that are looked for among them.

    Examples
    --------
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
    chosen = np.random.default_rng(0).choice(len(outputs), size, replace=False)
    return outputs.subset(np.sort(chosen))


class Bank:
    """Rows of which those are found that have the largest inner products with another one.

    Products with all rows are taken in single precision, at twice the speed.  Those that may be
    among the largest, as far as rounding can tell, are taken once more in double precision: what
    is found is exact, and does not depend on what else is looked for at the same time.

    Parameters
    ----------
    rows : ndarray, shape [M, D]
        Not copied if of float32, and may be memory-mapped.
    factors : ndarray, shape [M]
        What the products are multiplied by.
    offsets : ndarray, shape [M]
        What is then added to them.
    length : float
        No row is longer than that, times its factor.

    Examples
    --------
    >>> bank = Bank(np.eye(3), np.array([1.0, 2.0, 3.0]), np.zeros(3), 3.0)
    >>> bank.largest(np.ones((1, 3)), 2), bank.kth_largest(np.ones((1, 3)), 2)
    (array([[2., 3.]]), array([2.]))
    """

    def __init__(self, rows, factors, offsets, length):
        self.exact = rows, factors, offsets
        self.rounded = rows.astype(np.float32, copy=False)
        # A sum of D products of vectors of length 1 is off by at most half of D eps, in whatever
        # order it is taken (Higham 2002, section 3.1); the rest is for factor and offset.
        self.error = (rows.shape[1] + 8) * np.finfo(np.float32).eps * length

    def largest(self, queries: np.ndarray, k: int) -> np.ndarray:
        """Return the k largest products of each of some queries [n, D], float64 [n, k], rising."""
        return self._search(queries, k, every=True)

    def kth_largest(self, queries: np.ndarray, k: int) -> np.ndarray:
        """Return the k-th largest product of each query, float64 [n]; faster than all k."""
        return self._search(queries, k, every=False)[:, 0]

    def _search(self, queries, k, every, spare=64):
        """Return the k largest; without `every`, those above the k-th for certain as infinite.

        `spare` products are kept beyond k, which may turn out to be among the largest.
        """
        values, places = self._candidates(queries, k + spare)
        middle = np.partition(values, -k, axis=1)[:, -k, None]
        margin = 2 * self.error * np.linalg.norm(queries, axis=1, keepdims=True)
        above = values > (np.inf if every else middle + margin)
        close = np.flatnonzero((values >= middle - margin) & ~above)
        rows, columns = np.divmod(close, values.shape[1])
        table = np.where(above, np.inf, -np.inf)
        for part in _split(len(rows), queries.shape[1]):
            i, j = rows[part], columns[part]
            bank, factors, offsets = (array[places[i, j]] for array in self.exact)
            table[i, j] = np.vecdot(queries[i], bank.astype(np.float64)) * factors + offsets
        found = np.sort(table, axis=1)[:, -k:]
        # Where even the smallest that was kept may be one of the largest, others may be, too.
        short = (values.min(axis=1, keepdims=True) >= middle - margin) & (margin > 0)
        if values.shape[1] < len(self.exact[0]) and short.any():
            again = np.flatnonzero(short)
            for part in _split(len(again), 8 * spare):
                found[again[part]] = self._search(queries[again[part]], k, every, 8 * spare)
        return found

    def _candidates(self, queries, count):
        """Return the `count` largest products in single precision, and their rows in the bank."""
        bank, factors, offsets = self.rounded, *self.exact[1:]
        queries = queries.astype(np.float32)
        values = np.empty((len(queries), 0), np.float32)
        places = np.empty((len(queries), 0), np.int64)
        for start in range(0, len(bank), _ROWS):
            block = slice(start, start + _ROWS)
            products = queries @ bank[block].T
            products *= factors[block].astype(np.float32)
            products += offsets[block].astype(np.float32)
            if values.shape[1] < count:
                found = _largest_columns(products, count)
                products = np.take_along_axis(products, found, axis=1)
            else:  # few are above the smallest of those kept: the others need no sorting
                products, found = _values_above(products, values.min(axis=1, keepdims=True))
            values, places = np.hstack([values, products]), np.hstack([places, found + start])
            best = _largest_columns(values, count)
            values = np.take_along_axis(values, best, axis=1)
            places = np.take_along_axis(places, best, axis=1)
        return values, places


def _largest_columns(values: np.ndarray, count: int) -> np.ndarray:
    """Return the columns of the `count` largest values of each row, in no order."""
    count = min(count, values.shape[1])
    return np.argpartition(values, -count, axis=1)[:, -count:]


def _values_above(values: np.ndarray, floor: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the values of each row [n, M] above its floor [n, 1], and their columns.

    As wide as the row that has most; the others are filled up with minus infinity.
    """
    chosen = np.flatnonzero(values > floor)
    rows, columns = np.divmod(chosen, values.shape[1])
    counts = np.bincount(rows, minlength=len(values))
    slots = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    shape = len(values), counts.max()
    found, places = np.full(shape, -np.inf, np.float32), np.zeros(shape, np.int64)
    found[rows, slots], places[rows, slots] = values.ravel()[chosen], columns
    return found, places


def _split(length: int, width: int) -> Iterator[slice]:
    """Yield slices of `length` rows of this width, each within the memory that is allowed."""
    size = max(1, _NUMBERS // width)
    for start in range(0, length, size):
        yield slice(start, start + size)
