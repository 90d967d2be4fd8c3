"""MIMO: one network answers for several images at once, as several networks would."""

from __future__ import annotations

from functools import partial

import torch
from torch import nn

from helpers.checks import closed_share
from helpers.networks.backbones import Classifier
from helpers.networks.heads import SUBNETWORKS, whole
from helpers.training.objectives.erm import ERM, Batch


class MIMO(ERM):
    r"""Cross-entropy of M heads, each for a separate image, summed over the heads.

    .. math:: \frac1V \sum_{v=1}^V \sum_{m=1}^M
              \mathrm{CE}\big(z_m(x_{\pi_1(v)}, \ldots, x_{\pi_M(v)}),\, y_{\pi_m(v)}\big)

    The network's input is M images, concatenated in the channels.  At test the input is one image
    M times, and the output is the mean of the heads' probabilities.

    Notes
    -----
    Havasi et al. 2021, sections 2 and 3.3, with the defaults of Belghazi and Lopez-Paz 2021.
    The first head's images are in the order of the batch, which is random; for all other heads
    they are permuted.  The accuracy in the learning curve is the first head's.
    """

    def __init__(
        self,
        subnetworks: float = SUBNETWORKS,
        input_repetition: float = 0.6,
        batch_repetition: float = 2,
    ):
        self.subnetworks = whole("subnetworks", subnetworks)
        self.batch_repetition = whole("batch_repetition", batch_repetition)
        self.input_repetition = closed_share("input_repetition", input_repetition)

    def draw(self, images: int, generator: torch.Generator) -> torch.Tensor:
        """Return which image of the batch each head is shown in each example, int64 [M, V]."""
        order = partial(torch.randperm, device=generator.device, generator=generator)
        examples = self.batch_repetition * images
        rows = torch.arange(examples, device=generator.device) % images
        shown = rows.repeat(self.subnetworks, 1)
        free = order(examples)[round(self.input_repetition * examples) :]
        for head in range(1, self.subnetworks):
            shown[head, free] = rows[free[order(len(free))]]
        return shown

    def __call__(self, classifier: Classifier, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the loss, and the first head's logits of the batch."""
        together = batch.inputs[batch.drawn].transpose(0, 1).flatten(1, 2)
        together = together.contiguous(memory_format=torch.channels_last)
        features = classifier.features(together)
        per_head = classifier.backbone.get_classifier().members(features).float()
        labels = batch.labels[batch.drawn].T
        loss = nn.functional.cross_entropy(per_head.flatten(0, 1), labels.flatten())
        return self.subnetworks * loss, per_head[: len(batch.labels), 0]
