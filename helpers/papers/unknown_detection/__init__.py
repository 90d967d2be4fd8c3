"""The protocol of *A Unified Benchmark for the Unknown Detection Capability of DNNs*.

Kim, Koo and Hwang (2023): nine methods rank correctly classified ID test images above
misclassified, near-OOD and far-OOD ones.  `detectors` makes the methods, `selection` chooses their
hyper-parameters, `experiment` measures them.
"""

from helpers.papers.unknown_detection.cifar import check_disjoint, draw_known, superclasses_of
from helpers.papers.unknown_detection.detectors import Detector, detector, recipe_of
from helpers.papers.unknown_detection.experiment import (
    PAPER,
    VARIANTS,
    evaluate,
    judge,
    measure,
    parts,
    sweep,
)
from helpers.papers.unknown_detection.protocol import METHODS, Protocol, Roles, Visible
from helpers.papers.unknown_detection.roles import roles

__all__ = [
    "METHODS",
    "PAPER",
    "VARIANTS",
    "Detector",
    "Protocol",
    "Roles",
    "Visible",
    "check_disjoint",
    "detector",
    "draw_known",
    "evaluate",
    "judge",
    "measure",
    "parts",
    "recipe_of",
    "roles",
    "superclasses_of",
    "sweep",
]
