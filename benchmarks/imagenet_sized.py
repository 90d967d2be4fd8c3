"""Outputs as large as those of a ResNet-50 on ImageNet, drawn at random."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from helpers.outputs import Head, Outputs

FEATURES, CLASSES = 2048, 1000


def head() -> Head:
    """Return a head whose classes share their features, as those of a network do."""
    generator = np.random.default_rng(0)
    weight = generator.normal(size=(CLASSES, FEATURES)) / np.sqrt(FEATURES)
    return Head(weight.astype(np.float32), generator.normal(size=CLASSES).astype(np.float32) / 10)


def outputs(count: int, seed: int, folder: Path | None = None) -> Outputs:
    """Return outputs, in memory or mapped from files in a folder: features as a ReLU leaves them.

    Classes follow one another over and over, so that any first images have all of them.
    """
    generator, last = np.random.default_rng(seed), head()
    labels = np.arange(count) % CLASSES
    arrays = []
    for name, width in (("logits", CLASSES), ("features", FEATURES)):
        if folder is None:
            arrays.append(np.empty((count, width), np.float32))
        else:
            path = folder / f"{name}_{seed}.npy"
            arrays.append(np.lib.format.open_memmap(path, "w+", np.float32, (count, width)))
    logits, features = arrays
    for start in range(0, count, 4096):
        rows = slice(start, start + 4096)
        noise = generator.standard_normal((len(labels[rows]), FEATURES), dtype=np.float32)
        features[rows] = np.maximum(noise + 10 * last.weight[labels[rows]], 0)
        logits[rows] = features[rows] @ last.weight.T + last.bias
    if folder is not None:
        paths = [array.filename for array in arrays]
        del arrays, logits, features
        logits, features = (np.load(path, mmap_mode="r") for path in paths)
    return Outputs(logits, features, labels)
