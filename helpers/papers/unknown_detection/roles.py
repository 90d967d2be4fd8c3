"""The roles of the images, on either of the two benchmarks."""

from __future__ import annotations

from collections.abc import Sequence

from helpers.papers.unknown_detection import cifar, imagenet
from helpers.papers.unknown_detection.protocol import Protocol, Roles


def roles(
    data_set: str,
    external: Sequence[str],
    far: Sequence[str],
    protocol: Protocol,
    *,
    aside: Sequence[str] = (),
    resized: str = "",
    download: bool = False,
) -> Roles:
    """Load the data sets and give each image its role.

    Parameters
    ----------
    data_set : str
        In-distribution and near-OOD: ``imagenet``, or a data set of small images.
    external, far, aside, resized, download
        See `cifar.roles` and `imagenet.roles`.
    protocol : Protocol
    """
    if data_set == "imagenet":
        return imagenet.roles(external, far, protocol, aside=aside, resized=resized)
    return cifar.roles(
        data_set, external, far, protocol, aside=aside, resized=resized, download=download
    )
