"""The normalisation of pixels: the mean and the standard deviation of each channel."""

from __future__ import annotations

import numpy as np


def channel_statistics(images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean and the standard deviation of each channel of uint8 images [N, H, W, 3].

    The deviation is at least 1e-6, so that a constant channel can be divided by it.

    >>> channel_statistics(np.full((1, 2, 2, 3), 7, np.uint8))[0]
    array([7., 7., 7.])
    """
    # float64 sums over counts of the 256 values: exact, and no float copy of the images
    channels = [np.bincount(images[..., channel].ravel(), minlength=256) for channel in range(3)]
    counts = np.stack(channels)
    values = np.arange(256.0)
    total = counts.sum(axis=1)
    mean = counts @ values / total
    variance = counts @ values**2 / total - mean**2
    return mean, np.sqrt(variance) + 1e-6
