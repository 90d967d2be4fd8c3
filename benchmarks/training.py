"""Compare the training loop with a bare loop.

The bare loop does only forward, loss, backward and step.  It takes whole batches in order, without
augmentation, schedule, learning curve or checks.

    python -m benchmarks.training
"""

from __future__ import annotations

import torch

from benchmarks.comparing import Comparison
from helpers import checkpoints, data
from helpers.networks import backbones
from helpers.networks.devices import reproducible
from helpers.networks.recipe import Recipe
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


def ours(images: data.Images, recipe: Recipe, seed: int = 0) -> backbones.Classifier:
    """Train as the notebooks do; return the network."""
    classifier = backbones.create(recipe, len(images.class_names))
    train(classifier, images, recipe, seed=seed, device="cpu", progress=False)
    return classifier


def bare(images: data.Images, recipe: Recipe) -> backbones.Classifier:
    """Train with only the necessary steps; return the network."""
    classifier = backbones.create(recipe, len(images.class_names))
    classifier.set_normalisation(images.images)
    optimiser = torch.optim.SGD(
        classifier.parameters(), lr=recipe.learning_rate, momentum=recipe.momentum,
        weight_decay=recipe.weight_decay, nesterov=recipe.nesterov, fused=True,
    )  # fmt: skip
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


def check(images: data.Images, recipe: Recipe) -> None:
    """Refuse to compare loops that do not train the same network on the same batches."""
    recipe = Recipe.from_parameters(recipe.as_dict(), augmentation=(), epochs=1)
    # the order that the first epoch of seed 0 has, see `loop._epoch`
    order = torch.randperm(len(images), generator=torch.Generator().manual_seed(0)).numpy()
    ordered = images.subset(order)
    classifier = ours(images, recipe)
    with reproducible("cpu", recipe.threads):
        other = bare(ordered, recipe)
    if checkpoints.digest(other.state_dict()) != checkpoints.digest(classifier.state_dict()):
        raise AssertionError("the bare loop's weights are not ours, bit for bit")


def against_loops(comparison: Comparison, images: data.Images) -> None:
    """Time some epochs of one network on one core, set-up included."""
    torch.set_num_threads(1)
    for tier in SIZES:
        augmented = Recipe.from_parameters(RECIPE.as_dict(), **SIZES[tier])
        plain = Recipe.from_parameters(augmented.as_dict(), augmentation=())
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


def main() -> None:
    """Run all comparisons, and store the results."""
    comparison = Comparison("training")
    against_loops(comparison, data.load("cifar10_mini", "train"))
    comparison.write()


if __name__ == "__main__":
    main()
