"""Hyper-parameters of ODIN and OpenMax, chosen without a look at the test.

Everything here is given a `Visible`, which has no test images: the pair is taken whose score tells
held-out ID from held-out external images best, by AUROC, as in the paper's code.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from helpers import cache, metrics
from helpers.data import Images
from helpers.outputs import Outputs
from helpers.papers.unknown_detection.protocol import Protocol, Visible
from helpers.scores.calibration import softmax
from helpers.scores.odin import stepped_logits
from helpers.scores.openset import OpenMax
from helpers.training.fitted import VERSIONS, Fitted
from helpers.training.loop import reproducible

STEPPING = cache.code("helpers.scores.odin.stepped_logits", "helpers.networks.models.create")


def odin_logits(
    fitted: Fitted, images: Images, temperature: float, epsilons: list[float]
) -> np.ndarray:
    """Return the logits after ODIN's step, float32 [E, N, K], from the cache if they are there."""
    key = cache.key(
        weights=fitted.sha256,
        images=images.sha256,
        temperature=float(temperature),
        epsilons=[float(epsilon) for epsilon in epsilons],
        image_size=fitted.recipe.image_size,
        code=STEPPING,
        **VERSIONS,
    )

    def make() -> np.ndarray:
        with reproducible(fitted.device, fitted.recipe.threads):
            return stepped_logits(
                fitted.classifier,
                images,
                temperature,
                epsilons,
                # photographs through a deep network: the gradient needs much more memory
                batch_size=500 if isinstance(images, Images) else 50,
                image_size=fitted.recipe.image_size,
            )

    return cache.array("odin", key, make)


def odin_grid(fitted: Fitted, visible: Visible, protocol: Protocol) -> dict[tuple, float]:
    """Return the AUROC of held-out ID against external images for each pair of ODIN's."""
    found = {}
    for temperature in protocol.temperatures:
        epsilons = list(protocol.epsilons)
        known, external = (
            odin_logits(fitted, images, temperature, epsilons)
            for images in (visible.validation, visible.external_validation)
        )
        for number, epsilon in enumerate(epsilons):
            found[temperature, epsilon] = metrics.auroc(
                softmax(known[number], temperature).max(axis=1),
                softmax(external[number], temperature).max(axis=1),
            )
    return found


def openmax_grid(fitted: Fitted, visible: Visible, protocol: Protocol) -> dict[tuple, float]:
    """Return the same for each pair of OpenMax's: number of revised logits, length of the tail."""
    train, known, external = (
        fitted.outputs(images)
        for images in (visible.train, visible.validation, visible.external_validation)
    )
    alphas = sorted({min(alpha, train.num_classes) for alpha in protocol.alphas})
    found = {}
    for tail in protocol.tails:
        model = openmax(train, alphas[0], tail, protocol.distance)
        for model.alpha in alphas:  # it does not enter the fit
            scores = [1 - model.probabilities(one.logits)[:, -1] for one in (known, external)]
            found[model.alpha, tail] = metrics.auroc(*scores)
    return found


def openmax(train: Outputs, alpha: int, tail: int, distance: str) -> OpenMax:
    """Return an OpenMax model fitted to training outputs."""
    return OpenMax(tail, alpha, distance).fit(train.logits, train.labels)


def best(grid: Mapping[tuple, float]) -> tuple:
    """Return the pair of the highest AUROC; of several that share it, the first.

    Examples
    --------
    >>> best({(1, 0.0): 0.6, (10, 0.0): 0.7, (10, 0.1): 0.7})
    (10, 0.0)
    """
    return max(grid, key=grid.__getitem__)
