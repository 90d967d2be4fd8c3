"""One pass of a data set through a network: every image is shown once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from PIL import Image
from tqdm import tqdm

from helpers import cache
from helpers.networks import devices
from helpers.networks.heads import MultiHead
from helpers.networks.mc_dropout import dropout_members
from helpers.outputs import Outputs

if TYPE_CHECKING:
    from helpers.data import Images, ImageStream
    from helpers.networks.backbones import Classifier
    from helpers.networks.model import Network


def compute_once(network: Network, images: Images | ImageStream, key: str, **options) -> Outputs:
    """Return a network's outputs from the cache; `compute` them with these options if not there."""

    def make(path: Path) -> None:
        with devices.reproducible(network.device, network.threads):
            compute(network.classifier, images, device=network.device, **options).save(path)

    return cache.load_or_make(cache.path_of("outputs", key, ".safetensors"), Outputs.load, make)


def compute(
    classifier: Classifier,
    images: Images | ImageStream,
    *,
    device: str = "cpu",
    batch_size: int | None = None,
    passes: int = 0,
    image_size: int | None = None,
    transform: Callable[[Image.Image], np.ndarray] | None = None,
    progress: bool = False,
) -> Outputs:
    """Show every image once to the classifier, in evaluation mode.

    It seeds torch's generator with 0; `helpers.networks.devices.reproducible` keeps the caller's.

    Parameters
    ----------
    classifier : Classifier
        Takes uint8 images [B, 3, H, W].
    images : Images or ImageStream
        Labels are numbered in the model's order of classes, −1 for an unknown class.
    device : str
        Device that computes.
    batch_size : int, optional
        Images per pass; memory on the device grows with it, not with the data set.  The default
        is the result of `helpers.networks.devices.batch_size`.
    passes : int
        Number of further passes over every image with dropout active; these are the members
        (Gal and Ghahramani 2016).
    image_size : int, optional
        Pixels to which the images of a stream are brought.
    transform : callable, optional
        Makes uint8 [3, H, W] of an image; it replaces all other preprocessing.
    progress : bool
        Show a progress bar.

    Returns
    -------
    Outputs
        Outputs in the order of the images.  The members of a network of several heads are the
        probabilities of its heads.  The training algorithm's native measure is included if any.

    Raises
    ------
    ValueError
        No image, or dropout passes through a network of several heads.
    """
    count = len(images)
    if not count:
        raise ValueError("images: at least one expected, got none")
    classifier = classifier.to(device).eval()
    head = classifier.backbone.get_classifier()
    start = 0
    logits: np.ndarray  # the first batch defines the widths of all arrays
    features: np.ndarray
    members: np.ndarray
    native: np.ndarray
    several = isinstance(head, MultiHead)
    if several and passes:
        raise ValueError(f"passes: 0 expected, since the heads are the members, got {passes}")
    torch.manual_seed(0)  # for dropout
    bar = tqdm(total=count, desc="outputs", unit="image", disable=not progress)
    if batch_size is None:
        batch_size = devices.batch_size(classifier, images, size=image_size, transform=transform)
    batches = images.in_order(batch_size=batch_size, size=image_size, transform=transform)
    with torch.inference_mode(), bar:
        for batch in batches:
            batch = batch.to(device)
            classifier.eval()
            hidden, answers = classifier.answer(batch)
            hidden = hidden.float()
            answers = answers.float()
            if not start:  # filled in place: a copy at the end would take twice the memory
                logits = np.empty((count, answers.shape[1]), np.float32)
                features = np.empty((count, hidden.shape[1]), np.float32)
                count_members = head.heads if several else passes
                members = np.empty((count_members, *logits.shape), np.float32)
                native = np.empty(count, np.float32)
            end = start + len(batch)
            features[start:end] = hidden.cpu().numpy()
            logits[start:end] = answers.cpu().numpy()
            if several:
                of_heads = head.members(hidden).softmax(dim=2)
                members[:, start:end] = of_heads.transpose(0, 1).cpu().numpy()
            if classifier.native is not None:
                measure = classifier.native(classifier, batch, hidden, answers)
                native[start:end] = measure.cpu().numpy()
            if passes:
                members[:, start:end] = dropout_members(classifier, batch, passes).cpu().numpy()
            bar.update(len(batch))
            start = end
    classifier.eval()
    for array in (logits, features, members, native):
        array.flags.writeable = False  # so that it is not copied
    return Outputs(
        logits,
        features,
        images.labels,
        members=members if several or passes else None,
        native=None if classifier.native is None else native,
    )
