"""The one training loop."""

from __future__ import annotations

import contextlib
import logging
import math
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from tqdm import tqdm

from helpers import checkpoints
from helpers.checks import label_array
from helpers.models import Classifier
from helpers.training.augmentation import crop_and_flip, pad
from helpers.training.objectives import ERM
from helpers.training.recipe import Recipe

log = logging.getLogger(__name__)


def default_device() -> str:
    """Return ``cuda`` where there is one, else ``cpu``."""
    return "cuda" if torch.cuda.is_available() else "cpu"


def device_name(device: str, threads: int) -> str:
    """Return a device in words, as the results table names it.

    Examples
    --------
    >>> device_name("cpu", 1)
    'cpu, 1 thread'
    """
    if torch.device(device).type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"cpu, {threads} thread{'s' if threads > 1 else ''}"


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
    return recipe.learning_rate * 0.1 ** ((step >= steps / 2) + (step >= 3 * steps / 4))


@contextlib.contextmanager
def reproducible(device: str, threads: int) -> Iterator[None]:
    """Fix the number of CPU threads and deterministic kernels; put back what was there.

    The random state that the caller sees is left as it was, too.
    """
    on_cpu = torch.device(device).type == "cpu"
    settings = torch.utils.deterministic
    before = (
        torch.get_num_threads(),
        torch.are_deterministic_algorithms_enabled(),
        settings.fill_uninitialized_memory,
    )
    torch.set_num_threads(threads)
    if on_cpu:  # on a GPU determinism costs speed and is not promised
        torch.use_deterministic_algorithms(True)
        settings.fill_uninitialized_memory = False  # only code that reads such memory needs it
    try:
        with torch.random.fork_rng(devices=[] if on_cpu else [torch.device(device)]):
            yield
    finally:
        torch.set_num_threads(before[0])
        torch.use_deterministic_algorithms(before[1])
        settings.fill_uninitialized_memory = before[2]


def train(
    classifier: Classifier,
    images: np.ndarray,
    labels: np.ndarray,
    recipe: Recipe,
    *,
    seed: int = 0,
    objective: Callable = ERM(),  # noqa: B008  (it has no state)
    device: str | None = None,
    checkpoint: Path | None = None,
    checkpoint_seconds: float = 30.0,
    progress: bool = True,
) -> pd.DataFrame:
    """Train a classifier in place.

    The images stay on the device as uint8; within an epoch nothing waits for the device.

    Parameters
    ----------
    classifier : Classifier
        From `models.create`; it takes the normalisation of these images.
    images : ndarray of uint8, shape [N, H, W, 3]
    labels : ndarray of int64, shape [N]
        0 … K − 1.
    recipe : Recipe
        Batches, schedule, augmentation.
    seed : int
        Of the order of the images and of the augmentation.
    objective : callable
        ``(classifier, images, labels) -> (loss, logits)``.
    device : str, optional
        By default a GPU if there is one.
    checkpoint : Path, optional
        Where to keep the state between epochs. If a whole one is there, training goes on
        from it and ends with the very weights that an uninterrupted run has.
    checkpoint_seconds : float
        Least time between two checkpoints, in seconds.
    progress : bool
        Show a progress bar.

    Returns
    -------
    DataFrame
        The learning curve, a row per epoch: ``epoch`` (from 1), ``loss``, ``accuracy`` (on the
        augmented batches as they came), ``learning_rate`` (of the last step), ``seconds``.

    Raises
    ------
    ValueError
        Lengths or types do not match.
    FloatingPointError
        The loss is not finite; names the step and its learning rate.
    """
    if images.dtype != np.uint8 or images.ndim != 4 or images.shape[-1] != 3:
        raise ValueError(f"images: uint8 [N, H, W, 3] expected, got {images.dtype} {images.shape}")
    classes = classifier.backbone.num_classes
    labels = label_array("labels", labels, classes=classes, length=len(images))
    device = device or default_device()
    classifier.set_normalisation(images)
    classifier = classifier.to(device)
    optimiser = torch.optim.SGD(
        classifier.parameters(),
        lr=recipe.learning_rate,
        momentum=recipe.momentum,
        nesterov=recipe.momentum > 0,
        weight_decay=recipe.weight_decay,
        fused=True,
    )
    epochs = _resume(checkpoint, classifier, optimiser) if checkpoint else []
    with reproducible(device, recipe.threads):
        pixels = torch.from_numpy(images).to(device)
        if "crop" in recipe.augmentation:
            pixels = pad(pixels)
        targets = torch.from_numpy(labels).to(device)
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
            row = _epoch(
                classifier, objective, optimiser, pixels, targets, images.shape[1:3], recipe,
                seed, epoch, device,
            )  # fmt: skip
            epochs.append(row)
            bar.set_postfix(loss=f"{row['loss']:.3f}", accuracy=f"{row['accuracy']:.3f}")
            due = time.monotonic() - saved >= checkpoint_seconds
            if checkpoint and due and epoch + 1 < recipe.epochs:
                _keep(checkpoint, classifier, optimiser, epochs)
                saved = time.monotonic()
    return pd.DataFrame(epochs)


