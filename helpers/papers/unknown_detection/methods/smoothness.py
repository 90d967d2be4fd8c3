"""How smooth an image is from pixel to pixel, which asks no network at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from helpers.papers.unknown_detection.method import Method

if TYPE_CHECKING:
    from helpers.data import Images
    from helpers.networks.model import Model
    from helpers.papers.unknown_detection.detectors import Detector
    from helpers.papers.unknown_detection.parameters import Parameters
    from helpers.papers.unknown_detection.roles import Benchmark


def detect(parameters: Parameters, benchmark: Benchmark, model: Model) -> Detector:
    """Return the smoothness of images in memory; the answers are the baseline's."""
    from helpers.data.pixels import smoothness
    from helpers.papers.unknown_detection.detectors import Answer, Detector

    def answer(images: Images) -> Answer:
        pixels = images.pictures(np.arange(len(images)))  # of the images, whatever a network sees
        return Answer(smoothness(pixels), model.outputs(images).correct)

    return Detector(model, answer)


METHOD = Method(
    "Smoothness of the image", key="", networks_of="baseline", detect=detect,
    aside=lambda parameters: not parameters.streamed,
)  # fmt: skip
