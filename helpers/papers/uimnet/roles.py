"""The images of each role: in-domain and out-domain, as listed or as published.

A random tenth of the in-domain training images, which depends on the data seed, is for validation.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from helpers import data
from helpers.data import Images, ImageStream, class_lists
from helpers.papers.run import Part
from helpers.papers.uimnet.parameters import PUBLISHED, Parameters


@dataclass(frozen=True)
class DomainSplit:
    """The images of one data seed.

    Label k of the in-domain sets ``train``, ``validation`` and ``test`` is ``in_domain[k]``.  The
    test images of out-domain classes, ``out``, have label −1.
    """

    in_domain: tuple[str, ...]
    out_domain: tuple[str, ...]
    train: Images | ImageStream
    validation: Images | ImageStream
    test: Images | ImageStream
    out: Images | ImageStream


def load_images(parameters: Parameters, name: str) -> Images | ImageStream:
    """Return the images of all classes in one split of the data set."""
    if parameters.data_set == PUBLISHED:
        return data.open_stream(parameters.data_set, name)
    return data.load(parameters.data_set, name, download=parameters.download)


def roles(parameters: Parameters, part: Part | None = None) -> dict[int, DomainSplit]:
    """Return the roles of the images by data seed, which are equal for all parts of a network."""
    return {seed: split(parameters, seed) for seed in range(parameters.runs)}


def split(parameters: Parameters, data_seed: int) -> DomainSplit:
    """Return the images of one data seed."""
    splits = data.splits(parameters.data_set)
    seen = load_images(parameters, "train")
    unseen = load_images(parameters, "test" if "test" in splits else splits[-1])
    in_domain, out_domain = _domains(parameters, seen.class_names)
    seen = seen.select(in_domain)
    validates = held_out(parameters, data_seed, len(seen))
    return DomainSplit(
        in_domain=in_domain,
        out_domain=out_domain,
        train=seen.subset(~validates),
        validation=seen.subset(validates),
        test=unseen.select(in_domain),
        out=unseen.select(out_domain).unknown(),
    )


def held_out(parameters: Parameters, data_seed: int, images: int) -> np.ndarray:
    """Return which in-domain training images are for validation, bool [images].

    They are the first of a random order of the images of all classes together.
    """
    order = np.random.default_rng([parameters.seed, data_seed]).permutation(images)
    return order.argsort() < max(round(parameters.validation_share * images), 1)


def _domains(
    parameters: Parameters, class_names: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return in-domain and out-domain classes: as listed, or as published."""
    if parameters.in_domain:
        listed = tuple(parameters.in_domain)
        others = [name for name in class_names if name not in listed]
        return listed, tuple(others[: len(listed)])
    return class_lists.imagenot()
