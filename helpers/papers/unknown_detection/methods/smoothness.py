"""How smooth an image is from pixel to pixel, which asks no network at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from helpers.papers.unknown_detection.method import Method

if TYPE_CHECKING:
    from helpers.networks.model import Model
    from helpers.papers.unknown_detection.detectors import Detector
    from helpers.papers.unknown_detection.parameters import Parameters
    from helpers.papers.unknown_detection.roles import Benchmark


def detect(parameters: Parameters, benchmark: Benchmark, model: Model) -> Detector:
    """Return the smoothness of images in memory; the answers are the baseline's."""
    from helpers.data import Images
    from helpers.data.pixels import smoothness
    from helpers.papers.unknown_detection.detectors import Answer, Detector

    def answer(images: Images) -> Answer:
        if not isinstance(images, Images):  # whose pictures are resized, which is what it looks for
            raise TypeError("smoothness: images as they are stored expected, got photographs")
        pixels = images.pictures(np.arange(len(images)))  # of the images, whatever a network sees
        return Answer(smoothness(pixels), model.outputs(images).correct)

    return Detector(model, answer)


METHOD = Method(
    "Smoothness of the image", key="", networks_of="baseline", detect=detect,
    aside=lambda parameters: not parameters.streamed,
)  # fmt: skip
