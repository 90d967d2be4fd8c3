"""The Jacobian of whole batches against a loop over images.

The loop asks PyTorch for each image's Jacobian of the softmax.  Both sides use all cores, or the
GPU if there is one, and the norms are first checked to agree.

    python -m benchmarks.jacobian
"""

from __future__ import annotations

import os

import numpy as np
import torch

from benchmarks.comparing import Comparison
from helpers import data
from helpers.data import Images
from helpers.networks import models
from helpers.networks.devices import default_device
from helpers.networks.models import Classifier
from helpers.networks.recipe import Recipe
from helpers.scores.gradients import jacobian_norms

IMAGES, LOOPED = 400, 40
CLASSES = 4, 10
RECIPE = Recipe(depth=8, width=16, stem_stride=2)


def looped(classifier: Classifier, images: Images) -> np.ndarray:
    """Return the squared norm of each image's Jacobian, one image after another."""

    def answer(pixels: torch.Tensor) -> torch.Tensor:
        return classifier(pixels).softmax(dim=1)[0]

    found = []
    for batch in images.in_order(batch_size=1):
        pixels = batch.to(classifier.mean.device).float()
        one = 255 * torch.autograd.functional.jacobian(answer, pixels)
        found.append(float(one.square().sum()))
    return np.array(found)


def main() -> None:
    """Measure both numbers of classes, and keep it."""
    comparison = Comparison("jacobian")
    images = data.load("cifar10_mini", "test").subset(slice(0, IMAGES))
    few, device = images.subset(slice(0, LOOPED)), default_device()
    torch.set_num_threads(os.cpu_count() or 1)
    for classes in CLASSES:
        classifier = models.create(RECIPE, classes)
        classifier.set_normalisation(images.images)
        classifier.to(device).eval()
        assert np.allclose(jacobian_norms(classifier, few)[0], looped(classifier, few), rtol=1e-3)
        comparison.add(
            f"Jacobian of {classes} classes", f"ResNet-8, {IMAGES} images", "PyTorch, in a loop",
            lambda c=classifier: jacobian_norms(c, images), lambda c=classifier: looped(c, few),
            wanted=10, rounds=3, share=LOOPED / IMAGES,
            limit="a Jacobian takes a backward pass for each class, batched or not; a processor "
            "of few cores is kept busy by a single image to a good part",
        )  # fmt: skip
    comparison.write()


if __name__ == "__main__":
    main()
