"""Images that are nearly the same in feature space, as one that was stored once more is.

Noise that is hardly seen is found, and compression that is; flips, crops and frames of one scene
mostly are not: in the features they are as far from each other as neighbours of one class.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

BEHIND = 10
"""Which neighbour the distance of the nearest one is held against: bursts of so many are found."""
CLOSEST = 0.2
"""At most this share of that distance, however many dimensions the features vary in."""
CHANCE = 0.01
"""Probability, about, that any of all images is called a near copy without being one."""
MOST = 50_000
"""Images that are compared with each other; of more so many are drawn by chance, by the caller."""
_SAMPLE, _WIDTH, _SLACK, _BLOCK, _CELLS = 256, 64, 1.8, 1024, 2**24


def find_near_copies(
    features, classes, others=None, other_classes=None, *, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    r"""Return which images are nearly copies of another one, and of which.

    Parameters
    ----------
    features : array_like, shape [N, D]
        One row an image; exact copies are left out by the caller.
    classes : array_like of int, shape [N]
    others, other_classes : array_like, shape [M, D] and [M], optional
        Among which images to look; without them, among the others of `features`.
    seed : int
        Of a sample, and of the projection.

    Returns
    -------
    places, nearest : ndarray, shape [C]
        Rows of `features`, and of `others` (or of `features`).  Empty where there are not more
        than `BEHIND` others.

    Notes
    -----
    With r the distance of two rows of length one (their cosine distance is r² / 2), an image is a
    near copy if its nearest neighbour is nearer than

    .. math:: \varepsilon \min(r_{10}, r_{\text{class}}, \operatorname{median} r_{10}), \quad
        \varepsilon = \min\left(\frac{1}{5}, \left(\frac{0.01}{9 N}\right)^{1 / k}\right)

    where r₁₀ is the distance of the tenth one, and that of the class belongs to its farthest image,
    so that a class of few images that lie close together is not taken for copies.

    Where images lie as densely around an image as they do in its neighbourhood, and vary in k
    dimensions, (r₁ / r₁₀) to the power k is the smallest of nine uniform numbers.  Then r₁ is below
    ε r₁₀ by chance for any of all images with a probability of about 0.01.  A dense class has a
    small r₁₀ of its own, and is not flagged for it.  As (r₅ / r₁₀) to the power k is the fifth of
    these nine, 1/2 in the median, a sample of the images tells k; copies of less than five images
    leave it nearly as it is.

    Nearest neighbours are looked for in a random projection to 64 dimensions, block by block, and
    r₁ is measured in all.  The projection distorts a squared distance by more than 1.8 in one case
    of ten thousand, and an image that it hides is missed.

    Examples
    --------
    >>> features = np.random.default_rng(0).normal(size=(500, 32))
    >>> classes = np.arange(500) % 2
    >>> find_near_copies(features, classes)[0]
    array([], dtype=int64)
    >>> features[499] = features[7] + 0.01
    >>> find_near_copies(features, classes)
    (array([  7, 499]), array([499,   7]))
    """
    alone = others is None
    rows, own = _unit(features)
    classes = np.asarray(classes)[own]
    columns, theirs = (rows, own) if alone else _unit(others)
    other_classes = classes if alone else np.asarray(other_classes)[theirs]
    none = np.zeros(0, np.int64), np.zeros(0, np.int64)
    if len(columns) <= BEHIND or not len(rows):
        return none
    generator = np.random.default_rng(seed)
    sample = np.sort(generator.permutation(len(rows))[:_SAMPLE])
    fifth, tenth = _neighbours(rows[sample], columns, sample if alone else None)
    spread = np.median(fifth / np.maximum(tenth, np.finfo(float).tiny))
    typical = np.median(tenth)
    if not 0 < spread < 1:  # all in one place: nothing is nearer than anything else
        return none
    dimensions = np.log(0.5) / np.log(spread)
    closest = min(CLOSEST, (CHANCE / ((BEHIND - 1) * len(rows))) ** (1 / dimensions))

    small, small_columns = rows, columns
    if rows.shape[1] > _WIDTH:
        projection = generator.normal(size=(rows.shape[1], _WIDTH)) / np.sqrt(_WIDTH)
        small = rows @ projection.astype(np.float32)
        small_columns = small if alone else columns @ projection.astype(np.float32)
    found, nearest = [none[0]], [none[1]]
    bound = _SLACK * (closest * typical) ** 2 + 1e-5  # what rounding in float32 may add
    close = _close(small, small_columns, bound, alone)
    for part, squares in _blocks(small[close], small_columns):
        places = close[part]
        if alone:
            squares[np.arange(len(places)), places] = np.inf
        first = squares.argmin(axis=1)
        distance = np.linalg.norm(rows[places].astype(float) - columns[first], axis=1)
        reach = np.partition(squares, BEHIND - 1, axis=1)[:, BEHIND - 1]
        reach = np.sqrt(np.clip(reach, 0, typical**2))
        for i in np.flatnonzero(distance <= closest * reach):
            fellows = np.flatnonzero(other_classes == classes[places[i]])
            if alone:
                fellows = fellows[fellows != places[i]]
            # of a class of more, the farthest image is farther than the tenth neighbour
            if 0 < len(fellows) < BEHIND:
                apart = np.linalg.norm(rows[places[i]].astype(float) - columns[fellows], axis=1)
                reach[i] = min(reach[i], apart.max())
        kept = distance <= closest * reach
        found.append(own[places[kept]])
        nearest.append(theirs[first[kept]])
    return np.concatenate(found), np.concatenate(nearest)


def _unit(features) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of length one, and which rows they are: those of length 0 have no direction."""
    features = np.asarray(features, np.float32)
    length = np.sqrt(np.einsum("nd,nd->n", features, features))
    kept = np.flatnonzero((length > 0) & np.isfinite(length))
    if len(kept) < len(features):
        features, length = features[kept], length[kept]
    return features / length[:, None], kept


