"""The training loop against a bare loop, against a loop over a DataLoader, and members together.

The bare loop does nothing that training cannot do without: forward, loss, backward, step. It
takes whole batches off the tensor in order, without shuffling, augmentation, learning-rate
schedule, learning curve, progress bar or checks.  The loop over a DataLoader is that of tutorials:
Pillow images, torchvision's transforms, one image at a time.

    python -m benchmarks.training
"""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms

from benchmarks.comparing import Comparison, agree, seconds
from helpers import checkpoints, data
from helpers.networks import models
from helpers.networks.devices import reproducible
from helpers.networks.recipe import Recipe
from helpers.training.augmentation import PADDING
from helpers.training.loop import train

MEMBERS = 5
# its rate is constant, so that a loop without a schedule does the same
RECIPE = Recipe(
    depth=8, width=16, epochs=1, learning_rate=0.02, warmup_epochs=0.0, schedule="multistep",
    milestones=(1.0,), threads=1,
)  # fmt: skip
SIZES = {  # of tiers: the stem's stride, images per step, and epochs that take seconds
    "mini": {"stem_stride": 2, "batch_size": 32, "epochs": 3},
    "small": {"stem_stride": 1, "batch_size": 128, "epochs": 1},
}


def optimiser_of(network: torch.nn.Module, recipe: Recipe, **options) -> torch.optim.SGD:
    """Return the recipe's optimiser, as far as the loops here know it."""
    return torch.optim.SGD(
        network.parameters(), lr=recipe.learning_rate, momentum=recipe.momentum,
        weight_decay=recipe.weight_decay, nesterov=recipe.nesterov, **options,
    )  # fmt: skip


def ours(images: data.Images, recipe: Recipe, seed: int = 0) -> tuple[models.Classifier, float]:
    """Train as the notebooks do; return the network and the loss of the last epoch."""
    classifier = models.create(recipe, len(images.class_names))
    history = train(classifier, images, recipe, seed=seed, device="cpu", progress=False)
    return classifier, history["loss"].iloc[-1]


def bare(images: data.Images, recipe: Recipe) -> models.Classifier:
    """Train with nothing that can be left out; return the network."""
    classifier = models.create(recipe, len(images.class_names))
    classifier.set_normalisation(images.images)
    optimiser = optimiser_of(classifier, recipe, fused=True)
    pixels = torch.from_numpy(images.images).permute(0, 3, 1, 2)
    targets = torch.from_numpy(images.labels)
    classifier.train()
    steps = len(images) // recipe.batch_size
    for step in list(range(steps)) * recipe.epochs:
        batch = slice(step * recipe.batch_size, (step + 1) * recipe.batch_size)
        loss = torch.nn.functional.cross_entropy(classifier(pixels[batch]), targets[batch])
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()
    return classifier


class PillowImages(Dataset):
    """Images one at a time, as torchvision's data sets give them."""

    def __init__(self, images: data.Images, transform: Callable):
        self.images, self.transform = images, transform

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        image = Image.fromarray(self.images.images[index])
        return self.transform(image), int(self.images.labels[index])


def pillow_transform(images: data.Images, augmentation: tuple[str, ...] = ()) -> Callable:
    """Return torchvision's transforms: augmentation, float tensor, these images' normalisation."""
    steps = {
        "crop": transforms.RandomCrop(
            images.images.shape[1:3], padding=PADDING, padding_mode="reflect"
        ),
        "flip": transforms.RandomHorizontalFlip(),
    }
    pixels = models.Classifier(torch.nn.Identity())
    pixels.set_normalisation(images.images)
    mean, std = ((one / 255).flatten().tolist() for one in (pixels.mean, pixels.std))
    last = [transforms.ToTensor(), transforms.Normalize(mean, std)]
    return transforms.Compose([steps[name] for name in augmentation] + last)


class LoaderLoop:
    """Train a network epoch by epoch over a DataLoader of torchvision's transforms.

    Parameters
    ----------
    network : nn.Module
        From float images [B, 3, H, W] to logits.
    images : Images
    recipe : Recipe
        Its optimiser, batches and augmentation.
    workers : int
        Processes of the DataLoader, started once for all epochs.
    device : str
    shuffle : bool
        As anybody does, except to compare with another loop.
    """

    def __init__(self, network, images, recipe, *, workers=0, device="cpu", shuffle=True):
        transform = pillow_transform(images, recipe.augmentation)
        self.loader = DataLoader(
            PillowImages(images, transform), recipe.batch_size, shuffle=shuffle, drop_last=True,
            num_workers=workers, persistent_workers=workers > 0, pin_memory=device != "cpu",
        )  # fmt: skip
        self.network, self.device = network.to(device), device
        self.optimiser = optimiser_of(self.network, recipe)

    def __call__(self) -> float:
        """Train for one epoch; return the mean loss."""
        self.network.train()
        total = 0.0
        for inputs, targets in self.loader:
            inputs = inputs.to(self.device, non_blocking=True)
            targets = targets.to(self.device, non_blocking=True)
            self.optimiser.zero_grad()
            loss = torch.nn.functional.cross_entropy(self.network(inputs), targets)
            loss.backward()
            self.optimiser.step()
            total += loss.item()
        return total / len(self.loader)


def plain_network(recipe: Recipe, classes: int) -> torch.nn.Module:
    """Return the network of a recipe in torch's own memory format."""
    backbone = models.create(recipe, classes).backbone
    return backbone.to(memory_format=torch.contiguous_format)


