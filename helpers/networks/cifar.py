"""Architectures for images of 32 pixels, with the names that their authors' files have.

timm's own modules, changed where these networks differ from them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

import torch
from torch import nn

from helpers.networks import models
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
    model = _timms(Recipe(backbone="resnet", depth=depth, width=16), num_classes)
    for stage in (model.layer2, model.layer3):
        stage[0].downsample = PadShortcut(stage[0].conv1.out_channels)
    return model


def densenet_bc(num_classes: int, *, depth: int, growth: int) -> nn.Module:
    """6n + 4 layers in three blocks, no norm after the first convolution (Huang et al. 2017)."""
    model = _timms(Recipe(backbone="densenet", depth=depth, width=growth), num_classes)
    model.features.norm0 = nn.Identity()
    return model


def _timms(recipe: Recipe, num_classes: int) -> nn.Module:
    return models.create(recipe, num_classes).backbone


def _same(name: str) -> str:
    return name


def _resnet_name(name: str) -> str:
    return name.replace("linear.", "fc.")


def _densenet_name(name: str) -> str:
    if found := re.fullmatch(r"block(\d)\.layer\.(\d+)\.(bn|conv)(.+)", name):
        block, layer, kind, rest = found.groups()
        kind = {"bn": "norm"}.get(kind, kind)
        return f"features.denseblock{block}.denselayer{int(layer) + 1}.{kind}{rest}"
    name = re.sub(r"^trans(\d)\.bn1", r"features.transition\1.norm", name)
    name = re.sub(r"^trans(\d)\.conv1", r"features.transition\1.conv", name)
    name = re.sub(r"^conv1\.", "features.conv0.", name)
    name = re.sub(r"^bn1\.", "features.norm5.", name)
    return re.sub(r"^fc\.", "classifier.", name)


class Builder(NamedTuple):
    """How a network is made, and what its tensors are called there."""

    build: Callable[..., nn.Module]
    name_of: Callable[[str], str]


BUILDERS: Mapping[str, Builder] = {
    "densenet_bc": Builder(densenet_bc, _densenet_name),
    "resnet_a": Builder(resnet_a, _resnet_name),
}
"""By architecture; `name_of` takes an author's name of a tensor to timm's."""


def create(
    architecture: str, num_classes: int, tensors: Mapping[str, torch.Tensor], **arguments
) -> nn.Module:
    """Make a network and give it weights.

    Parameters
    ----------
    architecture : str
        One of `BUILDERS`.
    num_classes : int
    tensors : mapping of str to Tensor
        Under the names of the author's file; counters of batches may be left out.
    **arguments
        Of the builder.

    Raises
    ------
    ValueError
        Tensors are missing, or left over, or of other shapes; names the first of them.
    """
    build, name_of = BUILDERS[architecture]
    model = build(num_classes, **arguments).eval()
    own = {
        name: one
        for name, one in model.state_dict().items()
        if not name.endswith("num_batches_tracked")
    }
    given = {name_of(name): one for name, one in tensors.items()}
    for problem, names in (("has no", own.keys() - given), ("has more:", given.keys() - own)):
        if names:
            raise ValueError(f"{problem} {', '.join(sorted(names)[:3])}")
    for name, one in own.items():
        if one.shape != given[name].shape:
            shapes = f"{tuple(one.shape)} expected, got {tuple(given[name].shape)}"
            raise ValueError(f"{name}: shape {shapes}")
    model.load_state_dict(given, strict=False)  # but for the counters all is there
    return model