def _neighbours(
    rows: np.ndarray, columns: np.ndarray, same: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the distances of the fifth and the tenth neighbour of each row."""
    squares = np.maximum(2 - 2 * (rows @ columns.T), 0)
    if same is not None:
        squares[np.arange(len(rows)), same] = np.inf
    ranks = [BEHIND // 2 - 1, BEHIND - 1]
    fifth, tenth = np.sqrt(np.partition(squares, ranks, axis=1)[:, ranks].astype(float)).T
    return fifth, tenth


def _close(rows: np.ndarray, columns: np.ndarray, bound: float, same: bool) -> np.ndarray:
    """Return which rows have a column, another one than themselves, within a squared distance."""
    close = np.zeros(len(rows), bool)
    for part, squares in _blocks(rows, columns, beyond=same):
        if same:  # each pair is seen once, from its first image
            squares[np.arange(len(squares)), np.arange(len(squares))] = np.inf
            close[part.start :] |= squares.min(axis=0) <= bound
        close[part] |= squares.min(axis=1) <= bound
    return np.flatnonzero(close)


def _blocks(
    rows: np.ndarray, columns: np.ndarray, *, beyond: bool = False
) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield the squared distances of some rows from all columns, or from those not before them."""
    # the lengths are part of the product, so that the distances are written once
    theirs = np.column_stack([columns, np.einsum("nd,nd->n", columns, columns)])
    theirs = np.column_stack([theirs, np.ones(len(columns), np.float32)]).T
    size = max(1, min(_BLOCK, _CELLS // len(columns)))
    for start in range(0, len(rows), size):
        part = rows[start : start + size]
        own = np.einsum("nd,nd->n", part, part)
        part = np.column_stack([-2 * part, np.ones(len(part), np.float32), own])
        yield slice(start, start + len(part)), part @ theirs[:, start if beyond else 0 :]
