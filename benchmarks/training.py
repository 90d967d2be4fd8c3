"""Compare the training loop with a bare loop and with a loop over a DataLoader.

The bare loop does only forward, loss, backward and step.  It takes whole batches in order, without
augmentation, schedule, learning curve or checks.  The loop over a DataLoader is the loop of
tutorials: Pillow images and torchvision's transforms, one image at a time.

    python -m benchmarks.training
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms

from benchmarks.comparing import Comparison, check_equal
from helpers import checkpoints, data
from helpers.networks import models
from helpers.networks.devices import reproducible
from helpers.networks.recipe import Recipe
from helpers.training.augmentation import PADDING
from helpers.training.loop import train

# the learning rate is constant, so a loop without a schedule does the same work
RECIPE = Recipe(
    depth=8, width=16, epochs=1, learning_rate=0.02, warmup_epochs=0.0, schedule="multistep",
    milestones=(1.0,), threads=1,
)  # fmt: skip
SIZES = {  # by tier: the stem's stride, images per step, and a number of epochs that takes seconds
    "mini": {"stem_stride": 2, "batch_size": 32, "epochs": 3},
    "small": {"stem_stride": 1, "batch_size": 128, "epochs": 1},
}


def optimiser_of(
    network: torch.nn.Module, recipe: Recipe, *, fused: bool = False
) -> torch.optim.SGD:
    """Return the recipe's optimiser, with the settings that the loops here use."""
    return torch.optim.SGD(
        network.parameters(), lr=recipe.learning_rate, momentum=recipe.momentum,
        weight_decay=recipe.weight_decay, nesterov=recipe.nesterov, fused=fused,
    )  # fmt: skip


def ours(images: data.Images, recipe: Recipe, seed: int = 0) -> tuple[models.Classifier, float]:
    """Train as the notebooks do; return the network and the loss of the last epoch."""
    classifier = models.create(recipe, len(images.class_names))
    history = train(classifier, images, recipe, seed=seed, device="cpu", progress=False)
    return classifier, history["loss"].iloc[-1]


def bare(images: data.Images, recipe: Recipe) -> models.Classifier:
    """Train with only the necessary steps; return the network."""
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
    """Train a network epoch by epoch over a DataLoader of torchvision's transforms."""

    def __init__(self, network, images: data.Images, recipe: Recipe, *, shuffle: bool = True):
        pixels = PillowImages(images, pillow_transform(images, recipe.augmentation))
        self.loader = DataLoader(pixels, recipe.batch_size, shuffle=shuffle, drop_last=True)
        self.network = network
        self.optimiser = optimiser_of(self.network, recipe)

    def __call__(self) -> float:
        """Train for one epoch; return the mean loss."""
        self.network.train()
        total = 0.0
        for inputs, targets in self.loader:
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
        check_equal(loss, LoaderLoop(network, ordered, recipe, shuffle=False)(), within=1e-3)
    if checkpoints.digest(other.state_dict()) != checkpoints.digest(classifier.state_dict()):
        raise AssertionError("the bare loop's weights are not ours, bit for bit")


def recipe_of(tier: str, **changed) -> Recipe:
    """Return the recipe of the size of a tier."""
    return Recipe.from_parameters(RECIPE.as_dict(), **(SIZES[tier] | changed))


def size_of(recipe: Recipe) -> str:
    """Return the size of a network's training in words."""
    return f"ResNet-8, 32×32, stem stride {recipe.stem_stride}, batch {recipe.batch_size}"


def against_loops(comparison: Comparison, images: data.Images) -> None:
    """Time some epochs of one network on one core, set-up included."""
    torch.set_num_threads(1)
    for tier in SIZES:
        plain, augmented = recipe_of(tier, augmentation=()), recipe_of(tier)
        check(images, plain)
        size = f"ResNet-8, 32×32, stem stride {plain.stem_stride}, batch {plain.batch_size}"
        comparison.add(
            "training, no augmentation", size, "bare loop",
            lambda recipe=plain: ours(images, recipe), lambda recipe=plain: bare(images, recipe),
            note="weights equal bit for bit",
        )  # fmt: skip
        comparison.add(
            "training, crops and flips", size, "bare loop without them",
            lambda recipe=augmented: ours(images, recipe),
            lambda recipe=augmented: bare(images, recipe),
        )  # fmt: skip
        network = plain_network(augmented, len(images.class_names))
        comparison.add(
            "training, crops and flips", size, "DataLoader",
            lambda recipe=augmented: ours(images, recipe), LoaderLoop(network, images, augmented),
            share=1 / augmented.epochs, note="each side draws its crops and flips",
        )  # fmt: skip


def main() -> None:
    """Run all comparisons, and store the results."""
    images = data.load("cifar10_mini", "train")
    comparison = Comparison("training")
    against_loops(comparison, images)
    comparison.write()


if __name__ == "__main__":
    main()
