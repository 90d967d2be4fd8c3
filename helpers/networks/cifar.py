"""Architectures for images of 32 pixels, with the names that their authors' files have.

timm's own modules or torchvision's, changed where these networks differ from them: strides, as a
rule, since both are made for photographs.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
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


class Headed(nn.Module):
    """A network of torchvision, asked as timm's are: a body, and the linear head on its features.

    Parameters
    ----------
    model : nn.Module
        From images to logits; its last layer is taken out of it.
    head : str
        That layer's name.
    """

    def __init__(self, model: nn.Module, head: str):
        super().__init__()
        self.head = model.get_submodule(head)
        model.set_submodule(head, nn.Identity())
        self.body = model
        self.num_classes = self.head.out_features

    def forward_features(self, x: torch.Tensor) -> torch.Tensor:
        """Return what the head multiplies, [B, D]."""
        return self.body(x)

    def forward_head(self, x: torch.Tensor, pre_logits: bool = False) -> torch.Tensor:
        """Return the logits, or the features as they are."""
        return x if pre_logits else self.head(x)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the logits, [B, K]."""
        return self.head(self.body(x))

    def get_classifier(self) -> nn.Linear:
        """Return the head."""
        return self.head


def resnet(num_classes: int, *, depth: int, width: int = 16) -> nn.Module:
    """6n + 2 layers in three stages, or 18 in four; convolutions as shortcuts (He et al. 2016)."""
    return _timms(Recipe(backbone="resnet", depth=depth, width=width), num_classes)


def resnet_a(num_classes: int, *, depth: int) -> nn.Module:
    """6n + 2 layers in three stages with shortcuts of option A (He et al. 2016, section 4.2)."""
    model = resnet(num_classes, depth=depth)
    for stage in (model.layer2, model.layer3):
        stage[0].downsample = PadShortcut(stage[0].conv1.out_channels)
    return model


def densenet_bc(num_classes: int, *, depth: int, growth: int) -> nn.Module:
    """6n + 4 layers in three blocks, no norm after the first convolution (Huang et al. 2017)."""
    model = _timms(Recipe(backbone="densenet", depth=depth, width=growth), num_classes)
    model.features.norm0 = nn.Identity()
    return model


