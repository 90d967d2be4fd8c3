"""Roles in *A Unified Benchmark for the Unknown Detection Capability of Deep Neural Networks*.

Kim, Koo and Hwang (2023): some classes are in-distribution, others like them near-OOD; other data
sets are far-OOD; an external set, disjoint from all of these, is for training with outliers and
for choosing hyper-parameters.
"""

from __future__ import annotations

from collections.abc import Sequence

from helpers.benchmarks.unknown_detection import cifar, imagenet
from helpers.benchmarks.unknown_detection.cifar import check_disjoint, draw_known, superclasses_of
from helpers.benchmarks.unknown_detection.protocol import METHODS, Protocol, Roles, Visible

__all__ = [
    "METHODS",
    "Protocol",
    "Roles",
    "Visible",
    "check_disjoint",
    "draw_known",
    "roles",
    "superclasses_of",
]


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
