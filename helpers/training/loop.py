"""The one training loop."""

from __future__ import annotations

import logging
import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import torch
from torch import nn
from tqdm import tqdm

from helpers import checkpoints
from helpers.checks import label_array
from helpers.data.images import Images
from helpers.networks.backbones import Classifier
from helpers.networks.devices import default_device, reproducible
from helpers.networks.recipe import Recipe
from helpers.training import objectives
from helpers.training.batches import Batches, batches_of, sample_of, shuffled
from helpers.training.objectives import Batch
from helpers.training.step import Step

if TYPE_CHECKING:
    from helpers.data import ImageStream

log = logging.getLogger(__name__)


def learning_rate(recipe: Recipe, step: int, steps: int, steps_per_epoch: int) -> float:
    """Return the learning rate of a step, counted from 0, of `steps` in all.

    Examples
    --------
    >>> recipe = Recipe(learning_rate=0.1, schedule="multistep", warmup_epochs=0.0)
    >>> [learning_rate(recipe, step, 100, 10) for step in (0, 50, 75)]  # doctest: +ELLIPSIS
    [0.1, 0.01..., 0.001...]
    """
    warmup = recipe.warmup_epochs * steps_per_epoch
    if step < warmup:
        return recipe.learning_rate * (step + 1) / (math.ceil(warmup) + 1)
    if recipe.schedule == "cosine":
        progress = (step - warmup) / max(steps - warmup, 1)
        return recipe.learning_rate * 0.5 * (1 + math.cos(math.pi * progress))
    passed = sum(step >= milestone * steps for milestone in recipe.milestones)
    return recipe.learning_rate * 0.1**passed


def train(
    classifier: Classifier,
    images: Images | ImageStream,
    recipe: Recipe,
    *,
    outliers: Images | ImageStream | None = None,
    teacher: Classifier | None = None,
    seed: int = 0,
    device: str | None = None,
    checkpoint: Path | None = None,
    checkpoint_seconds: float = 30.0,
    progress: bool = True,
) -> pd.DataFrame:
    """Train a classifier in place.

    Images in memory stay on the device as uint8; no operation within an epoch waits for the device.

    Parameters
    ----------
    classifier : Classifier
        From `backbones.create`; it takes the normalisation of these images.
    images : Images or ImageStream
        N images with labels 0 … K − 1.
    recipe : Recipe
        Objective, batches, schedule, augmentation.
    outliers : Images or ImageStream, optional
        Images of none of the classes, for objectives that use them; their labels do not matter.
        If a random order of them ends within an epoch, a new one begins, so their number is free.
    teacher : Classifier, optional
        A trained network of the same classes, for objectives that learn from a network.
    seed : int
        Seed of the order of the images and of the augmentation.
    device : str, optional
        A GPU by default if available.
    checkpoint : Path, optional
        File with the state between epochs.  From a complete file, training continues, and ends
        on a CPU with exactly the weights of an uninterrupted run.
    checkpoint_seconds : float
        Least time between two checkpoints, in seconds.
    progress : bool
        Show a progress bar.

    Returns
    -------
    DataFrame
        The learning curve, a row per epoch: ``epoch`` (from 1), ``loss``, ``accuracy`` (on the
        augmented batches during training), ``learning_rate`` (of the last step), ``seconds``, and
        further columns of the objective (`ERM.finish`).
    """
    classes = classifier.backbone.num_classes
    labels = label_array("images: labels", images.labels, classes=classes)
    device = device or default_device()
    objective = objectives.create(recipe.objective, **recipe.objective_arguments)
    if not objective.needs_outliers:
        outliers = None
    elif outliers is None:
        raise ValueError(f"outliers: objective '{recipe.objective}' needs them, got none")
    elif _size(images, recipe) != _size(outliers, recipe):
        raise ValueError(f"outliers: images of {_size(images, recipe)} pixels expected")
    if recipe.backbone == "vit" and set(_size(images, recipe)) != {recipe.image_size}:
        raise ValueError(
            f"image_size: images of {recipe.image_size} pixels expected, whose patches the network "
            f"has, got {_size(images, recipe)[0]} pixels"
        )
    if objective.needs_teacher:
        if teacher is None:
            raise ValueError(f"teacher: objective '{recipe.objective}' needs one, got none")
        objective.teacher = teacher.to(device).eval().requires_grad_(False)
    sample = sample_of(images, recipe)
    classifier.set_normalisation(sample)
    if classifier.native is not None:
        classifier.native.learn(sample, labels)
    classifier = classifier.to(device)
    objective.start(len(images), recipe.epochs, device)
    optimiser = optimiser_of(classifier, recipe, device)
    epochs = _resume(checkpoint, classifier, optimiser, objective) if checkpoint else []
    with reproducible(device, recipe.threads):
        running = _Training(
            recipe,
            seed,
            device,
            Step(classifier, objective, optimiser, device, recipe.precision),
            batches_of(images, recipe, device),
            None if outliers is None else batches_of(outliers, recipe, device),
            torch.from_numpy(labels).to(device),
        )
        saved = time.monotonic()
        bar = tqdm(
            range(len(epochs), recipe.epochs),
            initial=len(epochs),
            total=recipe.epochs,
            desc="training",
            unit="epoch",
            disable=not progress,
        )
        for epoch in bar:
            row = _epoch(running, epoch)
            epochs.append(row)
            bar.set_postfix(loss=f"{row['loss']:.3f}", accuracy=f"{row['accuracy']:.3f}")
            due = time.monotonic() - saved >= checkpoint_seconds
            if checkpoint and due and epoch + 1 < recipe.epochs:
                _keep(checkpoint, classifier, optimiser, objective, epochs)
                saved = time.monotonic()
        after = objective.finish(classifier, images, recipe, seed=seed, device=device)
    return pd.DataFrame(epochs).assign(**after)


