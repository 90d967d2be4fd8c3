"""The outputs and scores of a model on the images of each role."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from helpers import scores
from helpers.data import Images, ImageStream
from helpers.networks.model import Model
from helpers.outputs import Outputs
from helpers.scores import calibration
from helpers.scores.info import lacking

if TYPE_CHECKING:
    from helpers.scores import Score

BESIDE = ("rnd", "oc")
"""Algorithms that learn beside the baseline's classifier, from its seeds.

All but the native measure would be the baseline's numbers a second time, and would count as much
as another algorithm's in what is said of all of them.
"""


@dataclass(frozen=True)
class ModelOutputs:
    """The images of each role, and the outputs of a model."""

    model: Model
    train: Outputs
    images: Mapping[str, Images | ImageStream]
    outputs: Mapping[str, Outputs]
    near: tuple[str, ...]
    far: tuple[str, ...]
    families: tuple[str, ...]

    @property
    def unknown(self) -> tuple[str, ...]:
        """Names of all sets of unknown images that are tested."""
        return (*self.near, *self.far)

    @cached_property
    def correct(self) -> dict[str, np.ndarray]:
        """Which images of each test set are classified correctly, bool."""
        return {name: self.outputs[name].correct for name in ("test", *self.unknown)}

    @cached_property
    def temperature(self) -> float:
        """The temperature of the logits, fitted to the validation images, which are all known."""
        held = self.outputs["validation"]
        return calibration.fit_temperature(logarithms(held), held.labels)

    def scaled(self, outputs: Outputs) -> np.ndarray:
        """Return the probabilities of the classes after division by the `temperature`."""
        return calibration.softmax(logarithms(outputs), self.temperature)

    def applies(self, name: str) -> bool:
        """Return whether a score can be computed for the model and differs from the baseline's."""
        if self.model.name in BESIDE and name != "native":
            return False
        needs = scores.create(name).info.needs
        return not lacking(needs, self.model, self.outputs["test"])

    def cost(self, score: Score) -> int:
        """Return the passes per image with a score; a backward pass counts as a forward pass."""
        again = "images" in score.info.needs
        return self.model.cost * (score.passes(self.outputs["test"].num_classes) if again else 1)

    def score(self, score: Score) -> dict[str, np.ndarray]:
        """Fit a score that `applies` to the training images, and apply it to all images."""
        if score.info.fits:
            score.fit(self.train, self.model.head)
        return {
            name: scores.score(score, self.model, self.images[name], outputs)
            for name, outputs in self.outputs.items()
        }


def logarithms(outputs: Outputs) -> np.ndarray:
    """Return the logarithms of the probabilities: logits, also for several members."""
    return np.log(np.maximum(outputs.probabilities, np.finfo(np.float32).tiny))  # none of 0
