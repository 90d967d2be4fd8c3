"""A model to audit for whoever brings none: a real one where it is at hand, else a small one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from helpers import data
from helpers.audit.inputs import Inputs
from helpers.audit.networks import show_images
from helpers.data import Images, concatenate
from helpers.networks import zoo
from helpers.networks.recipe import Recipe
from helpers.papers.unknown_detection import roles as benchmark
from helpers.papers.unknown_detection.protocol import Protocol
from helpers.training.fitted import fit

MODEL, IMAGES = "tf_efficientnet_lite0", "imagenet_sample_224"
"""The real model, and one image of each of its thousand classes."""
PACKS = ("dtd_subset", "planet_maps", "chars74k_natural", "brain_mri")
"""Its sets of unknown images; half of the last one is unlabelled."""

RECIPE = Recipe(
    depth=8, width=16, stem_stride=2, objective="outlier_exposure", epochs=20, batch_size=32,
    milestones=(0.6, 0.8),
)  # fmt: skip
"""Of the small network, one of those of the chapter on unknown detection: trained once for both."""
PROTOCOL = Protocol(
    superclasses={
        "animal": ["bird", "cat", "deer", "dog", "frog", "horse"],
        "vehicle": ["airplane", "automobile", "ship", "truck"],
    },
    validation_share=0.1,
    external_validation=500,
    far_images=500,
)
EXTERNAL = ("plasma", "terrain", "voronoi", "gratings", "bubbles", "mazes")
FAR = ("digits", "photographs", "woodgrain", "polygons")


def example(*, families: int = 30, seed: int = 0, progress: bool = True) -> Inputs:
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
    progress : bool
        Show a progress bar while training.
    """
    try:
        network = zoo.load(MODEL, progress=False)
        whole = data.load(IMAGES, "sample")
        sets = [data.load(name, "test") for name in PACKS]
    except FileNotFoundError:
        return _small(families, seed, progress)
    validation, rest = _divided(whole, 0.8, seed)
    last, unlabelled = _divided(sets[-1], 0.5, seed)
    size = whole.images.shape[1]
    return show_images(
        network,
        validation,
        ood=[*sets[:-1], last],
        production=concatenate([rest, unlabelled.resize(size)], "unlabelled"),
        families=families,
        seed=seed,
    )


def _small(families: int, seed: int, progress: bool) -> Inputs:
    roles = benchmark.roles("cifar10_mini", EXTERNAL, FAR, PROTOCOL)
    network = fit(roles.train, RECIPE, outliers=roles.external, progress=progress)
    # the network has learnt from neither
    validation, rest = _divided(concatenate([roles.test, roles.validation], "known"), 0.8, seed)
    near, unlabelled = _divided(roles.near, 0.8, seed)
    return show_images(
        network,
        validation,
        train=roles.train,
        ood=[replace(near, name="near"), *roles.far.values()],
        production=concatenate([rest, unlabelled], "unlabelled"),
        families=families,
        seed=seed,
    )


def _divided(images: Images, share: float, seed: int) -> tuple[Images, Images]:
    """Divide images by chance."""
    order = np.random.default_rng(seed).permutation(len(images))
    count = round(share * len(images))
    return images.subset(np.sort(order[:count])), images.subset(np.sort(order[count:]))
