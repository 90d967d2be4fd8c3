"""Empirical risk minimisation, and what every objective may do differently."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import nn


@dataclass(frozen=True)
class Batch:
    """What one step of training sees; all of it lies on the device.

    Attributes
    ----------
    inputs : Tensor, shape [V, 3, H, W]
        What the network is shown: `ERM.views` of the images.
    labels : Tensor of int64, shape [B]
    indices : Tensor of int64, shape [B]
        Which training images these are.
    epochs : Tensor of float32, shape []
        Epochs done so far, with a fraction for the running one.
    drawn : Tensor
        What the loss needs beside the inputs: `ERM.draw`.
    """

    inputs: torch.Tensor
    labels: torch.Tensor
    indices: torch.Tensor
    epochs: torch.Tensor
    drawn: torch.Tensor = field(default_factory=lambda: torch.empty(0))


class ERM:
    """Empirical risk minimisation: the mean cross-entropy of the batch (Vapnik 1992).

    The other objectives override what they do differently.  Nothing in `__call__` may wait for
    the device or change the shape of a tensor from one step to the next, so that on a GPU
    one recorded step can be replayed.
    """

    beside = False  # whether the network is ERM's, and what is learnt comes after its training
    needs_outliers = False
    needs_teacher = False
    teacher: nn.Module | None = None  # where it is needed: a network in evaluation mode

    def start(self, images: int, epochs: int, device: str) -> None:
        """Get ready for a training of so many epochs on so many images."""

    def views(
        self, images: torch.Tensor, outliers: torch.Tensor | None, generator: torch.Generator
    ) -> torch.Tensor:
        """Return what the network is shown for a batch of images [B, 3, H, W]."""
        return images

    def draw(self, images: int, generator: torch.Generator) -> torch.Tensor:
        """Return what the loss of a batch of so many images needs drawn; as a rule nothing.

        Always of the same shape, on the device of the generator.
        """
        return torch.empty(0, device=generator.device)

    def __call__(self, classifier: nn.Module, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the loss, a scalar, and the logits [B, K] of the images themselves."""
        logits = classifier(batch.inputs).float()
        return nn.functional.cross_entropy(logits, batch.labels), logits

    def finish(
        self, classifier: nn.Module, images, recipe, *, seed: int, device: str
    ) -> dict[str, list[float]]:
        """Learn what comes after the network's training, as a rule nothing.

        The parameters are those of `helpers.training.students.teach`; what is returned are further
        columns of the learning curve, a number for each epoch.
        """
        return {}

    def state(self) -> dict[str, torch.Tensor]:
        """Return the tensors, updated in place, that a resumed training must have back."""
        return {}
