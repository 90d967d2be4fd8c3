"""The protocol of *A Unified Benchmark for the Unknown Detection Capability of DNNs*.

Kim, Koo and Hwang (2023): nine methods rank correctly classified ID test images above
misclassified, near-OOD and far-OOD ones.  `detectors` makes the methods, `selection` chooses their
hyper-parameters, `evaluation` measures them.
"""

from helpers.experiments.unknown_detection.detectors import Detector, detector, recipe_of
from helpers.experiments.unknown_detection.evaluation import (
    PAPER,
    VARIANTS,
    evaluate,
    judge,
    measure,
    parts,
    sweep,
)

__all__ = [
    "PAPER",
    "VARIANTS",
    "Detector",
    "detector",
    "evaluate",
    "judge",
    "measure",
    "parts",
    "recipe_of",
    "sweep",
]
