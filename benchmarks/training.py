"""The training loop against a bare loop over the same tensors with the same network.

The bare loop does nothing that training cannot do without: forward, loss, backward, step. It
takes whole batches off the tensor in order, without shuffling, augmentation, learning-rate
schedule, learning curve, progress bar or checks.

    python -m benchmarks.training
"""

from __future__ import annotations

import os
import platform
import statistics
import time

import torch

from helpers import data, models
from helpers.training.loop import device_name, train
from helpers.training.recipe import Recipe

ROUNDS = 7
RECIPE = Recipe(depth=8, width=16, stem_stride=1, epochs=1, batch_size=128, learning_rate=0.01)


def bare(recipe: Recipe, images: data.Images) -> float:
    """Return images per second of the bare loop."""
    torch.set_num_threads(recipe.threads)
    classifier = models.create(recipe, len(images.class_names))
    classifier.set_normalisation(images.images)
    optimiser = torch.optim.SGD(classifier.parameters(), lr=0.01, momentum=0.9, fused=True)
    pixels = torch.from_numpy(images.images).permute(0, 3, 1, 2)
    targets = torch.from_numpy(images.labels)
    steps = len(images) // recipe.batch_size
    classifier.train()
    start = time.perf_counter()
    for step in range(steps):
        batch = slice(step * recipe.batch_size, (step + 1) * recipe.batch_size)
        loss = torch.nn.functional.cross_entropy(classifier(pixels[batch]), targets[batch])
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()
    return steps * recipe.batch_size / (time.perf_counter() - start)


def ours(recipe: Recipe, images: data.Images) -> float:
    """Return images per second of `helpers.training.loop.train`, set-up included."""
    classifier = models.create(recipe, len(images.class_names))
    start = time.perf_counter()
    train(classifier, images, recipe, device="cpu", progress=False)
    seconds = time.perf_counter() - start
    return len(images) // recipe.batch_size * recipe.batch_size / seconds


def main() -> None:
    """Print throughputs and their ratio, the median over alternating rounds."""
    images = data.load("cifar10_mini", "train")
    threads = min(2, os.cpu_count() or 1)
    print(f"{platform.processor() or platform.machine()}, {device_name('cpu', threads)}, "
          f"torch {torch.__version__}, {ROUNDS} rounds, {len(images)} images of 32×32")  # fmt: skip
    for augmentation in ((), ("crop", "flip")):
        recipe = Recipe.from_parameters(
            RECIPE.as_dict(), threads=threads, augmentation=augmentation
        )
        bare(recipe, images), ours(recipe, images)  # warm-up
        pairs = [(ours(recipe, images), bare(recipe, images)) for _ in range(ROUNDS)]
        ratios = sorted(one / other for one, other in pairs)
        speeds = [statistics.median(column) for column in zip(*pairs, strict=True)]
        print(f"ResNet-8, width 16, augmentation {', '.join(augmentation) or 'none'}: "
              f"ours {speeds[0]:,.0f} images/s, bare {speeds[1]:,.0f} images/s, "
              f"ratio {statistics.median(ratios):.3f} "
              f"({ratios[0]:.3f} to {ratios[-1]:.3f})")  # fmt: skip


if __name__ == "__main__":
    main()
