"""Exported networks: small files, found by the training's inputs, independent of the code.

``results/<tier>/networks/<chapter>/`` contains the networks of the repository; networks trained
here and not committed yet are in ``CACHE_ROOT/exports``.

A slice of the training images contains images that a finished network has learnt, so none of them
can be held out.  The folder ``held_out`` beside a network has its outputs on the images that were
held out of its training: ``workflow/held_out.py`` writes them.
"""

from __future__ import annotations

import copy
import functools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from safetensors import SafetensorError, safe_open

from helpers import checkpoints
from helpers.files import cache_root, project_root, sha256_file
from helpers.networks.devices import precision_on, processor, reproducible
from helpers.networks.inference import compute
from helpers.networks.recipe import Recipe
from helpers.outputs import Outputs

if TYPE_CHECKING:
    from helpers.data import Images, ImageStream
    from helpers.networks.backbones import Classifier
    from helpers.training.fitted import Fitted

#: Largest change of the test accuracy by half precision: 0.02 points.
TOLERANCE = 2e-4
#: The folder of outputs on held-out images, beside the networks.
HELD_OUT = "held_out"
#: Formats, the smallest file first: weights with at least so many dimensions in half precision.
FORMATS = {"float16": 0, "float16, vectors float32": 2, "float16 kernels": 4, "float32": 9}


def find(origin: Mapping, recipe: Recipe) -> Path | None:
    """Return the exported network of this recipe, these images and this seed; None without one."""
    for root in (project_root() / "results", cache_root() / "exports"):
        # a name with a dot in front is of a file that another process writes
        for path in sorted(root.glob("*/networks/*/[!.]*.safetensors")):
            candidate = _read(path, path.stat().st_mtime_ns)
            if candidate["origin"] == origin and _recipe(candidate["recipe"]) == recipe:
                return path
    return None


def find_finished(
    folder: Path, recipe: Recipe, class_names: Sequence[str], seed: int
) -> Path | None:
    """Return the exported network in a folder with this recipe, these classes and this seed.

    Its training images are not compared: the images at hand may be a slice of the whole set.

    Raises
    ------
    ValueError
        If there are several.
    """
    matching = []
    for path in sorted(folder.glob("[!.]*.safetensors")):
        candidate = _read(path, path.stat().st_mtime_ns)
        same_training = candidate["origin"]["seed"] == seed and (
            _recipe(candidate["recipe"]) == recipe
        )
        if same_training and candidate["class_names"] == list(class_names):
            matching.append(path)
    if len(matching) > 1:
        names = ", ".join(path.name for path in matching)
        raise ValueError(f"{folder}: one network for these inputs expected, got {names}")
    return matching[0] if matching else None


def load(path: Path) -> tuple[dict[str, torch.Tensor], dict]:
    """Return the tensors of an exported network and its metadata."""
    try:
        return checkpoints.load(path)
    except ValueError as error:
        raise _rejection(path, error) from error


def save(network: Fitted, test: Images | ImageStream, path: Path, **about) -> float:
    """Write an exported network, and return its test accuracy.

    Weights are in the first of `FORMATS` that changes the accuracy by at most `TOLERANCE`.
    Running statistics and pixel normalisation stay in float32; they are small.
    """
    recipe = network.recipe
    device = network.device
    with reproducible(device, recipe.threads):
        full = _accuracy(network.classifier, test, network)
        copied = copy.deepcopy(network.classifier)
        state = network.classifier.state_dict()
        for stored in FORMATS:
            halved = {n for n, w in copied.named_parameters() if w.ndim >= FORMATS[stored]}
            tensors = {n: t.half() if n in halved else t for n, t in state.items()}
            copied.load_state_dict(tensors)
            try:
                accuracy = _accuracy(copied, test, network)
            except ValueError:  # outputs are infinite, since a weight is above half precision
                continue
            if abs(accuracy - full) <= TOLERANCE:
                break
    checkpoints.save(
        path,
        tensors,
        origin=network.origin,
        recipe=recipe.as_dict(),
        history=network.history.to_dict("list"),
        seconds=network.seconds,
        device_name=network.device_name,
        precision=precision_on(device, recipe.precision),
        stored=stored,
        test_accuracy=accuracy,
        test_images=test.sha256,
        class_names=list(test.class_names),
        processor=processor(),
        **about,
    )
    return accuracy


def save_held_out(
    network: Fitted, images: Images | ImageStream | None, **further: np.ndarray
) -> Path:
    """Write a network's outputs on its held-out images, and return the file.

    Logits, and members and native scores if there are any, are stored in half precision, without
    the features.  `further` are other arrays that the network's training images decide; without
    images they are all.
    """
    stored = dict(further)
    if images is not None:
        outputs = network.outputs(images)
        for name in ("logits", "members", "native"):
            array = getattr(outputs, name)
            if array is not None:
                stored[name] = array.astype(np.float16)
        stored["labels"] = outputs.labels.astype(np.int16)
    path = _beside(network.path)
    sha256 = "" if images is None else images.sha256
    checkpoints.save(path, stored, network=network.sha256, images=sha256)
    return path


def held_out(path: Path) -> Outputs:
    """Return the outputs of an exported network on its held-out images; they have no features."""
    stored = kept(path)
    arrays = {name: stored[name] for name in ("members", "native") if name in stored}
    logits = stored["logits"]
    return Outputs(logits, np.empty((len(logits), 0)), stored["labels"], **arrays)


def kept(path: Path) -> dict[str, np.ndarray]:
    """Return all arrays of `save_held_out` for an exported network.

    Raises
    ------
    FileNotFoundError
        If there are none.
    """
    file = _beside(path)
    if not file.exists():
        tier = path.parts[-4]
        raise FileNotFoundError(
            f"{file}: the outputs of {path.name} on its held-out images are expected here; "
            f"restore them with git, or compute them: `python workflow/held_out.py {tier} "
            f"{path.parent.name}`"
        )
    arrays, _ = checkpoints.load(file, framework="np")
    return arrays


def held_out_digest(path: Path) -> str:
    """Return the SHA-256 of the file of `save_held_out`; empty without one."""
    file = _beside(path)
    return sha256_file(file) if file.is_file() else ""


def _beside(path: Path) -> Path:
    return path.parent / HELD_OUT / path.name


def _accuracy(classifier: Classifier, test: Images | ImageStream, network: Fitted) -> float:
    size = network.recipe.image_size
    outputs = compute(classifier, test, device=network.device, image_size=size)
    return float(outputs.correct.mean())


@functools.cache
def _read(path: Path, changed: int) -> dict:
    """Return the metadata of an export without its tensors, once for each state of a file."""
    try:
        with safe_open(path, framework="np") as file:
            return json.loads(file.metadata()["information"])
    except (SafetensorError, OSError, LookupError, TypeError, ValueError) as error:
        raise _rejection(path, error) from error


def _recipe(values: Mapping) -> Recipe | None:
    try:
        return Recipe.from_parameters(values)
    except ValueError:  # of other code, whose recipes have more fields
        return None


def _rejection(path: Path, error: Exception) -> ValueError:
    return ValueError(
        f"{path}: this exported network was modified or is not whole; restore it with git, or set "
        f"TRAINING=anew to train it again ({error})"
    )