def _epoch(
    classifier, objective, optimiser, pixels, targets, size, recipe, seed, epoch, device
) -> dict:
    """Run one epoch; its random numbers depend on the seed and the epoch alone."""
    start = time.monotonic()
    classifier.train()
    torch.manual_seed(seed * 100_003 + epoch)  # for dropout; the generator below for the rest
    generator = torch.Generator(device).manual_seed(seed * 100_003 + epoch)
    batch = min(recipe.batch_size, len(targets))
    order = torch.randperm(len(targets), generator=generator, device=device)
    # the last, smaller batch is left out: batch statistics of a few images are poor ones,
    # and another epoch's order brings other images there
    steps_per_epoch = len(targets) // batch
    losses = torch.empty(steps_per_epoch, device=device)
    right = torch.zeros((), dtype=torch.int64, device=device)
    kind = torch.device(device).type
    autocast = torch.autocast(kind, torch.bfloat16, enabled=kind == "cuda")
    for number in range(steps_per_epoch):
        step = epoch * steps_per_epoch + number
        rate = learning_rate(recipe, step, recipe.epochs * steps_per_epoch, steps_per_epoch)
        for group in optimiser.param_groups:
            group["lr"] = rate
        indices = order[number * batch : (number + 1) * batch]
        inputs = crop_and_flip(pixels, indices, size, recipe.augmentation, generator)
        wanted = targets[indices]
        with autocast:
            loss, logits = objective(classifier, inputs, wanted)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()
        losses[number] = loss.detach()
        right += (logits.detach().argmax(dim=1) == wanted).sum()
    finite = torch.isfinite(losses)
    if not finite.all():
        number = int((~finite).float().argmax())
        step = epoch * steps_per_epoch + number
        rate = learning_rate(recipe, step, recipe.epochs * steps_per_epoch, steps_per_epoch)
        raise FloatingPointError(
            f"the loss became {losses[number].item()} at step {step} (epoch {epoch + 1}) with "
            f"learning rate {rate:.4g}: try a lower learning_rate (now {recipe.learning_rate:g}) "
            "or more warmup_epochs"
        )
    return {
        "epoch": epoch + 1,
        "loss": losses.mean().item(),
        "accuracy": right.item() / (steps_per_epoch * batch),
        "learning_rate": rate,
        "seconds": time.monotonic() - start,
    }


def _keep(path: Path, classifier, optimiser, epochs: list[dict]) -> None:
    tensors = {f"model.{name}": value for name, value in classifier.state_dict().items()}
    for number, parameter in enumerate(classifier.parameters()):
        buffer = optimiser.state[parameter].get("momentum_buffer")
        if buffer is not None:  # there is none without momentum
            tensors[f"momentum.{number}"] = buffer
    checkpoints.save(path, tensors, epochs=epochs)


def _resume(path: Path, classifier, optimiser) -> list[dict]:
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
    for number, parameter in enumerate(classifier.parameters()):
        buffer = tensors.get(f"momentum.{number}")
        if buffer is not None:
            kept = torch.empty_like(parameter).copy_(buffer)  # in the parameter's memory format
            optimiser.state[parameter]["momentum_buffer"] = kept
    return information["epochs"]
