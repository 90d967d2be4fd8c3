"""Features of images by a frozen network: computed once, and stored a part at a time."""

from __future__ import annotations

import importlib.util
import time
import warnings
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
from torch import nn

from helpers.data.features import Backbone, encode, write
from helpers.data.images import Images
from helpers.networks import zoo
from helpers.networks.devices import reproducible

BATCH = 16
"""Images at once on a CPU: the activations of more fall out of the caches of small networks."""
BATCH_ON_GPU = 256
PART = 2000
"""Images in a pack: what an interruption loses at most."""
RUNTIME = ("onnx", "onnxruntime", "onnxscript")
"""What `Compiled` asks for: the extra zoo."""


class Compiled:
    """A network on a CPU as ONNX Runtime computes it: without its head, for images of one size.

    Of EfficientNet-Lite at 160 pixels, on a CPU with AVX2, it takes 0.4 of torch's time: batch
    normalisation is part of the convolutions, and activations stay in the caches between them.
    """

    def __init__(self, source: zoo.Pretrained, size: int):
        import onnxruntime

        self._blank = torch.zeros(BATCH, 3, size, size)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what torch calls itself
            program = torch.onnx.export(
                _WithoutHead(source.classifier), (self._blank,), dynamo=True, verbose=False
            )
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = source.threads
        self._session = onnxruntime.InferenceSession(
            program.model_proto.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        self._input = self._session.get_inputs()[0].name

    def features(self, images: torch.Tensor) -> torch.Tensor:
        """Return what `Classifier.features` does, but for rounding, of `BATCH` images at most."""
        whole = torch.cat([images, self._blank[len(images) :]])  # it takes batches of one size
        found = self._session.run(None, {self._input: whole.contiguous().numpy()})[0]
        return torch.from_numpy(found)[: len(images)]


class _WithoutHead(nn.Module):
    def __init__(self, classifier: nn.Module):
        super().__init__()
        self.classifier = classifier.eval()

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.classifier.features(images)


def open_network(backbone: Backbone, *, threads: int = 1, **options) -> zoo.Pretrained:
    """Load the frozen network, on a CPU as `Compiled` where the extra zoo is installed."""
    source = zoo.load(backbone.network, threads=threads, **options)
    if not source.sha256.startswith(backbone.weights):
        raise ValueError(
            f"weights: {source.source} has other weights of '{backbone.network}' "
            f"({source.sha256[:16]}) than asked for ({backbone.weights})"
        )
    on_cpu = torch.device(source.device).type == "cpu"
    if on_cpu and all(map(importlib.util.find_spec, RUNTIME)):
        return replace(source, classifier=Compiled(source, backbone.size))
    return source


def features_of(source: zoo.Pretrained, images: Images, size: int) -> np.ndarray:
    """Return what a network makes of images, each brought to `size` pixels as a whole.

    Nothing is cropped: small images fill their frame, and what is cut off would be of the object.
    """
    found, batch_size = [], BATCH if torch.device(source.device).type == "cpu" else BATCH_ON_GPU
    with reproducible(source.device, source.threads), torch.inference_mode():
        for batch in images.in_order(batch_size=batch_size):
            pixels = batch.to(source.device).float()
            if tuple(pixels.shape[2:]) != (size, size):
                pixels = nn.functional.interpolate(
                    pixels, (size, size), mode="bicubic", align_corners=False, antialias=True
                ).clamp(0, 255)  # fmt: skip
            pixels = pixels.contiguous(memory_format=torch.channels_last)
            found.append(source.classifier.features(pixels).float().cpu().numpy())
    return np.concatenate(found)


def store(
    backbone: Backbone,
    source: zoo.Pretrained,
    images: Images,
    *,
    done: Callable[[int], object] = lambda count: None,
    part: int = PART,
) -> None:
    """Store the features of images in packs of at most `part` images; a pack is whole or absent."""
    for start in range(0, len(images), part):
        some, begun = images.subset(slice(start, start + part)), time.monotonic()
        codes = encode(features_of(source, some, backbone.size), backbone.top)
        seconds = time.monotonic() - begun
        write(backbone, some, codes, weights=source.sha256, seconds=seconds)
        done(len(some))
