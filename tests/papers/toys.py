"""Toy images, and results tables of them, that the tests of all papers share."""

import numpy as np
import pytest

from helpers.data import Images, write_pack
from helpers.papers import load, run
from tests.mistakes import beside

TINY = beside(__file__, "tiny.yaml")


def tiny(part, paper):
    """Return a paper's parameters of tier mini with the values of `tiny.yaml`."""
    return load(paper, "mini").replace(**TINY[part][paper])


#: Values of `load` for a training of unknown detection that takes seconds.
SHORT = TINY["roles"]["unknown_detection"] | TINY["short"]


def images(n, seed=0, name="tiny", *, classes=("a", "b", "c"), shade=None):
    """Return images with the brightness of their class; if they have one shade, of no class."""
    generator = np.random.default_rng(seed)
    labels = np.arange(n) % len(classes)
    level = 80 * labels if shade is None else np.full(n, shade)
    level = (level + generator.normal(0, 30, n)).clip(0, 200).astype(int)
    pixels = generator.integers(0, 40, (n, 16, 16, 3)) + level[:, None, None, None]
    labels = labels if shade is None else np.full(n, -1)
    return Images(pixels.astype(np.uint8), labels, classes, name, "test")


def pack(root, name, class_names, splits, size=32, **coarse):
    """Write a data set of noise, of each class as many images as a split has."""
    generator = np.random.default_rng(list(name.encode()))
    parts = {}
    for split, each in splits.items():
        labels = np.repeat(np.arange(len(class_names)), each)
        pixels = generator.integers(0, 256, (len(labels), size, size, 3), dtype=np.uint8)
        parts[split] = (pixels, labels.tolist(), *([(labels // 2).tolist()] if coarse else []))
    more = {"splits": parts, "origin": {"title": name.title()}, **coarse}
    write_pack(root / f"{name}.zip", name=name, class_names=class_names, **more)


def pixels_of(images):
    """Return the set of all images, to compare it with other sets."""
    return {image.tobytes() for image in images.images}


def rows(experiment, roles, parameters):
    """Return the results table of an experiment whose roles are given."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(experiment, "roles", lambda *_: roles)
        return run.rows(parameters, progress=False)
