"""MC dropout: several passes over the same images, each with other features dropped.

Gal and Ghahramani 2016.  The number of passes is the parameter `passes` of a paper; the score of
their disagreement is in `helpers.scores.jsd`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from helpers.networks.backbones import Classifier


def dropout_members(classifier: Classifier, images: torch.Tensor, passes: int) -> torch.Tensor:
    """Return the probabilities of each pass, float32 [passes, B, K]; dropout stays active."""
    classifier.sample_dropout()
    probabilities = [classifier(images).float().softmax(dim=1) for _ in range(passes)]
    return torch.stack(probabilities)
