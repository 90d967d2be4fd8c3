"""Heads on the features of a frozen network, as `helpers.networks.models` builds networks.

Importing this module adds the family ``head`` of `helpers.networks.head_recipe` to those that can
be built; `helpers.training.fitted` does so.  What stands here is no part of the key of a trained
network, since the file of the other families would then be: who changes what a head computes
trains all heads again, under another name of the family (`tests/networks/test_frozen_head.py`).
"""

from __future__ import annotations

import torch
from torch import nn

from helpers.networks import models
from helpers.networks.head_recipe import HEAD
from helpers.networks.recipe import Recipe


class WholeRow(nn.Conv2d):
    """A convolution as wide as its input, made as the matrix product that it is: in less time."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return one number a filter, [B, F, 1, 1], of images of a single row, [B, C, 1, W]."""
        return nn.functional.linear(x.flatten(1), self.weight.flatten(1))[..., None, None]


class FrozenHead(nn.Module):
    """A linear layer on features, or on a hidden layer of them, with the methods of a backbone.

    Each feature is brought to mean 0 and variance 1 first (the statistics of training), and counts
    as a convolution's input of a single row: `helpers.networks.heads` finds and replaces a first
    convolution, and `helpers.networks.spectral` norms it, as in any network.
    """

    def __init__(self, num_classes: int, hidden: int, features: int):
        super().__init__()
        self.num_classes = num_classes
        wide = -(-features // 3)
        self.standard = nn.BatchNorm1d(3 * wide, affine=False)
        if hidden:
            stem = WholeRow(3, hidden, kernel_size=(1, wide), bias=False)
            self.hidden = nn.Sequential(stem, nn.BatchNorm2d(hidden), nn.ReLU())
        else:
            self.hidden = nn.Identity()
        self.head = nn.Linear(hidden or 3 * wide, num_classes)

    def forward_features(self, x: torch.Tensor) -> torch.Tensor:
        """Return the hidden layer's answer to features of M images each, [B, 3 M, 1, W]."""
        width = self.standard.num_features
        if x.shape[2] != 1 or 3 * x.shape[3] != width:
            raise ValueError(
                f"image_size: a head on {width} features, got images of {tuple(x.shape[2:])}; it "
                "says how many features the frozen network has (in threes, filled up with zeros)"
            )
        each = x.contiguous().reshape(-1, width)  # those of M images side by side are M rows
        return self.hidden(self.standard(each).view(x.shape))

    def forward_head(self, x: torch.Tensor, pre_logits: bool = False) -> torch.Tensor:
        """Return the logits [B, K], or what they are linear in."""
        x = x.flatten(1)
        return x if pre_logits else self.head(x)

    def get_classifier(self) -> nn.Module:
        """Return the last layer."""
        return self.head


def build(recipe: Recipe, num_classes: int) -> nn.Module:
    """Return a head with freshly drawn weights, on as many features as ``image_size`` says."""
    hidden = int(recipe.width) if recipe.depth == 2 else 0
    return FrozenHead(num_classes, hidden, recipe.image_size)


models._BUILDERS[HEAD] = build
