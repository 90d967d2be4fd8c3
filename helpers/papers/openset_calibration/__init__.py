"""The protocol of *Evaluating Uncertainty Calibration for Open-Set Recognition*."""

from helpers.papers.openset_calibration.roles import SETTINGS, Protocol

__all__ = [
    "SETTINGS",
    "Protocol",
]
