"""timm backbones adapted to small images, with the head in plain sight."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import nn

from helpers.networks import safe_convolutions, spectral
from helpers.networks.dropout import Dropout
from helpers.networks.heads import Backbone, ClassMaps, Native, equip
from helpers.networks.normalisation import channel_statistics
from helpers.networks.recipe import FOUR_STAGES, Recipe
from helpers.outputs import Head

if TYPE_CHECKING:
    from timm.models import ResNet

# timm, and with it torchvision, takes as long to import as torch itself.  Only code that makes a
# network needs it; cached outputs do not


def _stem_convolution(channels: int, stride: int) -> nn.Conv2d:
    return nn.Conv2d(3, channels, kernel_size=3, stride=stride, padding=1, bias=False)


def _resnet(recipe: Recipe, num_classes: int) -> nn.Module:
    """Basic blocks; 6n + 2 layers in three stages (He et al. 2016, section 4.2), or four stages."""
    from timm.models import ResNet
    from timm.models.resnet import BasicBlock, Bottleneck

    depth = int(recipe.depth)
    width = int(recipe.width)
    stem_stride = recipe.stem_stride
    layers = FOUR_STAGES.get(depth, ((depth - 2) // 6,) * 3)
    options = {
        "block": Bottleneck if depth >= 50 and depth in FOUR_STAGES else BasicBlock,
        "layers": layers,
        "num_classes": num_classes,
        "channels": tuple(width * 2**stage for stage in range(len(layers))),
    }
    if stem_stride == 4 and depth in FOUR_STAGES:  # timm's default stem is that for photographs
        model = ResNet(**options)
    else:
        # only the deep stem lets timm choose the width; it is replaced at once
        model = ResNet(**options, stem_type="deep", stem_width=width // 2)
        model.conv1 = _stem_convolution(width, min(stem_stride, 2))
        model.maxpool = nn.MaxPool2d(2) if stem_stride == 4 else nn.Identity()
        if len(layers) == 3:
            model.layer4 = nn.Identity()
        nn.init.kaiming_normal_(model.conv1.weight, mode="fan_out", nonlinearity="relu")
    if recipe.block_dropout:
        _drop_in_blocks(model, recipe.block_dropout)
    return model


def _drop_in_blocks(model: ResNet, share: float) -> None:
    """Put dropout after each convolution and its normalisation, but not on shortcuts.

    Dropout before the normalisation would change the statistics that the normalisation learns.
    """
    from timm.models.resnet import BasicBlock, Bottleneck

    for block in model.modules():
        if isinstance(block, BasicBlock | Bottleneck):
            block.drop_block = Dropout(share)  # timm's places: inside the block, and at its end
            block.drop_path = Dropout(share)
        if isinstance(block, Bottleneck):
            block.act1 = nn.Sequential(block.act1, Dropout(share))


def _densenet(recipe: Recipe, num_classes: int) -> nn.Module:
    """DenseNet-BC: 6n + 4 layers in three blocks (Huang et al. 2017), or DenseNet-121."""
    from timm.models import DenseNet

    depth = int(recipe.depth)
    width = int(recipe.width)
    blocks = (6, 12, 24, 16) if depth == 121 else ((depth - 4) // 6,) * 3
    model = DenseNet(growth_rate=width, block_config=blocks, num_classes=num_classes)
    model.features.conv0 = _stem_convolution(2 * width, recipe.stem_stride)
    model.features.pool0 = nn.Identity()
    nn.init.kaiming_normal_(model.features.conv0.weight)
    return model


def _efficientnet(recipe: Recipe, num_classes: int) -> nn.Module:
    """EfficientNet-B0's stages (Tan and Le 2019, table 1), scaled in width and depth."""
    from timm.models.efficientnet import _gen_efficientnet

    size = {"channel_multiplier": recipe.width, "depth_multiplier": recipe.depth}
    model = _gen_efficientnet("efficientnet_b0", **size, num_classes=num_classes)
    model.conv_stem.stride = (recipe.stem_stride, recipe.stem_stride)
    return model


