"""Random network distillation: a small network learns what a random one says of known images."""

from __future__ import annotations

import torch
from torch import nn

from helpers.networks.heads import DEPTH, WIDTH, whole
from helpers.training.objectives.erm import ERM, Batch


class RND(ERM):
    r"""Cross-entropy, and beside it the mean squared error of a student of a random teacher.

    .. math:: \mathrm{CE} + \lambda\, \frac{1}{B W} \sum_i
              \lVert g_\text{student}(\varphi_i) - g_\text{teacher}(\varphi_i) \rVert^2

    The features :math:`\varphi` are given to both as they are: the student's error moves the
    student alone, and the classifier is to the last bit that of `ERM`.

    Parameters
    ----------
    weight : float
        :math:`\lambda`.
    width, depth : int
        W, the outputs of each layer of student and teacher, and their layers.

    Notes
    -----
    Burda et al. 2019, section 2.2, on features as in Belghazi and Lopez-Paz 2021.  In their code
    the error moves the features too, though they say that the measure is all that differs from
    ERM; and their table gives a weight of 0, where their code has 0.1.

    The measure of its own is `helpers.networks.heads.Imitation`.
    """

    def __init__(self, weight: float = 0.1, width: float = WIDTH, depth: float = DEPTH):
        if not weight >= 0:
            raise ValueError(f"weight: at least 0 expected, got {weight}")
        whole("width", width)  # those of the network's own measure, which is made with it
        whole("depth", depth)
        self.weight = weight

    def __call__(self, classifier: nn.Module, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the loss and the logits."""
        features = classifier.features(batch.inputs)
        logits = classifier.backbone.get_classifier()(features).float()
        loss = nn.functional.cross_entropy(logits, batch.labels)
        errors = classifier.native.errors(features.detach())
        return loss + self.weight * errors.square().mean(), logits
