"""Pretrained networks by name, each with its preprocessing: timm's, and published ones.

Weights are loaded from this machine, and downloaded only with ``download=True``.  Outputs are
cached by content, as for a network trained here (see `helpers.training.fitted`).
"""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import PIL
import torch
from PIL import Image
from torch import nn

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # optional parts of timm that this project does not use
    import timm

from helpers import cache, checkpoints
from helpers.checks import known_name
from helpers.data.class_lists import wnids_of
from helpers.data.images import Images
from helpers.data.stream import ImageStream
from helpers.networks import timm_weights, zoo_cifar, zoo_records
from helpers.networks.backbones import Classifier
from helpers.networks.chosen_device import chosen_device
from helpers.networks.devices import VERSIONS, device_name
from helpers.networks.heads import Backbone
from helpers.networks.inference import compute_once
from helpers.networks.zoo_imagenet import CentreCrop
from helpers.outputs import Head, Outputs

CENTRE = "centre crop"  # a photograph is seen as `CentreCrop` shows it
TOLERANCE = 1e-3  # of the largest logit, between a network's own logits and its head's

# read now, when the code is loaded: the files may change before a long run uses them
COMPUTING = cache.code(
    "helpers.networks.zoo._classifier", "helpers.networks.zoo._transform",
    "helpers.networks.inference", "helpers.data.images.Images",
)  # fmt: skip


@dataclass(frozen=True)
class Pretrained:
    """A pretrained network with its preprocessing and its names of classes.

    Attributes
    ----------
    name : str
        Name in timm, or name of a record of `helpers.networks.zoo_records`.
    source : str
        Source of its weights, in words.
    classifier : Classifier
        In evaluation mode, on the device.
    preprocessing : dict
        timm's data configuration: size, interpolation and crop of the images.
    class_names : tuple of str
        The classes of a published network's data set, ImageNet's wnids for a network of timm with
        1000 classes; otherwise "0" … "K − 1".
    device : str
        Device on which `outputs` computes.
    sha256 : str
        Digest of the weights, including the normalisation of the pixels.
    threads : int
        Number of CPU threads.
    progress : bool
        Whether `outputs` shows a progress bar.
    """

    name: str
    source: str
    classifier: Classifier
    preprocessing: dict
    class_names: tuple[str, ...]
    device: str
    sha256: str
    threads: int = 1
    progress: bool = True
    seconds = 0.0  # of training, here

    @property
    def head(self) -> Head | None:
        """The last linear layer, weight [K, D] and bias [K]; None if it has another end."""
        return self.classifier.head

    @property
    def device_name(self) -> str:
        """The device on which it computes, in words."""
        return device_name(self.device, self.threads)

    @cached_property
    def transform(self) -> Callable[[Image.Image], np.ndarray]:
        """The preprocessing of its authors' evaluation: a Pillow image to uint8 [3, H, W].

        The classifier normalises the pixels.
        """
        return _transform(self.preprocessing)

    @property
    def view(self) -> dict:
        """How it sees images, as arguments of ``images.in_order``."""
        return {"transform": self.transform}

    def outputs(self, images: Images | ImageStream, *, passes: int = 0) -> Outputs:
        """Return the outputs of a data set, from the cache if the network has seen it."""
        images = self._numbered(images)
        key = cache.key(
            network=self.name,
            weights=self.sha256,
            images=images.sha256,
            preprocessing=self.preprocessing,
            passes=passes,
            code=COMPUTING,
            pillow=PIL.__version__,  # it resizes
            **VERSIONS,
        )

        options = {"passes": passes, "transform": self.transform, "progress": self.progress}
        outputs = compute_once(self, images, key, **options)
        if self.name in zoo_records.records():
            zoo_records.find(self.name).check_accuracy(images, outputs)
        return outputs

    def _numbered(self, images: Images | ImageStream) -> Images | ImageStream:
        """Return images with labels as the network numbers its classes."""
        if images.class_names == self.class_names:
            return images
        if set(images.class_names) & set(self.class_names):
            return images.renumber(self.class_names)
        if (images.labels >= 0).any():
            raise ValueError(
                f"images: {images.name} has labels of {len(images.class_names)} classes, and "
                f"'{self.name}' knows {len(self.class_names)} others; if none of the images "
                "shows one of these classes, pass images.unknown()"
            )
        return images


