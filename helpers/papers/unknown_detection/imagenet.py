"""The benchmark of photographs: ImageNet and others as folders of images, streamed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from helpers import data
from helpers.data import ImageStream, class_roles
from helpers.papers.unknown_detection.protocol import Protocol, Roles, limited

TRAIN, HELD_OUT = 1250, 50
"""Images of each class that train, and that are held out; fewer train where there are fewer."""


def roles(
    external: Sequence[str],
    far: Sequence[str],
    protocol: Protocol,
    *,
    aside: Sequence[str] = (),
    resized: str = "",
) -> Roles:
    """Give each photograph its role; no image is held in memory.

    In-distribution are the 200 classes of Tiny ImageNet, near-OOD 200 of those that WordNet says
    are near to them, external those that are not; training and held-out images come from
    ImageNet's training part, test images from its validation part (see
    `helpers.data.class_roles.imagenet`).

    Parameters
    ----------
    external : sequence of str
        ``["imagenet"]``: the benchmark has no other.
    far : sequence of str
        Of ``food101``, ``caltech256`` and ``places365``: their classes that overlap with none of
        ImageNet's, and at most `Protocol.far_images` of each set.
    protocol : Protocol
    aside, resized
        Not part of this benchmark.

    Raises
    ------
    FileNotFoundError
        A folder is not there.
    ValueError
        Another external set or a set aside; a class has too few images, or none.
    """
    if list(external) != ["imagenet"] or aside or resized:
        raise ValueError("external, aside, resized: ['imagenet'], none and none expected")
    train, test = (data.open_stream("imagenet", split) for split in ("train", "val"))
    table = class_roles.imagenet(seed=protocol.seed)
    names = dict(zip(table["wnid"], table["name"], strict=True))
    known, near, others = (
        table.loc[table["role"] == role, "wnid"].tolist()
        for role in ("in-distribution", "near", "external")
    )
    seen, held = _shares(train.select(known), protocol.seed)
    outside, held_outside = _shares(train.select(others), protocol.seed)
    removed, apart = {}, {}
    for name in far:
        classes = class_roles.far(name)
        removed[name] = tuple(classes.loc[classes["role"] == "removed", "name"])
        left = classes.loc[classes["role"] == "far", "name"].str.replace("/", "_")  # bakery/shop
        stream = data.open_stream(name, "test").select(left)
        apart[name] = limited(stream, protocol.far_images, seed=protocol.seed)
    return Roles(
        known=tuple(names[wnid] for wnid in known),
        near_classes=tuple(names[wnid] for wnid in near),
        superclass_of={},
        train=seen,
        validation=held,
        test=test.select(known),
        external=outside.unknown(),
        external_validation=limited(
            held_outside.unknown(), protocol.external_validation, seed=protocol.seed
        ),
        near=test.select(near),
        far=apart,
        aside={},
        removed=removed,
    )


def _shares(stream: ImageStream, seed: int) -> tuple[ImageStream, ImageStream]:
    """Return the images of each class that train, and those that are held out."""
    generator = np.random.default_rng(seed)
    role = np.zeros(len(stream), np.int64)
    for label, name in enumerate(stream.class_names):
        members = generator.permutation(np.flatnonzero(stream.labels == label))
        if len(members) <= HELD_OUT:
            raise ValueError(
                f"image folder {stream.root}: more than {HELD_OUT} images of class {name} "
                f"expected, got {len(members)}"
            )
        role[members[:HELD_OUT]] = 2
        role[members[HELD_OUT : HELD_OUT + TRAIN]] = 1
    return stream.subset(role == 1), stream.subset(role == 2)