def _vit(recipe: Recipe, num_classes: int) -> nn.Module:
    """A vision transformer (Dosovitskiy et al. 2021) with the mean of its tokens as features.

    The mean replaces a class token, and heads are few: the small variant of Beyer et al. 2022.
    """
    from timm.models import VisionTransformer

    return VisionTransformer(
        img_size=recipe.image_size,
        patch_size=recipe.stem_stride,
        num_classes=num_classes,
        depth=int(recipe.depth),
        embed_dim=int(recipe.width),
        num_heads=max(1, int(recipe.width) // 32),
        class_token=False,
        global_pool="avg",
    )


_BUILDERS: dict[str, Callable[[Recipe, int], Backbone]] = {
    "densenet": _densenet,
    "efficientnet": _efficientnet,
    "resnet": _resnet,
    "vit": _vit,
}


class Classifier(nn.Module):
    """A backbone that takes images of [0, 255], bytes as a rule, and a linear head.

    The module and its weights include the normalisation of the pixels, so that a saved classifier
    is complete.
    """

    backbone: Backbone
    mean: torch.Tensor
    std: torch.Tensor

    def __init__(self, backbone: Backbone, *, dropout: float = 0.0, native: Native | None = None):
        super().__init__()
        safe_convolutions.protect(backbone)
        self.backbone = backbone
        self.native = native
        self.keeps_normalisation = False  # True for a network that others trained, fine-tuned here
        self.dropout = Dropout(dropout)
        self.register_buffer("mean", torch.zeros(3, 1, 1))
        self.register_buffer("std", torch.ones(3, 1, 1))

    def set_normalisation(self, images: np.ndarray) -> None:
        """Take the mean and standard deviation per channel from uint8 images [N, H, W, 3].

        With `keeps_normalisation` nothing changes.
        """
        if self.keeps_normalisation:
            return
        mean, std = channel_statistics(images)
        self.mean.copy_(torch.from_numpy(mean).view(3, 1, 1))
        self.std.copy_(torch.from_numpy(std).view(3, 1, 1))

    def features(self, images: torch.Tensor) -> torch.Tensor:
        """Return the inputs of the head, [B, D], for uint8 images [B, 3, H, W].

        A network of several inputs also accepts that number of concatenated images, [B, 3 M, H, W].
        """
        return self._features(self._maps(images))

    def answer(self, images: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the features, [B, D], and the logits, [B, K], for uint8 images [B, 3, H, W]."""
        maps = self._maps(images)
        features = self._features(maps)
        head = self.backbone.get_classifier()
        return features, head(maps if isinstance(head, ClassMaps) else features)

    def _maps(self, images: torch.Tensor) -> torch.Tensor:
        inputs = images.shape[1] // 3
        mean = self.mean.repeat(inputs, 1, 1)
        std = self.std.repeat(inputs, 1, 1)
        x = (images.to(mean.dtype) - mean) / std
        return self.backbone.forward_features(x)

    def _features(self, maps: torch.Tensor) -> torch.Tensor:
        return self.dropout(self.backbone.forward_head(maps, pre_logits=True))

    def sample_dropout(self) -> None:
        """Go into evaluation mode, except for dropout, whose draws then make members."""
        self.eval()
        for module in self.modules():
            if isinstance(module, nn.Dropout):
                module.train()

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Return the logits, [B, K], for uint8 images [B, 3, H, W]."""
        return self.answer(images)[1]

    @property
    def head(self) -> Head | None:
        """The last linear layer: weight [K, D] and bias [K]; None if the logits need the maps."""
        layer = self.backbone.get_classifier()
        if isinstance(layer, ClassMaps):
            return None
        if not isinstance(layer, nn.Linear):
            raise ValueError(
                f"backbone: a linear head expected, got {type(layer).__name__}; choose scores that "
                "do not read features or the head"
            )
        return Head(
            weight=layer.weight.detach().float().cpu().numpy(),
            bias=np.zeros(layer.out_features, np.float32)
            if layer.bias is None
            else layer.bias.detach().float().cpu().numpy(),
        )


def create(recipe: Recipe, num_classes: int, *, seed: int = 0) -> Classifier:
    """Make a classifier with freshly drawn weights.

    Parameters
    ----------
    recipe : Recipe
        Family, depth, width, stem, spectral normalisation and objective are used: an objective
        may need another head or train a native measure.  Settings of the optimiser have no effect
        here.
    num_classes : int
        The number of known classes.
    seed : int
        Seed of the initial weights. The caller's random state does not change.

    Returns
    -------
    Classifier
        Classifier in channels-last memory format, in which convolutions are fastest.

    Examples
    --------
    >>> model = create(Recipe(backbone="resnet", depth=8, width=16), num_classes=6)
    >>> model.head.weight.shape
    (6, 64)
    """
    if num_classes < 2:
        raise ValueError(f"num_classes: at least 2 expected, got {num_classes}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # optional parts of timm that this project does not use
        import timm.models  # noqa: F401
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        backbone = _BUILDERS[recipe.backbone](recipe, num_classes)
        # drawn after the backbone, which is then equal for all objectives
        native = equip(backbone, num_classes, recipe.objective, recipe.objective_arguments)
        if recipe.spectral_norm:
            head = backbone.get_classifier()
            form = recipe.spectral_form
            spectral.normalise(backbone, recipe.spectral_norm, form, keep=head)
        classifier = Classifier(backbone, dropout=recipe.dropout, native=native)
        return classifier.to(memory_format=torch.channels_last)
