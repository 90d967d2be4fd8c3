"""Adversarial training: the images are changed, within a ball, to raise the loss."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import nn

from helpers.checks import at_least_zero
from helpers.networks.backbones import Classifier
from helpers.networks.heads import whole
from helpers.training.objectives.erm import ERM, Batch


class AdversarialTraining(ERM):
    r"""Cross-entropy on the worst images near the images of the batch.

    .. math:: \max_{\|\delta\|_2 \le \varepsilon} \mathrm{CE}(f(x + \delta), y)

    Notes
    -----
    Madry et al. 2018, equation 2.1, in the ℓ2 ball.  The default is that of Salman et al. 2020:
    three steps of two thirds of the radius.  The search uses the network in training mode, with the
    statistics of the batch; the code of Salman et al. uses evaluation mode during the search.
    """

    def __init__(self, radius: float = 0.5, steps: int = 3):
        self.radius = at_least_zero("radius", radius)
        self.steps = whole("steps", steps)

    def __call__(self, classifier: Classifier, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the loss and the logits of the changed images."""
        if self.radius:
            changed = attack(
                classifier, batch.inputs, batch.labels, radius=self.radius, steps=self.steps
            )
            batch = replace(batch, inputs=changed)
        return super().__call__(classifier, batch)


def attack(
    classifier: nn.Module, images: torch.Tensor, labels: torch.Tensor, *, radius: float, steps: int
) -> torch.Tensor:
    """Change each image, by projected gradient ascent from itself, to raise its cross-entropy.

    Examples
    --------
    A classifier whose two logits are the two pixels:

    >>> images = torch.full((1, 2, 1, 1), 100.0)
    >>> attack(nn.Flatten(), images, torch.tensor([0]), radius=2**0.5 / 255, steps=3).flatten()
    tensor([ 99., 101.])
    """
    images = images.float()
    radius = 255 * radius
    # copies take the running statistics of the search, so that a batch counts once
    buffers = {name: buffer.clone() for name, buffer in classifier.named_buffers()}
    changed = images
    for _ in range(steps):
        changed = changed.detach().requires_grad_()
        logits = torch.func.functional_call(classifier, buffers, changed).float()
        # log odds of an incorrect output: their gradient has the direction of the cross-entropy's,
        # and keeps its digits if the network is confident
        true_logit = logits.gather(1, labels[:, None])
        wrong = logits.scatter(1, labels[:, None], -torch.inf).logsumexp(dim=1, keepdim=True)
        (gradient,) = torch.autograd.grad((wrong - true_logit).sum(), changed)
        length = torch.linalg.vector_norm(gradient, dim=(1, 2, 3), keepdim=True)
        direction = gradient / length.clamp(min=1e-12)
        difference = changed.detach() + 2 * radius / steps * direction - images
        changed = (images + difference.renorm(2, 0, radius)).clamp(0, 255)
    return changed
