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


def ours(images: data.Images) -> backbones.Classifier:
    """Train as the notebooks do; return the network."""
    classifier = backbones.create(RECIPE, len(images.class_names))
    train(classifier, images, RECIPE, seed=0, device="cpu", progress=False)
    return classifier


def bare(images: data.Images) -> backbones.Classifier:
    """Train with only the necessary steps; return the network."""
    classifier = backbones.create(RECIPE, len(images.class_names))
    classifier.set_normalisation(images.images)
    optimiser = torch.optim.SGD(
        classifier.parameters(),
        lr=RECIPE.learning_rate,
        momentum=RECIPE.momentum,
        weight_decay=RECIPE.weight_decay,
        nesterov=RECIPE.nesterov,
        fused=True,
    )
    pixels = torch.from_numpy(images.images).permute(0, 3, 1, 2)
    targets = torch.from_numpy(images.labels)
    classifier.train()
    for step in range(len(images) // RECIPE.batch_size):
        batch = slice(step * RECIPE.batch_size, (step + 1) * RECIPE.batch_size)
        loss = torch.nn.functional.cross_entropy(classifier(pixels[batch]), targets[batch])
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()
    return classifier


def main() -> None:
    """Time an epoch on one core, after a check that both loops train the same network."""
    torch.set_num_threads(1)
    images = data.load("cifar10_mini", "train")
    # the order that the first epoch of seed 0 has, see `loop._epoch`
    order = torch.randperm(len(images), generator=torch.Generator().manual_seed(0)).numpy()
    with reproducible("cpu", RECIPE.threads):
        networks = ours(images), bare(images.subset(order))
    assert len({checkpoints.digest(network.state_dict()) for network in networks}) == 1
    size = "ResNet-8, 32×32, batch 128"
    comparison = Comparison("training")
    comparison.add("training", size, "bare loop", lambda: ours(images), lambda: bare(images))
    comparison.write()


if __name__ == "__main__":
    main()
