"""A model to audit for whoever brings none: a published network on images that are at hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from helpers import data
from helpers.networks import zoo
from known_unknowns.auditing.folders import images_of
from known_unknowns.auditing.inputs import Inputs, unlabelled
from known_unknowns.auditing.networks import show_images


def example(
    network: str,
    images: str,
    *,
    ood: Sequence[str],
    met: Sequence[str],
    families: int = 30,
    seed: int = 0,
) -> Inputs:
    """Return the inputs of an audit of a published network, and what became of its promises.

    Half of the test images are for validation.  The other half and sets that the audit is not
    shown are what the network meets later: its unlabelled images, whose labels are held back.

    Parameters
    ----------
    network : str
        One of `helpers.networks.published.records`.
    images : str
        The data set that it was trained on, or a part of it, with the splits train and test.
    ood, met : sequence of str
        Data sets of unknown images: those that somebody brings to the audit, and those that turn
        up later.  Any number of the first, at least one of the others.
    families : int
        Generated families that the prediction without labels learns from; none of them is met.
    seed : int
        Of what is drawn.

    Raises
    ------
    FileNotFoundError
        A file of the network or of a data set is not there: says where to put it.
    ValueError
        An unknown name; a set that shows a class of the network; none to be met.
    """
    if not met:
        raise ValueError("met: at least one data set expected, to be mixed with new images")
    whole = data.load(images, "test")
    size = whole.images.shape[1]
    sets = [images_of(name, size=size) for name in (*ood, *met)]
    found = show_images(
        zoo.load(network, progress=False),
        whole,
        train=data.load(images, "train"),
        ood=sets,  # all of them, so that no family is one of these
        production=sets[-1],
        families=families,
        seed=seed,
    )
    order = np.random.default_rng(seed).permutation(len(whole))
    first, second = np.sort(order[: len(whole) // 2]), np.sort(order[len(whole) // 2 :])
    brought, later = sets[: len(ood)], sets[len(ood) :]
    held_back = {"new": found.validation.subset(second)}
    held_back |= {one.name: found.ood[one.name] for one in later}
    return replace(
        found,
        validation=found.validation.subset(first),
        images=whole.subset(first),
        files=tuple(found.files[place] for place in first),
        ood={one.name: found.ood[one.name] for one in brought},
        production=unlabelled(list(held_back.values())),
        held_back=held_back,
    )
