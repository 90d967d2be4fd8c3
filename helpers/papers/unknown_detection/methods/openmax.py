"""OpenMax: K + 1 answers, "unknown" among them; its parameters are chosen on held-out images."""

from __future__ import annotations

from typing import TYPE_CHECKING

from helpers.papers.unknown_detection.authors import AUTHORS
from helpers.papers.unknown_detection.method import Method

if TYPE_CHECKING:
    from helpers.data import Images
    from helpers.networks.model import Model
    from helpers.papers.unknown_detection.detectors import Answer, Detector
    from helpers.papers.unknown_detection.parameters import Parameters
    from helpers.papers.unknown_detection.roles import Benchmark
    from helpers.scores.openset import OpenMax


def detect(parameters: Parameters, benchmark: Benchmark, model: Model) -> Detector:
    """Choose the number of revised logits and the tail's length, and fit with them."""
    from helpers.scores.openset import OpenMax

    return _detect(parameters, benchmark, model, OpenMax)


def detect_flat(parameters: Parameters, benchmark: Benchmark, model: Model) -> Detector:
    """Do the same by the rule of the authors' code on CIFAR, one factor for all ranks."""
    from helpers.papers.unknown_detection.selection import FlatOpenMax

    return _detect(parameters, benchmark, model, FlatOpenMax)


def _detect(
    parameters: Parameters, benchmark: Benchmark, model: Model, kind: type[OpenMax]
) -> Detector:
    from helpers.papers.unknown_detection import selection
    from helpers.papers.unknown_detection.detectors import Answer, Detector
    from helpers.scores.openset import openmax_answer

    grid = selection.openmax_grid(parameters, model, benchmark.visible, kind)
    alpha, tail = selection.best(grid)
    train = model.outputs(benchmark.train)
    rule = selection.openmax(train, alpha, tail, parameters.distance, kind)

    def answer(images: Images) -> Answer:
        found = model.outputs(images)
        probabilities = rule.probabilities(found.logits)
        answers = openmax_answer(probabilities)
        # "unknown" is a wrong answer to an image of a known class, and no right one to the others
        return Answer(1 - probabilities[:, -1], (answers == found.labels) & (found.labels >= 0))

    return Detector(model, answer, {"alpha": alpha, "tail": tail})


METHOD = Method(
    "OpenMax", key="bendale2016", place=9, networks_of="baseline", detect=detect,
    variants={AUTHORS: detect_flat},
)  # fmt: skip
