"""Empirical risk minimisation, and the methods that objectives may override."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import nn

from helpers.networks.backbones import Classifier


@dataclass(frozen=True)
class Batch:
    """The inputs of one step of training; all tensors are on the device.

    Attributes
    ----------
    inputs : Tensor, shape [V, 3, H, W]
        Inputs of the network: `ERM.views` of the images.
    labels : Tensor of int64, shape [B]
    indices : Tensor of int64, shape [B]
        Indices of these images in the training set.
    epochs : Tensor of float32, shape []
        Number of epochs so far, with a fraction for the current one.
    drawn : Tensor
        Random numbers for the loss: `ERM.draw`.
    """

    inputs: torch.Tensor
    labels: torch.Tensor
    indices: torch.Tensor
    epochs: torch.Tensor
    drawn: torch.Tensor = field(default_factory=lambda: torch.empty(0))


class ERM:
    """Empirical risk minimisation: the mean cross-entropy of the batch (Vapnik 1992).

    All other objectives override the methods that differ.  `__call__` must not wait for the device
    or change the shape of a tensor between steps, so that a GPU can record one step and replay
    it.
    """

    beside = False  # whether the network is ERM's, and a measure is trained after it
    needs_outliers = False
    needs_teacher = False
    teacher: nn.Module  # if needed: a network in evaluation mode
    ratio: int  # if outliers are needed: their number for each image

    def start(self, images: int, epochs: int, device: str) -> None:
        """Prepare a training of `epochs` epochs on `images` images."""

    def views(
        self, images: torch.Tensor, outliers: torch.Tensor | None, generator: torch.Generator
    ) -> torch.Tensor:
        """Return the network's inputs for a batch of images [B, 3, H, W]."""
        return images

    def draw(self, images: int, generator: torch.Generator) -> torch.Tensor:
        """Return random numbers for the loss of a batch with `images` images; empty by default.

        The shape is constant; the device is the generator's.
        """
        return torch.empty(0, device=generator.device)

    def __call__(self, classifier: Classifier, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the loss, a scalar, and the logits [B, K] of the images themselves."""
        logits = classifier(batch.inputs).float()
        return nn.functional.cross_entropy(logits, batch.labels), logits

    def finish(
        self, classifier: nn.Module, images, recipe, *, seed: int, device: str
    ) -> dict[str, list[float]]:
        """Train additional parts after the network; by default there are none.

        Parameters are as in `helpers.training.students.teach`.  The result contains further columns
        of the learning curve, with one number per epoch.
        """
        return {}

    def state(self) -> dict[str, torch.Tensor]:
        """Return the tensors, updated in place, that a resumed training must have back."""
        return {}
