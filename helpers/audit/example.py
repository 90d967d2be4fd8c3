"""A model to audit for whoever brings none: a real one where it is at hand, else a small one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from helpers import data
from helpers.audit.inputs import Inputs
from helpers.audit.networks import show_images
from helpers.data import Images, concatenate
from helpers.networks import zoo
from helpers.papers.parameters import load
from helpers.papers.unknown_detection.detectors import train_method
from helpers.papers.unknown_detection.roles import roles

MODEL, IMAGES = "tf_efficientnet_lite0", "imagenet_sample_224"
"""The real model, and one image of each of its thousand classes."""
PACKS = ("dtd_subset", "planet_maps", "chars74k_natural", "brain_mri")
"""Its sets of unknown images; half of the last one is unlabelled."""


def example(*, families: int = 30, seed: int = 0) -> Inputs:
    """Return the inputs of an audit of a model of this book.

    EfficientNet-Lite0 on photographs of ImageNet's thousand classes, where its weights (the extra
    ``zoo``) and the packs are there.  Else a ResNet-8 that has learnt five classes of the embedded
    images; the five others are unknown.

    Parameters
    ----------
    families : int
        Generated families that the prediction without labels learns from.
    seed : int
        Of what is drawn.
    """
    try:
        network = zoo.load(MODEL, progress=False)
        whole = data.load(IMAGES, "sample")
        sets = [data.load(name, "test") for name in PACKS]
    except FileNotFoundError:
        return _small(families, seed)
    validation, rest = _divide(whole, 0.8, seed)
    last, unlabelled = _divide(sets[-1], 0.5, seed)
    size = whole.images.shape[1]
    return show_images(
        network,
        validation,
        ood=[*sets[:-1], last],
        production=concatenate([rest, unlabelled.resize(size)], "unlabelled"),
        families=families,
        seed=seed,
    )


def _small(families: int, seed: int) -> Inputs:
    """Take a network of the chapter on unknown detection: trained once for both."""
    parameters = load("unknown_detection", "mini")
    benchmark = roles(parameters)
    (network,) = train_method(parameters, benchmark, "outlier_exposure", run=0).networks
    # the network has learnt from neither
    known = concatenate([benchmark.test, benchmark.validation], "known")
    validation, rest = _divide(known, 0.8, seed)
    near, unlabelled = _divide(benchmark.near, 0.8, seed)
    return show_images(
        network,
        validation,
        train=benchmark.train,
        ood=[replace(near, name="near"), *benchmark.far.values()],
        production=concatenate([rest, unlabelled], "unlabelled"),
        families=families,
        seed=seed,
    )


def _divide(images: Images, share: float, seed: int) -> tuple[Images, Images]:
    """Divide images by chance."""
    order = np.random.default_rng(seed).permutation(len(images))
    count = round(share * len(images))
    return images.subset(np.sort(order[:count])), images.subset(np.sort(order[count:]))
