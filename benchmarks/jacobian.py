"""The Jacobian of whole batches against a loop over images.

The loop asks PyTorch for each image's Jacobian of the softmax.  Both sides use all cores, or the
GPU if there is one, and the norms are first checked to agree.

    python -m benchmarks.jacobian
"""

from __future__ import annotations

import os
import platform
import statistics

import numpy as np
import torch

from benchmarks.comparing import seconds
from helpers import data, models
from helpers.data import Images
from helpers.models import Classifier
from helpers.scores.jacobian import jacobian_norms
from helpers.training.loop import default_device, device_name
from helpers.training.recipe import Recipe

ROUNDS, IMAGES, LOOPED = 3, 400, 40
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
    """Print images per second and their ratio, the median over alternating rounds."""
    images = data.load("cifar10_mini", "test").subset(slice(0, IMAGES))
    few, device = images.subset(slice(0, LOOPED)), default_device()
    torch.set_num_threads(os.cpu_count() or 1)
    print(f"{platform.processor() or platform.machine()}, "
          f"{device_name(device, torch.get_num_threads())}, ResNet-8, images of 32×32")  # fmt: skip
    for classes in CLASSES:
        classifier = models.create(RECIPE, classes)
        classifier.set_normalisation(images.images)
        classifier.to(device).eval()
        # also warms both up
        assert np.allclose(jacobian_norms(classifier, few)[0], looped(classifier, few), rtol=1e-3)
        pairs = [
            (
                seconds(lambda c=classifier: jacobian_norms(c, images)) / IMAGES,
                seconds(lambda c=classifier: looped(c, few)) / LOOPED,
            )
            for _ in range(ROUNDS)
        ]
        ratios = sorted(loop / batched for batched, loop in pairs)
        speeds = [1 / statistics.median(column) for column in zip(*pairs, strict=True)]
        print(f"Jacobian of {classes} classes: batched {speeds[0]:,.0f} images/s, "
              f"loop {speeds[1]:,.0f} images/s, ratio {statistics.median(ratios):.1f} "
              f"({ratios[0]:.1f} to {ratios[-1]:.1f})", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
