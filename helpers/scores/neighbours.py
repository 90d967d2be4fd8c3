"""Scores that compare an image with training images, or with templates made from them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.spatial import KDTree

from helpers.checks import positive_number, whole_number
from helpers.scores.base import (
    BlockwiseScore,
    check_level,
    class_means,
    norms_of,
    parts,
    recorded,
    rowwise_product,
    unit_rows,
)
from helpers.scores.calibration import softmax
from helpers.scores.logits import log_sum_exp, negative_entropy

# Rows of a bank in one comparison, and numbers stored for them, to bound the memory.
_ROWS, _NUMBERS = 2048, 2**22
# Numbers of a bank between 1 / _FAR and _FAR are not rescaled.
_FAR = 1e15
_LEAST = 0.03  # weaker relations count as 0


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
    chosen = np.random.default_rng(0).choice(len(outputs), size, replace=False)
    return outputs.subset(np.sort(chosen))


class Bank:
    """Rows [M, D], in which the largest inner products with queries are found.

    All products are computed in single precision.  Those that may be among the largest are computed
    again in double precision, so results are exact and do not depend on other queries.  Products
    are multiplied by `factors` [M], then `offsets` [M] are added.  `length` bounds the norm of each
    row times its factor.  Rows of float32 are not copied and may be memory-mapped.

    >>> bank = Bank(np.eye(3), np.array([1.0, 2.0, 3.0]), np.zeros(3), 3.0)
    >>> bank.largest(np.ones((1, 3)), 2), bank.kth_largest(np.ones((1, 3)), 2)
    (array([[2., 3.]]), array([2.]))
    """

    def __init__(self, rows, factors, offsets, length):
        largest = np.abs(rows).max(initial=0)
        if not 1 / _FAR < largest < _FAR:  # products of float32 may overflow, or lose digits
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
        for part in _split(len(rows), queries.shape[1]):
            i, j = rows[part], columns[part]
            bank, factors, offsets = (array[places[i, j]] for array in self.exact)
            table[i, j] = np.vecdot(queries[i], bank.astype(np.float64)) * factors + offsets
        largest = np.sort(table, axis=1)[:, -k:]
        # If the smallest stored product may be one of the largest, further ones may be, too.
        short = (values.min(axis=1, keepdims=True) >= middle - margin) & (margin > 0)
        if values.shape[1] < len(self.exact[0]) and short.any():
            again = np.flatnonzero(short)
            for part in _split(len(again), 8 * spare):
                largest[again[part]] = self._search(queries[again[part]], k, every, 8 * spare)
        return largest

    def _candidates(self, queries, count):
        """Return the `count` largest products in single precision, and their rows in the bank."""
        bank = self.rounded
        _, factors, offsets = self.exact
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
    chosen = np.flatnonzero(values > floor)
    rows, columns = np.divmod(chosen, values.shape[1])
    counts = np.bincount(rows, minlength=len(values))
    slots = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    shape = len(values), counts.max()
    kept, places = np.full(shape, -np.inf, np.float32), np.zeros(shape, np.int64)
    kept[rows, slots], places[rows, slots] = values.ravel()[chosen], columns
    return kept, places


def _split(length: int, width: int) -> Iterator[slice]:
    """Yield slices of `length` rows of this width, each within the memory limit."""
    size = max(1, _NUMBERS // width)
    for start in range(0, length, size):
        yield slice(start, start + size)


@recorded("knn")
class NearestNeighbours(BlockwiseScore):
    """Minus the distance of the normalised features to the k-th nearest training image.

    In [−2, 0].  Features are divided by their Euclidean norm; features that are all 0 stay 0, at
    distance 1 from all others. Source: Sun et al. 2022.  On ImageNet they take 1,000 neighbours of
    all training images, or 10 of 1 %. Their code returns the squared distance: the same ranking.
    Without `bank` features are not copied.

    Parameters
    ----------
    k : int
        At most the number of compared training images.
    bank : int, optional
        Number of compared training images, drawn with a fixed seed; all of them by default.
    normalise : bool
        Whether features are divided by their norm.
    """

    block, filled = 1024, False

    def __init__(self, k: int = 50, bank: int | None = None, normalise: bool = True):
        self.k, self.normalise = whole_number("k", k), normalise
        self.bank = None if bank is None else whole_number("bank", bank)

    def _learn(self, train_outputs, head):
        chosen = draw(train_outputs, self.bank, k=self.k)
        if not self.normalise:
            self.tree = KDTree(chosen.features)
            return
        factors = np.concatenate([1 / norms_of(part.features) for part in parts(chosen)])
        filled = np.concatenate([part.features.any(axis=1) for part in parts(chosen)])
        # The largest products less half of the bank's squares are at the smallest distances.
        self.compared = Bank(chosen.features, factors, np.float32(-0.5) * filled, 1.0)

    def _scores(self, part):
        if not self.normalise:
            return -self.tree.query(part.features, [self.k])[0][:, 0]
        nearest = self.compared.kth_largest(unit_rows(part.features), self.k)
        squares = part.features.any(axis=1) - 2 * nearest
        return -np.sqrt(np.maximum(squares, 0))


@recorded("nnguide")
class NearestNeighbourGuidance(BlockwiseScore):
    """Energy times the similarity to confident training images.

    The bank contains normalised features of training images times their energies.  The guidance is
    the mean of the k largest inner products of the normalised features with it; 0 for features of
    0. Source: Park et al. 2023, who guide the energy with a bank of 1 % of ImageNet.  OpenOOD
    takes 100 neighbours in a bank of that size.

    A constant that is added to all logits changes the score.  With 8 more or less, the AUROC of far
    images changes by up to 0.021 on four published networks, whose mean largest logit is 18 to 23.
    Their code (ood_detectors/nnguide.py) accepts negative energies, whose products with negative
    guidance are large.  Here a mean energy of at most 0 is refused, and so are logarithms of
    probabilities, which have lost their level.

    Parameters
    ----------
    k : int
        At most the number of images in the bank.
    bank : int
        Number of training images, drawn with a fixed seed; all of them if there are fewer.
    """

    block, filled = 1024, False

    def __init__(self, k: int = 10, bank: int = 12_800):
        self.k, self.bank = whole_number("k", k), whole_number("bank", bank)

    def _learn(self, train_outputs, head):
        chosen = draw(train_outputs, self.bank, k=self.k)
        energies = np.concatenate([log_sum_exp(part.logits) for part in parts(chosen)])
        norms = np.concatenate([norms_of(part.features) for part in parts(chosen)])
        check_level("nnguide", energies.mean())
        longest = np.abs(energies).max()
        self.guides = Bank(chosen.features, energies / norms, np.zeros(len(norms)), longest)

    def _scores(self, part):
        guidance = self.guides.largest(unit_rows(part.features), self.k).mean(axis=1)
        return guidance * log_sum_exp(part.logits)


@recorded("relation")
class Relation(BlockwiseScore):
    """Sum of an image's relations to the training images.

    The relation of two images is the cosine of their features, at least 0, times the probability
    that two classes drawn from their predicted probabilities agree.  Relations of at most 0.03
    count as 0. Source: Kim et al. 2023: their outlier score, kernel and threshold.  Their score is
    1 over the sum: the same ranking.  Their power is 1 for unknown images and 4 for wrong labels;
    OpenOOD chooses among 1 to 8.

    Parameters
    ----------
    power : float
        Positive exponent of each relation.
    bank : int, optional
        Number of compared training images, drawn with a fixed seed; all of them by default.
    """

    block, filled = 1024, False

    def __init__(self, power: float = 1.0, bank: int | None = None):
        self.power = positive_number("power", power)
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

    A template is the mean probability over the training images that the model *predicts* as a
    class. Labels are not used.  A class without predictions does not get a template.

    Hendrycks et al. 2022, section 3, with templates from held-out images.  A probability that
    underflowed to 0 in a template counts as 2.2e-308; in an image it contributes 0.
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
        # The nearest template has the smallest cross-entropy.
        nearest = self.log_templates.kth_largest(part.probabilities, 1)
        return nearest - negative_entropy(part.probabilities)
