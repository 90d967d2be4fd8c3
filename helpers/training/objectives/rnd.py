"""Random network distillation: a small network learns the outputs of a random network."""

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

    The features :math:`\varphi` are the trained network's, so that the classifier equals the one
    of `ERM`: `helpers.training.fitted.fit` trains it once for both.

    Notes
    -----
    Burda et al. 2019, section 2.2, on features as in Belghazi and Lopez-Paz 2021.  Their code
    trains network and student together, and the error changes the features too, although their
    text describes the measure as the only difference from ERM.  The weight is 0 in their table and
    0.1 in their code.

    The native measure is `helpers.networks.heads.Imitation`.
    """

    beside = True

    def __init__(self, weight: float = 0.1, width: float = WIDTH, depth: float = DEPTH):
        whole("width", width)  # width and depth of the network's native measure
        whole("depth", depth)
        self.weight = at_least_zero("weight", weight)

    def error(self, native: Imitation, features: torch.Tensor) -> torch.Tensor:
        """Return the loss of the student, a scalar, for features [B, D]."""
        return self.weight * native.errors(features).square().mean()

    def finish(self, classifier, images, recipe, *, seed, device):
        """Train the student; return its ``error`` by epoch."""

        def error(features: torch.Tensor) -> torch.Tensor:
            return self.error(classifier.native, features)

        return {"error": teach(classifier, images, recipe, error, seed=seed, device=device)}
