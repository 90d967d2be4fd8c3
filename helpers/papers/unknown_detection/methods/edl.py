"""Evidential deep learning, with the confidence that the benchmark's code takes, and its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from helpers.papers.unknown_detection.method import Method

if TYPE_CHECKING:
    from helpers.data import Images
    from helpers.networks.model import Model
    from helpers.papers.unknown_detection.detectors import Answer, Detector
    from helpers.papers.unknown_detection.parameters import Parameters
    from helpers.papers.unknown_detection.roles import Benchmark


def evidence(parameters: Parameters, benchmark: Benchmark, model: Model) -> Detector:
    """Return an EDL detector whose confidence is that of its Dirichlet distributions.

    The expected probability of the predicted class, alpha / S, instead of the softmax that the
    benchmark's code takes.
    """
    from helpers.papers.unknown_detection.detectors import Answer, Detector

    def answer(images: Images) -> Answer:
        found = model.outputs(images)
        alpha = np.exp(np.clip(found.logits.astype(np.float64), -10, 10)) + 1
        return Answer(alpha.max(axis=1) / alpha.sum(axis=1), found.correct)

    return Detector(model, answer)


METHOD = Method(
    "EDL", key="sensoy2018", place=3, recipe={"objective": "edl"}, variants={"evidence": evidence}
)
