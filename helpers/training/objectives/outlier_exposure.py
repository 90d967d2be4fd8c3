"""Outlier Exposure: train for uniform predictions on images of other classes."""

from __future__ import annotations

import torch
from torch import nn

from helpers.training.objectives.erm import ERM, Batch


class OutlierExposure(ERM):
    r"""Cross-entropy plus the cross-entropy with the uniform distribution on outliers.

    .. math:: \mathrm{CE} + \lambda\, \frac1R \sum_r
              \Big(\log \sum_k e^{z_{rk}} - \frac1K \sum_k z_{rk}\Big)

    Images and outliers form one batch of the network, so that batch statistics are shared.

    Notes
    -----
    Hendrycks et al. 2019, section 4, with the paper's weight and ratio.
    """

    needs_outliers = True

    def __init__(self, weight: float = 0.5, ratio: int = 2):
        self.weight = weight
        self.ratio = ratio

    def views(
        self, images: torch.Tensor, outliers: torch.Tensor | None, generator: torch.Generator
    ) -> torch.Tensor:
        """Return the images, then the outliers."""
        if outliers is None:
            raise ValueError("outliers: images of none of the classes expected, got none")
        return torch.cat([images, outliers])

    def __call__(self, classifier: nn.Module, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the loss, and the logits of the images alone."""
        logits = classifier(batch.inputs).float()
        images = len(batch.labels)
        known = logits[:images]
        outliers = logits[images:]
        loss = nn.functional.cross_entropy(known, batch.labels)
        return loss + self.weight * uniform_cross_entropy(outliers), known


def uniform_cross_entropy(logits: torch.Tensor) -> torch.Tensor:
    """Return the mean cross-entropy to the uniform distribution, a scalar, for logits [R, K].

    Examples
    --------
    >>> uniform_cross_entropy(torch.zeros(1, 2)).round(decimals=4)  # log 2, its least value
    tensor(0.6931)
    """
    return (logits.logsumexp(dim=1) - logits.mean(dim=1)).mean()
