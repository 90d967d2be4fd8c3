"""Architectures of published networks; for images of 32 pixels mostly timm's modules, changed."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

import torch
from torch import nn

from helpers.networks import backbones, zoo_families, zoo_imagenet
from helpers.networks.recipe import Recipe


class PadShortcut(nn.Module):
    """The shortcut without parameters: every second pixel, and channels of zeros on both sides.

    Option A of He et al. (2016, section 4.2), as the networks of that section have it.

    Examples
    --------
    >>> PadShortcut(4)(torch.ones(1, 2, 3, 3)).sum(dim=(2, 3))
    tensor([[0., 4., 4., 0.]])
    """

    def __init__(self, channels: int):
        super().__init__()
        self.channels = channels

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        more = self.channels - x.shape[1]
        return nn.functional.pad(x[..., ::2, ::2], (0, 0, 0, 0, more // 2, more - more // 2))


def resnet_a(num_classes: int, *, depth: int) -> nn.Module:
    """6n + 2 layers in three stages with shortcuts of option A (He et al. 2016, section 4.2)."""
    model = backbones.create(Recipe(backbone="resnet", depth=depth, width=16), num_classes).backbone
    for stage in (model.layer2, model.layer3):
        stage[0].downsample = PadShortcut(stage[0].conv1.out_channels)
    return model


def densenet_bc(num_classes: int, *, depth: int, growth: int) -> nn.Module:
    """6n + 4 layers in three blocks, no norm after the first convolution (Huang et al. 2017)."""
    recipe = Recipe(backbone="densenet", depth=depth, width=growth)
    model = backbones.create(recipe, num_classes).backbone
    model.features.norm0 = nn.Identity()
    return model


def _resnet_name(name: str) -> str:
    return name.replace("linear.", "fc.")


def _densenet_name(name: str) -> str:
    if match := re.fullmatch(r"block(\d)\.layer\.(\d+)\.(bn|conv)(.+)", name):
        block, layer, kind, rest = match.groups()
        kind = {"bn": "norm"}.get(kind, kind)
        return f"features.denseblock{block}.denselayer{int(layer) + 1}.{kind}{rest}"
    name = re.sub(r"^trans(\d)\.bn1", r"features.transition\1.norm", name)
    name = re.sub(r"^trans(\d)\.conv1", r"features.transition\1.conv", name)
    name = re.sub(r"^conv1\.", "features.conv0.", name)
    name = re.sub(r"^bn1\.", "features.norm5.", name)
    return re.sub(r"^fc\.", "classifier.", name)


class Architecture(NamedTuple):
    """How a network is made, and how the tensors of its author's file become its tensors."""

    build: Callable[..., nn.Module]
    name_of: Callable[[str], str] = str
    layout_of: Callable[[str, torch.Tensor], torch.Tensor] = lambda name, tensor: tensor


BUILDERS: Mapping[str, Architecture] = {
    "densenet_bc": Architecture(densenet_bc, _densenet_name),
    "lmfrnet": Architecture(zoo_families.LMFRNet),
    "mobilenet": Architecture(
        zoo_imagenet.MobileNet,
        zoo_imagenet.mobilenet_name,
        zoo_imagenet.from_keras,
    ),
    "resnet_a": Architecture(resnet_a, _resnet_name),
    "squeezenet": Architecture(zoo_imagenet.SqueezeNet, zoo_imagenet.squeezenet_name),
    "tiniest": Architecture(zoo_families.Tiniest),
}


def create(
    architecture: str, num_classes: int, tensors: Mapping[str, torch.Tensor], **arguments
) -> nn.Module:
    """Make a network of `BUILDERS` and give it weights under the names of the author's file.

    Raises a ValueError that names the first tensor that is missing, left over or of another shape;
    counters of batches may be left out.
    """
    build, name_of, layout_of = BUILDERS[architecture]
    with torch.random.fork_rng(devices=[]):  # weights are drawn before they are replaced
        model = build(num_classes, **arguments).eval()
    expected = {
        name: tensor
        for name, tensor in model.state_dict().items()
        if not name.endswith("num_batches_tracked")
    }
    given = {name_of(name): layout_of(name, tensor) for name, tensor in tensors.items()}
    missing = expected.keys() - given
    superfluous = given.keys() - expected
    for problem, names in (("has no", missing), ("has more:", superfluous)):
        if names:
            raise ValueError(f"{problem} {', '.join(sorted(names)[:3])}")
    for name, tensor in expected.items():
        if tensor.shape != given[name].shape:
            shapes = f"{tuple(tensor.shape)} expected, got {tuple(given[name].shape)}"
            raise ValueError(f"{name}: shape {shapes}")
    model.load_state_dict(given, strict=False)  # only the counters may be missing
    return model