def load(
    name: str,
    *,
    weights: Path | str | None = None,
    download: bool = False,
    device: str | None = None,
    threads: int = 1,
    progress: bool = True,
) -> Pretrained:
    """Load a pretrained network: a published one, or one of timm.

    For the file of a published network see `helpers.networks.zoo_records`.  The weights of timm are
    loaded from the first source that has them, see `helpers.networks.timm_weights.locate`.

    Parameters
    ----------
    name : str
        A name of `helpers.networks.zoo_records.records`, a name of ``timm.list_models()``, alone or
        with the tag of certain weights (``resnet50.tv_in1k``), or a name of
        `helpers.networks.timm_weights.TORCHVISION`, whose weights timm does not have.
    weights : path, optional
        A safetensors file, or a file of PyTorch that contains only tensors.
    download : bool
        Allow a download from Hugging Face or PyTorch's server for missing files.
    device : str, optional
        A GPU by default if available.
    threads : int
        Number of CPU threads.
    progress : bool
        Show a progress bar while `Pretrained.outputs` computes.

    Examples
    --------
    >>> load("tf_efficientnet_light0")
    Traceback (most recent call last):
        ...
    ValueError: unknown model 'tf_efficientnet_light0'; did you mean 'tf_efficientnet_lite0'? \
timm.list_models() and helpers.networks.zoo_records.records() name all
    """
    if name in zoo_records.records():
        model, source, preprocessing, class_names = _published(name, weights)
    else:
        model, source, preprocessing, class_names = _timms(name, weights, download)
    classifier = _classifier(model, name, preprocessing).to(memory_format=torch.channels_last)
    device = chosen_device(device)
    return Pretrained(
        name=name,
        source=source,
        classifier=classifier.to(device),
        preprocessing=preprocessing,
        class_names=class_names,
        device=device,
        sha256=checkpoints.digest(classifier.state_dict()),
        threads=threads,
        progress=progress,
    )


def _published(name: str, weights: Path | str | None) -> tuple[Backbone, str, dict, tuple]:
    """Make a published network for images of its size; other images are resized or cropped.

    Return the network, the source of its weights, its preprocessing, and the names of its classes.
    """
    record = zoo_records.find(name)
    path = timm_weights.existing(weights) if weights is not None else record.locate()
    tensors = record.read(path, custom=weights is not None)
    try:
        model = zoo_cifar.create(
            record.architecture, len(record.class_names), tensors, **record.arguments
        )
    except ValueError as error:
        raise ValueError(f"weights: {path} does not fit '{name}': {error}") from error
    interpolation = "bicubic" if record.size == 32 else CENTRE
    preprocessing = {
        "input_size": (3, record.size, record.size), "interpolation": interpolation,
        "crop_pct": 1.0, "mean": record.mean, "std": record.std,
    }  # fmt: skip
    return model, f"{record.source}, file {path.name}", preprocessing, record.class_names


def _timms(name: str, weights: Path | str | None, download: bool) -> tuple:
    """Make a network of timm as `_published`; classes whose names are not known have numbers."""
    _check_name(name)
    path, source = timm_weights.locate(name, weights, download=download)
    preprocessing = timm_weights.preprocessing(name)
    known = name.partition(".")[0] if name in timm_weights.TORCHVISION else name
    with torch.random.fork_rng(devices=[]):  # timm draws weights before it replaces them
        tensors = zoo_records.read_tensors(path)
        if timm_weights.ordered(known, tensors):
            tensors = timm_weights.rename(tensors, timm.create_model(known), path)
        try:
            # timm converts the names and layouts of other libraries
            overlay = {"state_dict": tensors} | preprocessing
            options = _number_of_classes(known, tensors)
            overlay |= options
            model = timm.create_model(
                known, pretrained=True, pretrained_cfg_overlay=overlay, **options
            ).eval()
        except (RuntimeError, KeyError) as error:
            raise ValueError(f"weights: {path} does not fit '{name}': {error}") from error
    model.pretrained_cfg.pop("state_dict", None)  # or the weights would be held twice
    preprocessing = timm.data.resolve_model_data_config(model)
    if model.num_classes == 1000:
        names = tuple(wnids_of("imagenet"))
    else:
        names = tuple(map(str, range(model.num_classes)))
    return model, source, preprocessing, names


