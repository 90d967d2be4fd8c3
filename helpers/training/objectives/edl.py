"""Evidential deep learning: a Dirichlet distribution over the classes instead of one softmax."""

from __future__ import annotations

import math

import torch
from torch import nn

from helpers.checks import at_least_zero
from helpers.training.objectives.erm import ERM, Batch

_LARGEST = 10.0  # logits beyond this are clipped, as in the benchmark's code


class EDL(ERM):
    r"""Type II maximum likelihood of Dirichlet parameters :math:`\alpha = \exp(z) + 1`.

    .. math:: \sum_k y_k (\log S - \log \alpha_k) + \lambda_t\,
              \mathrm{KL}(\mathrm{Dir}(\tilde\alpha) \,\|\, \mathrm{Dir}(1)), \quad
              S = \sum_k \alpha_k, \quad \tilde\alpha = y + (1 - y) \odot \alpha

    The second term takes evidence away from wrong classes; its weight rises linearly to `weight`,
    or is constant.

    Notes
    -----
    Sensoy et al. 2018, equations 3 and 4.  As in the code of Kim et al. 2023, the exponential
    replaces the ReLU and logits are clipped to [-10, 10].  Their weight is not known; the weight 1
    and a ramp of 10 epochs are from Sensoy et al.
    """

    def __init__(self, weight: float = 1.0, ramp_epochs: float = 10.0):
        self.weight = weight
        self.ramp_epochs = at_least_zero("ramp_epochs", ramp_epochs)

    def __call__(self, classifier: nn.Module, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the loss and the logits z."""
        logits = classifier(batch.inputs).float()
        likelihood, divergence = evidential_losses(logits, batch.labels)
        ramp = (batch.epochs / self.ramp_epochs).clamp(max=1) if self.ramp_epochs else 1.0
        return likelihood + self.weight * ramp * divergence, logits


def evidential_losses(
    logits: torch.Tensor, labels: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the two terms, each the mean over the batch.

    Examples
    --------
    No evidence against the right class, and as much as for it, exp(0) = 1, for the other one:

    >>> likelihood, divergence = evidential_losses(torch.zeros(1, 2), torch.tensor([0]))
    >>> [round(term.item(), 4) for term in (likelihood, divergence)]
    [0.6931, 0.1931]
    """
    alpha = logits.clamp(-_LARGEST, _LARGEST).exp() + 1
    true_evidence = alpha.gather(1, labels[:, None])[:, 0]
    likelihood = alpha.sum(dim=1).log() - true_evidence.log()
    wrong = alpha.scatter(1, labels[:, None], 1.0)
    total = wrong.sum(dim=1)
    divergence = (
        torch.lgamma(total)
        - math.lgamma(logits.shape[1])
        - torch.lgamma(wrong).sum(dim=1)
        + ((wrong - 1) * (torch.digamma(wrong) - torch.digamma(total)[:, None])).sum(dim=1)
    )
    return likelihood.mean(), divergence.mean()
