"""Scores that compare an image with the training images, or with templates made from them.

They are exact for any block of images, and read their bank once for each block.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from helpers.checks import whole_number
from helpers.scores.base import (
    BlockwiseScore,
    class_means,
    norms_of,
    parts,
    recorded,
    rowwise_product,
    unit_rows,
)
from helpers.scores.calibration import softmax
from helpers.scores.logits import log_sum_exp, negative_entropy

# Rows of a bank that are compared at once, and numbers that are kept of them, to bound the memory.
_ROWS, _NUMBERS = 2048, 2**22
_LEAST = 0.03  # weaker relations count as 0


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
        largest = np.sort(table, axis=1)[:, -k:]
        # Where even the smallest that was kept may be one of the largest, others may be, too.
        short = (values.min(axis=1, keepdims=True) >= middle - margin) & (margin > 0)
        if values.shape[1] < len(self.exact[0]) and short.any():
            again = np.flatnonzero(short)
            for part in _split(len(again), 8 * spare):
                largest[again[part]] = self._search(queries[again[part]], k, every, 8 * spare)
        return largest

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
                columns = _largest_columns(products, count)
                products = np.take_along_axis(products, columns, axis=1)
            else:  # few are above the smallest of those kept: the others need no sorting
                products, columns = _values_above(products, values.min(axis=1, keepdims=True))
            values, places = np.hstack([values, products]), np.hstack([places, columns + start])
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
    kept, places = np.full(shape, -np.inf, np.float32), np.zeros(shape, np.int64)
    kept[rows, slots], places[rows, slots] = values.ravel()[chosen], columns
    return kept, places


def _split(length: int, width: int) -> Iterator[slice]:
    """Yield slices of `length` rows of this width, each within the memory that is allowed."""
    size = max(1, _NUMBERS // width)
    for start in range(0, length, size):
        yield slice(start, start + size)


@recorded("knn")
class NearestNeighbours(BlockwiseScore):
    """Minus the distance of the normalised features to the k-th nearest training image's.

    In [−2, 0].  Features are divided by their Euclidean norm, so only their direction counts;
    where all are 0 they stay so, at distance 1 from all others.

    Parameters
    ----------
    k : int
        At most the number of training images that are compared with.
    bank : int, optional
        How many training images are compared with, drawn with a fixed seed; all of them by
        default, and where there are fewer.

    Notes
    -----
    Sun et al. 2022.  On ImageNet their 1,000 neighbours are of all its training images, as in their
    code; with a bank of 1 % of these k is 10.  Their code returns the squared distance: the same
    ranking.  Without `bank` the training features are not copied.
    """

    block, filled = 1024, False

    def __init__(self, k: int = 50, bank: int | None = None):
        self.k = whole_number("k", k)
        self.bank = None if bank is None else whole_number("bank", bank)

    def _learn(self, train_outputs, head):
        chosen = draw(train_outputs, self.bank, k=self.k)
        factors = np.concatenate([1 / norms_of(part.features) for part in parts(chosen)])
        filled = np.concatenate([part.features.any(axis=1) for part in parts(chosen)])
        # The largest products less half of the bank's squares are at the smallest distances.
        self.compared = Bank(chosen.features, factors, np.float32(-0.5) * filled, 1.0)

    def _scores(self, part):
        nearest = self.compared.kth_largest(unit_rows(part.features), self.k)
        squares = part.features.any(axis=1) - 2 * nearest
        return -np.sqrt(np.maximum(squares, 0))


@recorded("nnguide")
class NearestNeighbourGuidance(BlockwiseScore):
    """The energy, times how similar the image is to confident training images.

    The bank holds the normalised features of training images, each times the energy of its
    image.  The guidance is the mean of the k largest inner products of the normalised features
    with the bank; an image without features other than 0 has none.

    Parameters
    ----------
    k : int
        At most the images in the bank.
    bank : int
        How many training images the bank holds, drawn with a fixed seed; all of them, where
        there are fewer.

    Notes
    -----
    Park et al. 2023, with the energy as the score that is guided; a bank of 1 % of ImageNet.
    Their code normalises the features when it extracts them.  OpenOOD takes 100 neighbours in a
    bank of that size.
    """

    block, filled = 1024, False

    def __init__(self, k: int = 10, bank: int = 12_800):
        self.k, self.bank = whole_number("k", k), whole_number("bank", bank)

    def _learn(self, train_outputs, head):
        chosen = draw(train_outputs, self.bank, k=self.k)
        energies = np.concatenate([log_sum_exp(part.logits) for part in parts(chosen)])
        norms = np.concatenate([norms_of(part.features) for part in parts(chosen)])
        longest = np.abs(energies).max()
        self.guides = Bank(chosen.features, energies / norms, np.zeros(len(norms)), longest)

    def _scores(self, part):
        guidance = self.guides.largest(unit_rows(part.features), self.k).mean(axis=1)
        return guidance * log_sum_exp(part.logits)


@recorded("relation")
class Relation(BlockwiseScore):
    """The sum of an image's relations to the training images.

    Two images are related by the cosine of their features, 0 where that is negative, times the
    probability that a class drawn for one by the model's probabilities is the one drawn for the
    other.  Relations of at most 0.03 are none.

    Parameters
    ----------
    power : float
        Above 0: each relation counts with this power.
    bank : int, optional
        How many training images are compared with, drawn with a fixed seed; all of them by
        default, and where there are fewer.

    Notes
    -----
    Kim et al. 2023, their score of outliers with its kernel and the threshold of their code; theirs
    is 1 over the sum, higher for unknown images: the same ranking.  Their code uses a power of 1
    for unknown images, and of 4 for wrong labels; OpenOOD chooses it among 1 to 8 on validation
    images.  Without `bank` the training outputs are not copied; what training images are predicted
    as is computed from their logits.
    """

    block, filled = 1024, False

    def __init__(self, power: float = 1.0, bank: int | None = None):
        if not 0 < power < np.inf:
            raise ValueError(f"power: a positive number expected, got {power}")
        self.power = power
        self.bank = None if bank is None else whole_number("bank", bank)

    def _learn(self, train_outputs, head):
        chosen = draw(train_outputs, self.bank)
        self.features, self.logits = chosen.features, chosen.logits
        self.norms = np.concatenate([norms_of(part.features) for part in parts(chosen)])

    def _scores(self, part):
        rows, total = unit_rows(part.features), np.zeros(len(part))
        for start in range(0, len(self.norms), _ROWS):
            some = slice(start, start + _ROWS)
            relations = rowwise_product(rows, (self.features[some] / self.norms[some, None]).T)
            np.maximum(relations, 0, out=relations)
            relations *= rowwise_product(part.probabilities, softmax(self.logits[some]).T)
            relations *= relations > _LEAST
            total += (relations if self.power == 1 else relations**self.power).sum(axis=1)
        return total


@recorded("kl_matching")
class KLMatching(BlockwiseScore):
    """Minus the divergence of the probabilities from the nearest class template.

    A template is the mean of the probabilities over the training images that the model
    *predicts* as that class: labels are not used, and a class that is never predicted has none.

    Notes
    -----
    Hendrycks et al. 2022, section 3, who take the templates from held-out images.  A probability
    that underflowed to 0 in a template counts as the smallest normal float64, 2.2e-308; one that
    did so in an image adds nothing.
    """

    block, filled = 1024, False

    def _learn(self, train_outputs, head):
        means, counts = class_means(
            train_outputs, lambda part: (part.probabilities, part.predictions)
        )
        templates = np.maximum(means[counts > 0], np.finfo(np.float64).tiny)
        logs = np.log(templates)
        ones, longest = np.ones(len(logs)), np.linalg.norm(logs, axis=1).max()
        self.log_templates = Bank(logs, ones, 0 * ones, longest)

    def _scores(self, part):
        # The nearest template is the one with the smallest cross-entropy.
        nearest = self.log_templates.kth_largest(part.probabilities, 1)
        return nearest - negative_entropy(part.probabilities)