def _number_of_classes(name: str, tensors: Mapping[str, torch.Tensor]) -> dict[str, int]:
    """Return timm's argument for weights that somebody fine-tuned to another number of classes."""
    config = timm.get_pretrained_cfg(name)
    bias = tensors.get(f"{config.classifier}.bias") if config else None  # None: several heads
    if bias is None or len(bias) == config.num_classes:
        return {}
    return {"num_classes": len(bias)}


def _check_name(name: str) -> None:
    base, _, tag = name.partition(".")
    known = timm.list_models()
    if base not in known:  # there are too many to name them all
        options = [*known, *zoo_records.records()]
        near = difflib.get_close_matches(name, options, n=1, cutoff=0.0)[0]
        raise ValueError(
            f"unknown model '{name}'; did you mean '{near}'? timm.list_models() and "
            "helpers.networks.zoo_records.records() name all"
        )
    if tag:
        names = [*timm.list_pretrained(f"{base}.*"), *timm_weights.TORCHVISION]
        tags = [entry.partition(".")[2] for entry in names if entry.startswith(f"{base}.")]
        known_name(f"weights of '{base}'", tag, tags)


def _transform(preprocessing: Mapping) -> Callable[[Image.Image], np.ndarray]:
    if preprocessing["interpolation"] == CENTRE:
        return CentreCrop(preprocessing["input_size"][1])
    return timm.data.create_transform(**preprocessing, is_training=False, use_prefetcher=True)


class _TwoTokens(nn.Module):
    """A distilled transformer with one head instead of two.

    Touvron et al. (2021) average the logits of two heads, one on the class token and one on the
    distillation token.  That is one linear layer on both tokens side by side, with half of each
    head's weights and the mean of their biases.
    """

    def __init__(self, model: Backbone):
        super().__init__()
        heads = model.get_classifier()
        weight = torch.cat([head.weight.detach() / 2 for head in heads], dim=1)
        self.head = nn.Linear(weight.shape[1], weight.shape[0])
        self.head.weight.data.copy_(weight)
        self.head.bias.data.copy_(sum(head.bias.detach() / 2 for head in heads))
        model.reset_classifier(0)
        self.model = model

    def forward_features(self, x: torch.Tensor) -> torch.Tensor:
        return self.model.forward_features(x)

    def forward_head(self, x: torch.Tensor, pre_logits: bool = False) -> torch.Tensor:
        tokens = x[:, :2].flatten(1)
        return tokens if pre_logits else self.head(tokens)

    def get_classifier(self) -> nn.Linear:
        return self.head


def _classifier(model: Backbone, name: str, preprocessing: Mapping) -> Classifier:
    """Return a model as a classifier; refuse one whose logits are not linear in its features.

    A SqueezeNet is accepted: its logits are computed from maps (`ClassMaps`).
    """
    pixels = np.random.default_rng(0).integers(0, 256, (2, *preprocessing["input_size"]), np.uint8)
    images = torch.from_numpy(pixels)
    mean, std = (255 * torch.tensor(preprocessing[key]).view(3, 1, 1) for key in ("mean", "std"))
    with torch.inference_mode():
        expected = model((images - mean) / std)
    distilled = isinstance(model, timm.models.VisionTransformerDistilled)
    classifier = Classifier(_TwoTokens(model) if distilled else model).eval()
    classifier.mean.copy_(mean)
    classifier.std.copy_(std)
    try:
        head = classifier.head
        if head is None:
            return classifier
        with torch.inference_mode():
            features = classifier.features(images).numpy()
        logits = features @ head.weight.T + head.bias
    except (AttributeError, TypeError, ValueError) as error:
        raise ValueError(f"model '{name}' cannot be used: {error}") from error
    if np.abs(logits - expected.numpy()).max() > TOLERANCE * expected.abs().max():
        raise ValueError(
            f"model '{name}' cannot be used: no linear head, for its logits are not its features "
            "times the weights of its last layer"
        )
    return classifier
