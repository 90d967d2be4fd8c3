"""ODIN: a temperature and a step of the image, chosen on held-out images."""

from __future__ import annotations

from typing import TYPE_CHECKING

from helpers.papers.unknown_detection.method import Method

if TYPE_CHECKING:
    from helpers.networks.model import Model
    from helpers.papers.unknown_detection.detectors import Detector
    from helpers.papers.unknown_detection.parameters import Parameters
    from helpers.papers.unknown_detection.roles import Benchmark


def detect(parameters: Parameters, benchmark: Benchmark, model: Model) -> Detector:
    """Choose temperature and step, and score with them."""
    from helpers import scores
    from helpers.papers.unknown_detection import detectors, selection

    grid = selection.odin_grid(parameters, model, benchmark.visible)
    chosen = dict(zip(("temperature", "epsilon"), selection.best(grid), strict=True))
    return detectors.by_score(model, scores.create("odin", **chosen), chosen)


METHOD = Method("ODIN", key="liang2018", place=7, networks_of="baseline", detect=detect)