def wide_resnet(num_classes: int, *, depth: int, width: int) -> nn.Module:
    """6n + 4 layers in three stages, norm and ReLU before convolutions (Zagoruyko et al. 2016)."""
    from timm.layers import BatchNormAct2d, ClassifierHead, create_conv2d
    from timm.models import ResNetV2

    model = ResNetV2(
        layers=((depth - 4) // 6,) * 3,
        channels=tuple(width * channels for channels in (16, 32, 64)),
        stem_chs=16,
        basic=True,
        bottle_ratio=1.0,
        num_classes=num_classes,
        norm_layer=BatchNormAct2d,
        conv_layer=create_conv2d,
    )
    model.stem.conv = nn.Conv2d(3, 16, kernel_size=3, padding=1, bias=False)
    model.stem.pool = nn.Identity()
    model.head = ClassifierHead(model.num_features, num_classes)  # timm's own is a convolution
    return model


def repvgg(num_classes: int, *, widths: Sequence[float]) -> nn.Module:
    """RepVGG of the kind A (Ding et al. 2021, table 2) that halves images three times, not five.

    `widths` times 64, 128, 256 and 512 channels in four stages.
    """
    from timm.models.byobnet import ByoBlockCfg, ByobNet, ByoModelCfg

    blocks = tuple(
        ByoBlockCfg(type="rep", d=depth, c=int(channels * width), s=stride, gs=0)
        for depth, channels, width, stride in zip(
            (2, 4, 14, 1), (64, 128, 256, 512), widths, (1, 2, 2, 2), strict=True
        )
    )
    stem = min(64, blocks[0].c)
    model = ByobNet(ByoModelCfg(blocks, stem_type="rep", stem_chs=stem), num_classes=num_classes)
    for branch in (model.stem.conv_kxk, model.stem.conv_1x1):
        branch.conv.stride = (1, 1)
    return model


def vgg(num_classes: int, *, depth: int) -> nn.Module:
    """VGG with batch norm (Simonyan and Zisserman 2015), the hidden layers of its head 512 wide."""
    from torchvision.models import vgg as torchvisions

    configuration = torchvisions.cfgs[{11: "A", 13: "B", 16: "D", 19: "E"}[depth]]
    layers = []
    for outputs in (512, 512, num_classes):
        layers += [nn.Linear(512, outputs), nn.ReLU(inplace=True), nn.Dropout()]
    model = OrderedDict(
        features=torchvisions.make_layers(configuration, batch_norm=True),
        flatten=nn.Flatten(),
        classifier=nn.Sequential(*layers[:-2]),
    )
    return Headed(nn.Sequential(model), "classifier.6")


def mobilenetv2(num_classes: int, *, width: float) -> nn.Module:
    """MobileNetV2 (Sandler et al. 2018, table 2) that halves images three times, not five."""
    from torchvision.models import MobileNetV2

    # of each stage: factor of expansion, channels, blocks, stride
    stages = [
        [1, 16, 1, 1], [6, 24, 2, 1], [6, 32, 3, 2], [6, 64, 4, 2],
        [6, 96, 3, 1], [6, 160, 3, 2], [6, 320, 1, 1],
    ]  # fmt: skip
    model = MobileNetV2(num_classes, width, stages)
    model.features[0][0].stride = (1, 1)
    return Headed(model, "classifier.1")


def shufflenetv2(num_classes: int, *, channels: Sequence[int]) -> nn.Module:
    """ShuffleNetV2 (Ma et al. 2018, table 5) that halves images three times, not five."""
    from torchvision.models import ShuffleNetV2

    model = ShuffleNetV2([4, 8, 4], list(channels), num_classes)
    model.conv1[0].stride = (1, 1)
    model.maxpool = nn.Identity()
    return Headed(model, "fc")


def _timms(recipe: Recipe, num_classes: int) -> nn.Module:
    return models.create(recipe, num_classes).backbone


def _resnet_name(name: str) -> str:
    name = name.replace(".shortcut.", ".downsample.")
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


def _wide_resnet_name(name: str) -> str:
    if found := re.fullmatch(r"block(\d)\.layer\.(.+)", name):
        stage, rest = found.groups()
        rest = rest.replace(".bn", ".norm").replace(".convShortcut.", ".downsample.conv.")
        return f"stages.{int(stage) - 1}.blocks.{rest}"
    name = re.sub(r"^conv1\.", "stem.conv.", name)
    name = re.sub(r"^bn1\.", "norm.", name)
    return re.sub(r"^fc\.", "head.fc.", name)


def _repvgg_name(name: str) -> str:
    name = name.replace(".rbr_dense.", ".conv_kxk.").replace(".rbr_1x1.", ".conv_1x1.")
    name = name.replace(".rbr_identity.", ".identity.")
    name = re.sub(r"^stage0\.", "stem.", name)
    name = re.sub(r"^stage(\d)\.", lambda found: f"stages.{int(found[1]) - 1}.", name)
    return re.sub(r"^linear\.", "head.fc.", name)


def _headed_name(head: str) -> Callable[[str], str]:
    """Return how tensors of a network are called in `Headed`."""

    def name_of(name: str) -> str:
        return re.sub(rf"^body\.{re.escape(head)}\.", "head.", f"body.{name}")

    return name_of


class Builder(NamedTuple):
    """How a network is made, and what its tensors are called there."""

    build: Callable[..., nn.Module]
    name_of: Callable[[str], str]


BUILDERS: Mapping[str, Builder] = {
    "densenet_bc": Builder(densenet_bc, _densenet_name),
    "mobilenetv2": Builder(mobilenetv2, _headed_name("classifier.1")),
    "repvgg": Builder(repvgg, _repvgg_name),
    "resnet": Builder(resnet, _resnet_name),
    "resnet_a": Builder(resnet_a, _resnet_name),
    "shufflenetv2": Builder(shufflenetv2, _headed_name("fc")),
    "vgg": Builder(vgg, _headed_name("classifier.6")),
    "wide_resnet": Builder(wide_resnet, _wide_resnet_name),
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
    with torch.random.fork_rng(devices=[]):  # weights are drawn before they are replaced
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
