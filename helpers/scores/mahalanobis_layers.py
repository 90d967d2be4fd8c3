"""The whole Mahalanobis score of Lee et al. 2018: all stages, a step of the image, weights.

The score `mahalanobis` has the last features alone, without a step.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from helpers import cache
from helpers.outputs import Outputs
from helpers.scores.images import kept
from helpers.scores.moments import Gaussians, class_gaussians

if TYPE_CHECKING:
    import torch

    from helpers.data import Images, ImageStream
    from helpers.networks.backbones import Classifier
    from helpers.networks.model import Model

#: Steps of the image that the authors try, as shares of the range of pixel values.
EPSILONS = (0.0, 0.0005, 0.001, 0.0014, 0.002, 0.005, 0.01)

_CODE = cache.code(__name__, "helpers.networks.backbones.create")


class StageDistances:
    """Minus the squared Mahalanobis distance to the nearest class, at each stage of a network.

    The features of a stage are the means of its channels over all positions.  A stage has one
    Gaussian per class with a shared covariance.  At each stage separately, the image first moves
    towards the nearest class.  Lee et al. 2018, algorithm 1.

    Parameters
    ----------
    model : Model
        One network, whose backbone has timm's ``forward_intermediates``.
    train : Images or ImageStream
        The training images with their labels.
    """

    def __init__(self, model: Model, train: Images | ImageStream):
        if len(model.networks) > 1:
            raise ValueError(f"model: one network expected, got {len(model.networks)}")
        self.model = model
        self.train = train

    @cached_property
    def gaussians(self) -> list[Gaussians]:
        """The Gaussians of each stage."""
        network = self.model.networks[0]
        return fitted_stages(network.classifier, self.train, **network.view)

    def scores(self, images: Images | ImageStream, epsilons: Sequence[float]) -> np.ndarray:
        """Return the scores after steps of E lengths at S stages, float64 [E, N, S], cached."""
        steps = [float(epsilon) for epsilon in epsilons]

        def compute(classifiers: Sequence[Classifier], images, **view) -> np.ndarray:
            return stage_scores(classifiers[0], images, self.gaussians, steps, **view)

        inputs = {"train": self.train.sha256, "epsilons": steps}
        return kept("mahalanobis_layers", _CODE, compute, self.model, images, inputs)


def fitted_stages(classifier: Classifier, train: Images | ImageStream, **view) -> list[Gaussians]:
    """Return the Gaussians of each stage, fitted to training images."""
    import torch

    from helpers.networks import devices

    classifier = classifier.eval()
    device = classifier.mean.device
    size = devices.batch_size(classifier, train, **view)
    batches = []
    with torch.inference_mode():
        for batch in train.in_order(batch_size=size, **view):
            means = stage_means(classifier, batch.to(device))
            batches.append([stage.float().cpu().numpy() for stage in means])
    logits = np.zeros((len(train), len(train.class_names)), np.float32)  # only their number counts
    stages = [np.concatenate(stage) for stage in zip(*batches, strict=True)]
    return [class_gaussians(Outputs(logits, stage, train.labels)) for stage in stages]


def stage_scores(
    classifier: Classifier,
    images: Images | ImageStream,
    gaussians: Sequence[Gaussians],
    epsilons: Sequence[float],
    **view,
) -> np.ndarray:
    """Return the scores after steps of E lengths at S stages, float64 [E, N, S].

    `view` are arguments of ``images.in_order``.
    """
    import torch

    from helpers.networks import devices

    classifier = classifier.eval()
    device = classifier.mean.device
    size = devices.batch_size(classifier, images, **view)
    scores = np.empty((len(epsilons), len(images), len(gaussians)))
    end = 0
    for batch in images.in_order(batch_size=size, **view):
        start, end = end, end + len(batch)
        pixels = batch.to(device).float()
        for stage, fitted in enumerate(gaussians):
            step = 255 * _away(classifier, pixels, stage, fitted).sign()
            for number, epsilon in enumerate(epsilons):
                with torch.inference_mode():
                    means = stage_means(classifier, pixels - epsilon * step, stage)[0]
                distances = fitted.squared_distances(means.double().cpu().numpy())
                scores[number, start:end, stage] = -distances.min(axis=1)
    return scores


def _away(
    classifier: Classifier, pixels: torch.Tensor, stage: int, fitted: Gaussians
) -> torch.Tensor:
    """Return the gradient of the squared distance to the nearest class by the pixels."""
    import torch

    whitening, centres = (
        torch.from_numpy(array).to(pixels.device) for array in (fitted.whitening, fitted.means)
    )
    shown = pixels.clone().requires_grad_()
    points = stage_means(classifier, shown, stage)[0].double() @ whitening
    squares = (points[:, None] - centres).square().sum(dim=2)
    # summed, so that each image gets the gradient that it would get alone
    (gradient,) = torch.autograd.grad(squares.amin(dim=1).sum(), shown)
    return gradient


def stage_means(
    classifier: Classifier, pixels: torch.Tensor, stage: int | None = None
) -> list[torch.Tensor]:
    """Return the mean of each channel, [B, C], of one stage, or of all from the first to the last.

    A stage without layers, such as the fourth of a ResNet with three, is left out.
    """
    if not hasattr(classifier.backbone, "forward_intermediates"):
        raise ValueError("classifier: a backbone with timm's forward_intermediates expected")
    normalised = (pixels.to(classifier.mean.dtype) - classifier.mean) / classifier.std
    maps = classifier.backbone.forward_intermediates(
        normalised,
        indices=None if stage is None else [stage],
        stop_early=True,
        intermediates_only=True,
    )
    distinct = {id(each): each for each in maps}
    return [each.mean(dim=(2, 3)) for each in distinct.values()]