def optimiser_of(network: nn.Module, recipe: Recipe, device: str) -> torch.optim.Optimizer:
    """Return the recipe's optimiser of all parameters of a network on the device."""
    on_gpu = torch.device(device).type == "cuda"
    decay = recipe.weight_decay
    rate: float | torch.Tensor = recipe.learning_rate
    if on_gpu:  # a recorded step reads its learning rate from the device
        rate = torch.tensor(rate, device=device)
    weights = network.parameters()
    if recipe.optimiser == "adamw":
        return torch.optim.AdamW(weights, rate, weight_decay=decay, fused=True, capturable=on_gpu)
    nesterov = recipe.nesterov and recipe.momentum > 0
    return torch.optim.SGD(
        weights, rate, recipe.momentum, weight_decay=decay, nesterov=nesterov, fused=True
    )


def _size(images: Images | ImageStream, recipe: Recipe) -> tuple[int, int]:
    """Return the height and width of the images that the network receives."""
    if isinstance(images, Images):
        return images.images.shape[1:3]
    return recipe.image_size, recipe.image_size


@dataclass(frozen=True)
class _Training:
    """What stays the same from epoch to epoch."""

    recipe: Recipe
    seed: int
    device: str
    step: Step
    images: Batches
    outliers: Batches | None
    labels: torch.Tensor


