"""Images drawn by chance, the same ones for the same seed."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from helpers.data.images import Images
from helpers.data.stream import ImageStream

_Set = TypeVar("_Set", Images, ImageStream, Images | ImageStream)


def hold_out(labels: np.ndarray, share: float, *, run: int, seed: int) -> np.ndarray:
    """Choose a share of the images of each class at random.

    Examples
    --------
    >>> hold_out(np.repeat([0, 1], 10), 0.1, run=0, seed=0).sum()
    np.int64(2)
    """
    generator = np.random.default_rng([seed, run, 1])
    held = np.zeros(len(labels), dtype=bool)
    for label in np.unique(labels):
        members = generator.permutation(np.flatnonzero(labels == label))
        held[members[: max(round(share * len(members)), 1)]] = True
    return held


def choose_of_each(labels: np.ndarray, most: int, seed: int) -> np.ndarray:
    """Return the sorted indices of at most `most` images per class, chosen at random."""
    order = np.random.default_rng(seed).permutation(len(labels))
    ranked = order[np.argsort(labels[order], kind="stable")]
    starts = np.searchsorted(labels[ranked], labels[ranked])
    return np.sort(ranked[np.arange(len(ranked)) - starts < most])


def subsample(images: _Set, most: int, *, seed: int) -> _Set:
    """Return at most `most` images, chosen at random, in their original order."""
    if len(images) <= most:
        return images
    return images.subset(np.sort(np.random.default_rng(seed).permutation(len(images))[:most]))
