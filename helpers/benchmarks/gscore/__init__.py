"""Roles in *Unsupervised Evaluation of Out-of-distribution Detection: A Data-centric Perspective*.

Zhang, Deng and Zheng (2023): how good a detector is on images without labels is foretold from its
scores alone, by a regression over many sets of unknown images for which the truth is known.
"""

from helpers.benchmarks.gscore.mixtures import drawn_sizes, in_ratio, places
from helpers.benchmarks.gscore.protocol import DETECTORS, Protocol
from helpers.benchmarks.gscore.suite import Roles, gbench, pack_name, shared_classes, suite

__all__ = [
    "DETECTORS",
    "Protocol",
    "Roles",
    "drawn_sizes",
    "gbench",
    "in_ratio",
    "pack_name",
    "places",
    "shared_classes",
    "suite",
]
