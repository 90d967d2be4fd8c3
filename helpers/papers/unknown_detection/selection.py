"""Hyper-parameters of ODIN and OpenMax, chosen without a look at the test.

Everything here is given a `Visible`, which has no test images: the pair is taken whose score tells
held-out ID from held-out external images best, by AUROC, as in the paper's code.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from helpers import metrics
from helpers.networks.model import Model
from helpers.outputs import Outputs
from helpers.papers.unknown_detection.authors import FLAT
from helpers.papers.unknown_detection.roles import Visible
from helpers.scores.calibration import softmax
from helpers.scores.gradients import ODIN
from helpers.scores.openset import OpenMax

if TYPE_CHECKING:
    from helpers.papers.unknown_detection.parameters import Parameters


def odin_grid(parameters: Parameters, model: Model, visible: Visible) -> dict[tuple, float]:
    """Return the AUROC of held-out ID against external images for each pair of ODIN's."""
    found = {}
    for temperature in parameters.temperatures:
        score = ODIN(temperature)
        known, external = (
            score.stepped(model, images, parameters.epsilons)
            for images in (visible.validation, visible.external_validation)
        )
        for number, epsilon in enumerate(parameters.epsilons):
            found[temperature, epsilon] = metrics.auroc(
                softmax(known[number], temperature).max(axis=1),
                softmax(external[number], temperature).max(axis=1),
            )
    return found


class FlatOpenMax(OpenMax):
    """OpenMax as the authors' code has it on CIFAR: the same factor for all ranks."""

    def rank_weights(self, alpha: int) -> np.ndarray:
        """Return the factor of F for each rank that is revised."""
        return np.full(alpha, FLAT)


def openmax_grid(
    parameters: Parameters, model: Model, visible: Visible, kind: type[OpenMax] = OpenMax
) -> dict[tuple, float]:
    """Return the same for each pair of OpenMax's: number of revised logits, length of the tail."""
    train, known, external = (
        model.outputs(images)
        for images in (visible.train, visible.validation, visible.external_validation)
    )
    alphas = sorted({min(alpha, train.num_classes) for alpha in parameters.alphas})
    found = {}
    for tail in parameters.tails:
        rule = openmax(train, alphas[0], tail, parameters.distance, kind)
        for rule.alpha in alphas:  # it does not enter the fit
            scores = [1 - rule.probabilities(one.logits)[:, -1] for one in (known, external)]
            found[rule.alpha, tail] = metrics.auroc(*scores)
    return found


def openmax(
    train: Outputs, alpha: int, tail: int, distance: str, kind: type[OpenMax] = OpenMax
) -> OpenMax:
    """Return an OpenMax model fitted to training outputs."""
    return kind(tail, alpha, distance).fit(train.logits, train.labels)


def best(grid: Mapping[tuple, float]) -> tuple:
    """Return the pair of the highest AUROC; of several that share it, the first.

    Examples
    --------
    >>> best({(1, 0.0): 0.6, (10, 0.0): 0.7, (10, 0.1): 0.7})
    (10, 0.0)
    """
    return max(grid, key=grid.__getitem__)