def _epoch(training: _Training, epoch: int) -> dict:
    """Run one epoch; its random numbers depend on the seed and the epoch alone."""
    start = time.monotonic()
    recipe = training.recipe
    device = training.device
    step = training.step
    step.classifier.train()
    seed = training.seed * 100_003 + epoch
    torch.manual_seed(seed)  # for dropout; the generators below for the rest
    generator = torch.Generator(device).manual_seed(seed)
    count = len(training.labels)
    batch_size = min(recipe.batch_size, count)
    # the last, smaller batch is left out: batch statistics of a few images are inaccurate,
    # and the order of another epoch leaves out other images
    steps = count // batch_size
    order = torch.randperm(count, generator=generator, device=device)[: steps * batch_size]
    batches = training.images.take(order, batch_size, generator)
    if training.outliers is not None:
        wanted = step.objective.ratio * batch_size
        # a separate generator: outliers do not depend on how many numbers the images use
        other = torch.Generator(device).manual_seed(seed + 50_000)
        more = shuffled(len(training.outliers), steps * wanted, other)
        outliers = training.outliers.take(more, wanted, other)
    losses = torch.empty(steps, device=device)
    total_correct = torch.zeros((), dtype=torch.int64, device=device)
    for number, images in enumerate(batches):
        done = epoch * steps + number
        rate = learning_rate(recipe, done, recipe.epochs * steps, steps)
        set_rate(step.optimiser, rate)
        indices = order[number * batch_size : (number + 1) * batch_size]
        others = None if training.outliers is None else next(outliers)
        batch = Batch(
            step.objective.views(images, others, generator),
            training.labels[indices],
            indices,
            torch.full((), done / steps, device=device),
            step.objective.draw(len(indices), generator),
        )
        loss, correct = step(batch)
        losses[number] = loss
        total_correct += correct
    accuracy = total_correct.double() / (steps * len(indices))
    finite = torch.isfinite(losses)
    if not finite.all():
        number = int((~finite).float().argmax())
        done = epoch * steps + number
        rate = learning_rate(recipe, done, recipe.epochs * steps, steps)
        raise FloatingPointError(
            f"the loss became {losses[number].item()} at step {done} (epoch {epoch + 1}) with "
            f"learning rate {rate:.4g}: try a lower learning_rate (now {recipe.learning_rate:g}) "
            "or more warmup_epochs"
        )
    return {
        "epoch": epoch + 1,
        "loss": losses.mean().item(),
        "accuracy": accuracy.item(),
        "learning_rate": rate,
        "seconds": time.monotonic() - start,
    }


def set_rate(optimiser: torch.optim.Optimizer, rate: float) -> None:
    """Give an optimiser another learning rate."""
    for group in optimiser.param_groups:
        if isinstance(group["lr"], torch.Tensor):
            group["lr"].fill_(rate)
        else:
            group["lr"] = rate


def _keep(path: Path, classifier, optimiser, objective, epochs: list[dict]) -> None:
    tensors = {f"model.{name}": value for name, value in classifier.state_dict().items()}
    for number, parameter in enumerate(classifier.parameters()):
        for name, value in optimiser.state[parameter].items():
            if value is not None:  # no momentum buffer without momentum
                tensors[f"optimiser.{name}.{number}"] = value
    tensors |= {f"objective.{name}": value for name, value in objective.state().items()}
    checkpoints.save(path, tensors, epochs=epochs)


def _resume(path: Path, classifier, optimiser, objective) -> list[dict]:
    """Put back the state that `_keep` wrote and return the epochs already done."""
    if not path.exists():
        return []
    try:
        tensors, information = checkpoints.load(path)
    except ValueError as error:
        path.unlink()
        log.warning("start again, since the checkpoint is damaged: %s", error)
        return []
    state = {name: value for name, value in tensors.items() if name.startswith("model.")}
    classifier.load_state_dict({name.removeprefix("model."): v for name, v in state.items()})
    parameters = list(classifier.parameters())
    for key in tensors:
        if key.startswith("optimiser."):
            _, name, number = key.split(".")
            value = tensors[key]
            parameter = parameters[int(number)]
            # in the parameter's memory format, if it has its shape
            like = parameter if value.shape == parameter.shape else value
            copied = torch.empty_like(like, device=parameter.device).copy_(value)
            optimiser.state[parameter][name] = copied
    for name, value in objective.state().items():
        value.copy_(tensors[f"objective.{name}"])
    return information["epochs"]
