"""Compare the training loop with a bare loop, and count images per second on a device.

The bare loop does only forward, loss, backward and step.  It takes whole batches in order, without
augmentation, schedule, learning curve or checks.

    python -m benchmarks.training                 CPU seconds of both loops on one core
    python -m benchmarks.training --device cuda   images per second, of several networks, too
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from timeit import repeat

import numpy as np
import pandas as pd
import torch
from torch import nn

from benchmarks.comparing import RESULTS, Comparison
from helpers import data
from helpers.networks import backbones
from helpers.networks.devices import device_name, precision_on, reproducible
from helpers.networks.recipe import Recipe
from helpers.training.loop import optimiser_of, train

# the learning rate is constant, so a loop without a schedule does the same work
RECIPE = Recipe(
    depth=8,
    width=16,
    stem_stride=1,
    batch_size=128,
    epochs=1,
    learning_rate=0.02,
    threads=1,
    warmup_epochs=0.0,
    schedule="multistep",
    milestones=(1.0,),
    augmentation=(),
)
#: The network on a device: after the first epoch, its kernels are chosen, recorded or compiled.
ON_DEVICE = replace(RECIPE, depth=20, epochs=4)
IMAGES = 50_000
AT_A_TIME = (4, 8, 16)
#: Why the row may be below 1.
MORE = "our loop also draws the order of the images, and keeps and checks a learning curve"
#: Numbers that a copy moves, which measures the speed of the memory.
_COPIED = 2**27


def ours(images: data.Images, recipe: Recipe, device: str) -> tuple[nn.Module, list[float]]:
    """Train as the notebooks do; return the network, and the seconds of each epoch."""
    classifier = backbones.create(recipe, len(images.class_names))
    curve = train(classifier, images, recipe, seed=0, device=device, progress=False)
    return classifier, list(curve["seconds"])


def bare(
    images: data.Images, recipe: Recipe, device: str, compiled: bool = False
) -> tuple[nn.Module, list[float]]:
    """Train with only the necessary steps; return as `ours`."""
    classifier = backbones.create(recipe, len(images.class_names))
    classifier.set_normalisation(images.images)
    classifier.to(device).train()
    network = torch.compile(classifier, mode="reduce-overhead") if compiled else classifier
    optimiser = optimiser_of(classifier, recipe, device)
    pixels = torch.from_numpy(images.images).permute(0, 3, 1, 2).to(device)
    targets = torch.from_numpy(images.labels).to(device)
    mixed = precision_on(device, recipe.precision) == "bfloat16"
    seconds = []
    for _ in range(recipe.epochs):
        start = time.perf_counter()
        for first in range(0, len(images) - recipe.batch_size + 1, recipe.batch_size):
            batch = slice(first, first + recipe.batch_size)
            with torch.autocast(pixels.device.type, torch.bfloat16, enabled=mixed):
                loss = nn.functional.cross_entropy(network(pixels[batch]), targets[batch])
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            optimiser.step()
        loss.item()  # waits for the device
        seconds.append(time.perf_counter() - start)
    return classifier, seconds


def speed(device: str, recipe: Recipe, count: int, loop=ours, **options) -> float:
    """Return the images per second of a loop over `count` images, without its first epoch."""
    images = data.load("cifar10_mini", "train")
    images = images.subset(np.arange(count) % len(images))
    with reproducible(device, recipe.threads):
        _, seconds = loop(images, recipe, device, **options)
    return count / np.median(seconds[1:])


def together(networks: int, *given) -> float:
    """Return the images per second of several processes, each of which trains a network."""
    context = get_context("spawn")
    with context.Pool(networks, context.Barrier(networks).wait) as pool:
        return sum(pool.starmap(speed, [given] * networks))


def limit(device: str, recipe: Recipe) -> float:
    """Return the images per second if only the memory took time.

    Each convolution reads its input and writes its output, and the backward pass moves as much for
    the gradient of the input, and for that of the weights.
    """
    network = backbones.create(recipe, 10)
    moved = 0

    def count(module, inputs, output) -> None:
        nonlocal moved
        moved += inputs[0].numel() + output.numel()

    for module in network.modules():
        if isinstance(module, nn.Conv2d):
            module.register_forward_hook(count)
    network(torch.zeros(1, 3, 32, 32))
    bytes_each = 2 if precision_on(device, recipe.precision) == "bfloat16" else 4
    source = torch.zeros(_COPIED, device=device)
    seconds = min(repeat(lambda: source.clone()[-1].item(), number=1))
    return 2 * source.nbytes / seconds / (3 * moved * bytes_each)


def measure(device: str, recipe: Recipe, count: int, at_a_time: Iterable[int]) -> pd.Series:
    """Return the images per second of each loop, and of several networks at a time."""
    given = device, recipe, count
    rows = {
        "our loop": speed(*given),
        "bare loop": speed(*given, bare),
        "bare loop, torch.compile": speed(*given, bare, compiled=True),
    }
    rows |= {f"our loop, {each} networks": together(each, *given) for each in at_a_time}
    rows["limit of the memory"] = limit(device, recipe)
    return pd.Series(rows, name=f"images per second, {device_name(device, recipe.threads)}")


def main() -> None:
    """Count images on a device, or time an epoch of both loops on one core."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device")
    if device := parser.parse_args().device:
        table = measure(device, ON_DEVICE, IMAGES, AT_A_TIME)
        table.to_csv(RESULTS / "training_on_device.csv")
        print(table)
        return
    given = data.load("cifar10_mini", "train"), RECIPE, "cpu"
    comparison = Comparison("training")
    size = "ResNet-8, 32×32, batch 128"
    both = partial(ours, *given), partial(bare, *given)
    comparison.add("training", size, "bare loop", *both, reason=MORE)
    comparison.write()


if __name__ == "__main__":
    main()
