"""Random network distillation: a small network learns what a random one says of known images."""

from __future__ import annotations

import torch

from helpers.checks import at_least_zero
from helpers.networks.heads import DEPTH, WIDTH, Imitation, whole
from helpers.training.objectives.erm import ERM
from helpers.training.students import teach


class RND(ERM):
    r"""Cross-entropy, and after it the mean squared error of a student of a random teacher.

    .. math:: \lambda\, \frac{1}{B W} \sum_i
              \lVert g_\text{student}(\varphi_i) - g_\text{teacher}(\varphi_i) \rVert^2

    The features :math:`\varphi` are the trained network's, so that the classifier is that of
    `ERM`: `helpers.training.fitted.fit` trains it once for both.

    Notes
    -----
    Burda et al. 2019, section 2.2, on features as in Belghazi and Lopez-Paz 2021.  In their code
    network and student are trained together, and the error moves the features too, though they
    say that the measure is all that differs from ERM; and their table gives a weight of 0, where
    their code has 0.1.

    The measure of its own is `helpers.networks.heads.Imitation`.
    """

    beside = True

    def __init__(self, weight: float = 0.1, width: float = WIDTH, depth: float = DEPTH):
        whole("width", width)  # those of the network's own measure, which is made with it
        whole("depth", depth)
        self.weight = at_least_zero("weight", weight)

    def error(self, native: Imitation, features: torch.Tensor) -> torch.Tensor:
        """Return what the student minimises, a scalar, of features [B, D]."""
        return self.weight * native.errors(features).square().mean()

    def finish(self, classifier, images, recipe, *, seed, device):
        """Train the student; return its ``error`` by epoch."""

        def error(features: torch.Tensor) -> torch.Tensor:
            return self.error(classifier.native, features)

        return {"error": teach(classifier, images, recipe, error, seed=seed, device=device)}