def check(images: data.Images, recipe: Recipe) -> None:
    """Refuse to compare loops that do not train the same network on the same batches."""
    recipe = Recipe.from_parameters(recipe.as_dict(), augmentation=(), epochs=1)
    # the order that the first epoch of seed 0 has, see `loop._epoch`
    order = torch.randperm(len(images), generator=torch.Generator().manual_seed(0)).numpy()
    ordered = images.subset(order)
    classifier, loss = ours(images, recipe)
    network = plain_network(recipe, len(images.class_names))
    with reproducible("cpu", recipe.threads):
        other = bare(ordered, recipe)
        agree(loss, LoaderLoop(network, ordered, recipe, shuffle=False)(), within=1e-3)
    if checkpoints.digest(other.state_dict()) != checkpoints.digest(classifier.state_dict()):
        raise AssertionError("the bare loop's weights are not ours, bit for bit")


def recipe_of(tier: str, **changed) -> Recipe:
    """Return the recipe of the size of a tier."""
    return Recipe.from_parameters(RECIPE.as_dict(), **(SIZES[tier] | changed))


def size_of(recipe: Recipe) -> str:
    """Return what a network is trained on, in words."""
    return f"ResNet-8, 32×32, stem stride {recipe.stem_stride}, batch {recipe.batch_size}"


def against_loops(comparison: Comparison, images: data.Images) -> None:
    """Some epochs of one network, set-up included: ours on one core, against the loops."""
    torch.set_num_threads(1)
    for tier in SIZES:
        plain, augmented = recipe_of(tier, augmentation=()), recipe_of(tier)
        check(images, plain)
        size = size_of(plain)
        comparison.add(
            "training, no augmentation", size, "bare loop",
            lambda recipe=plain: ours(images, recipe), lambda recipe=plain: bare(images, recipe),
            wanted=0.9, rounds=3, note="weights equal bit for bit",
        )  # fmt: skip
        comparison.add(
            "training, crops and flips", size, "bare loop without them",
            lambda recipe=augmented: ours(images, recipe),
            lambda recipe=augmented: bare(images, recipe),
            wanted=0.9, rounds=3,
            limit="padding, cropping and flipping, which the bare loop does not do",
        )  # fmt: skip
        network = plain_network(augmented, len(images.class_names))
        share = bare_share(images, augmented, network)
        for workers in (0, 2):
            comparison.add(
                "training, crops and flips", size, f"DataLoader, {workers} workers",
                lambda recipe=augmented: ours(images, recipe),
                LoaderLoop(network, images, augmented, workers=workers),
                wanted=2, rounds=3, share=1 / augmented.epochs,
                note="loss agrees without augmentation; with it each side draws its own"
                + ("; theirs has other cores for its workers" if workers else ""),
                limit=f"the network itself: a bare loop takes {share:.0%} of their loop's time "
                "without workers",
            )  # fmt: skip


def bare_share(images: data.Images, recipe: Recipe, network: torch.nn.Module) -> float:
    """Return the share of the time of the loop over a DataLoader that a bare loop takes."""
    loop = LoaderLoop(network, images, recipe)
    loop()
    return seconds(lambda: bare(images, recipe)) / (recipe.epochs * seconds(loop))


def member(seed: int) -> int:
    """Train one member of an ensemble for an epoch; return the process that did."""
    ours(data.load("cifar10_mini", "train"), recipe_of("mini", epochs=1), seed)
    return os.getpid()


@contextlib.contextmanager
def side_by_side(task: Callable[[int], int], processes: int) -> Iterator[Callable]:
    """Start processes in each of which a task has run; give a map over them."""
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        seen: set[int] = set()
        while len(seen) < processes:
            seen |= set(pool.map(task, range(processes)))
        yield lambda numbers: list(pool.map(task, numbers))


def members(comparison: Comparison, images: data.Images) -> None:
    """Five members: side by side, one on each core, as ``workflow/sweep.py`` trains them."""
    cores = os.cpu_count() or 1
    processes, recipe = min(cores, MEMBERS), recipe_of("mini", epochs=1)
    size = f"{size_of(recipe)}, {cores} cores"
    turns = math.ceil(MEMBERS / processes)
    bound = f"five members on {processes} cores take {turns} turns: at most {MEMBERS / turns:.2f}"

    loop = LoaderLoop(plain_network(recipe, len(images.class_names)), images, recipe)

    def one_by_one(threads: int) -> None:
        torch.set_num_threads(threads)
        loop()
        torch.set_num_threads(1)

    one_by_one(1)
    times = {
        threads: seconds(lambda threads=threads: one_by_one(threads)) for threads in (1, cores)
    }
    threads = min(times, key=times.get)
    with side_by_side(member, processes) as several, side_by_side(member, 1) as one:
        comparison.add(
            "five ensemble members", size, "one member, times five",
            lambda: several(range(MEMBERS)), lambda: one([0]), wanted=1, rounds=3,
            share=1 / MEMBERS, note=bound,
        )  # fmt: skip
        comparison.add(
            "five ensemble members", size, "DataLoader, 0 workers, times five",
            lambda: several(range(MEMBERS)), lambda: one_by_one(threads), wanted=2, rounds=3,
            share=1 / MEMBERS, limit=f"the network itself; {bound}",
            note="each side draws its own; "
            f"of 1 and {cores} threads, theirs is faster with {threads}",
        )  # fmt: skip


def main() -> None:
    """Measure everything, and keep it."""
    images = data.load("cifar10_mini", "train")
    comparison = Comparison("training")
    against_loops(comparison, images)
    members(comparison, images)
    comparison.write()


if __name__ == "__main__":
    main()
