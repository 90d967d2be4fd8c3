"""Architectures of published networks for photographs, and how they see an image."""

from __future__ import annotations

import re

import numpy as np
import torch
from PIL import Image
from torch import nn

from helpers.data.stream import MARGIN
from helpers.networks.heads import ClassMaps, Pooled

_MOBILENET = (48, 96, 96, 192, 192, 384, 384, 384, 384, 384, 384, 768, 768)  # channels of the pairs
_SKIPPING = (2, 4, 6, 12)  # the pairs that keep every second pixel
_SQUEEZENET = (16, 16, 32, 32, 48, 48, 64, 64)  # channels of the narrow layers
_POOLED = {"1.0": ("conv1", "fire4", "fire8"), "1.1": ("conv1", "fire3", "fire5")}


class CentreCrop:
    """The centre of a Pillow image, `size` x `size` pixels, as uint8 [3, size, size].

    An image whose shorter side is up to 256/224 times as long is cropped only: resizing costs
    accuracy.  Another image is resized before, a smaller one to `size`.

    Examples
    --------
    >>> [CentreCrop(224)(Image.new("RGB", (side, side))).shape for side in (32, 227, 500)]
    [(3, 224, 224), (3, 224, 224), (3, 224, 224)]
    """

    def __init__(self, size: int):
        self.size = size

    def __call__(self, image: Image.Image) -> np.ndarray:
        shorter = min(image.size)
        largest = round(self.size * MARGIN)
        if not self.size <= shorter <= largest:
            side = self.size if shorter < self.size else largest
            width, height = (max(side, round(length * side / shorter)) for length in image.size)
            image = image.resize((width, height), Image.Resampling.BILINEAR)
        left = (image.width - self.size) // 2
        top = (image.height - self.size) // 2
        cropped = image.crop((left, top, left + self.size, top + self.size))
        return np.asarray(cropped.convert("RGB")).transpose(2, 0, 1)


class _Convolution(nn.Sequential):
    """A convolution without bias, norm and ReLU6, padded as in Keras's MobileNet."""

    def __init__(self, inputs: int, outputs: int, size: int, stride: int = 1, groups: int = 1):
        # at stride 2, zeros below and on the right only
        padding = (0, 1, 0, 1) if stride == 2 else (size // 2,) * 4
        super().__init__()
        self.pad = nn.ZeroPad2d(padding)
        self.conv = nn.Conv2d(inputs, outputs, size, stride, groups=groups, bias=False)
        self.bn = nn.BatchNorm2d(outputs, eps=1e-3)
        self.act = nn.ReLU6()


class MobileNet(Pooled):
    """MobileNet v1 of width 0.75 (Howard et al. 2017)."""

    def __init__(self, num_classes: int):
        super().__init__()
        self.num_classes = num_classes
        inputs = 24
        self.stem = _Convolution(3, inputs, 3, stride=2)
        self.depthwise = nn.ModuleList()
        self.pointwise = nn.ModuleList()
        for number, outputs in enumerate(_MOBILENET, start=1):
            stride = 2 if number in _SKIPPING else 1
            self.depthwise.append(_Convolution(inputs, inputs, 3, stride, groups=inputs))
            self.pointwise.append(_Convolution(inputs, outputs, 1))
            inputs = outputs
        self.fc = nn.Linear(inputs, num_classes)

    def forward_features(self, x: torch.Tensor) -> torch.Tensor:
        """Return the maps of features."""
        x = self.stem(x)
        for depthwise, pointwise in zip(self.depthwise, self.pointwise, strict=True):
            x = pointwise(depthwise(x))
        return x

    def get_classifier(self) -> nn.Linear:
        """Return the head."""
        return self.fc


class _Fire(nn.Module):
    def __init__(self, inputs: int, narrow: int):
        super().__init__()
        self.squeeze = nn.Conv2d(inputs, narrow, 1)
        self.expand1 = nn.Conv2d(narrow, 4 * narrow, 1)
        self.expand3 = nn.Conv2d(narrow, 4 * narrow, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.squeeze(x).relu()
        return torch.cat([self.expand1(x), self.expand3(x)], dim=1).relu()


class SqueezeNet(Pooled):
    """SqueezeNet 1.0 or 1.1 (Iandola et al. 2016) for channels in the order blue, green, red.

    Its logits are not linear in its features, the means of 512 maps.
    """

    def __init__(self, num_classes: int, version: str):
        super().__init__()
        self.num_classes = num_classes
        inputs, size = {"1.0": (96, 7), "1.1": (64, 3)}[version]
        self.conv1 = nn.Conv2d(3, inputs, size, stride=2)
        self.pooled = _POOLED[version]
        for number, narrow in enumerate(_SQUEEZENET, start=2):
            self.add_module(f"fire{number}", _Fire(inputs, narrow))
            inputs = 8 * narrow
        self.classifier = ClassMaps(inputs, num_classes)

    def forward_features(self, x: torch.Tensor) -> torch.Tensor:
        """Return the maps of features."""
        for name, layer in self.named_children():
            if name == "classifier":
                continue
            x = layer(x if name != "conv1" else x.flip(1))
            if name == "conv1":
                x = x.relu()
            if name in self.pooled:
                x = nn.functional.max_pool2d(x, 3, 2, ceil_mode=True)
        return x

    def get_classifier(self) -> ClassMaps:
        """Return the head."""
        return self.classifier


_OF_KERAS = {
    "kernel": "conv.weight",
    "depthwise_kernel": "conv.weight",
    "beta": "bn.bias",
    "gamma": "bn.weight",
    "moving_mean": "bn.running_mean",
    "moving_variance": "bn.running_var",
}
_OF_FIRE = {
    "squeeze1x1": "squeeze", "conv1x1_1": "squeeze", "expand1x1": "expand1",
    "conv1x1_2": "expand1", "expand3x3": "expand3", "conv3x3_2": "expand3",
}  # fmt: skip


def mobilenet_name(name: str) -> str:
    """Return this module's name of a tensor of Keras's MobileNet.

    >>> mobilenet_name("conv_dw_3_bn/gamma"), mobilenet_name("conv_preds/kernel")
    ('depthwise.2.bn.weight', 'fc.weight')
    """
    layer, _, kind = name.partition("/")
    if layer == "conv_preds":
        return "fc.weight" if kind == "kernel" else f"fc.{kind}"
    kind = _OF_KERAS.get(kind, kind)
    if match := re.fullmatch(r"conv_(dw|pw)_(\d+)(_bn)?", layer):
        block = {"dw": "depthwise", "pw": "pointwise"}[match[1]]
        return f"{block}.{int(match[2]) - 1}.{kind}"
    return f"stem.{kind}"


def squeezenet_name(name: str) -> str:
    """Return this module's name of a tensor of a SqueezeNet.

    >>> squeezenet_name("fire2/conv1x1_2.bias"), squeezenet_name("conv10.weight")
    ('fire2.expand1.bias', 'classifier.conv.weight')
    """
    layer, _, kind = name.rpartition(".")
    if layer in ("conv10", "conv_final"):
        return f"classifier.conv.{kind}"
    fire, slash, part = layer.partition("/")
    return f"{fire}.{_OF_FIRE.get(part, part)}.{kind}" if slash else name


def from_keras(name: str, tensor: torch.Tensor) -> torch.Tensor:
    """Return a tensor in PyTorch's layout; Keras orders kernels by height, width, input, output.

    >>> from_keras("conv1/kernel", torch.zeros(3, 3, 2, 8)).shape
    torch.Size([8, 2, 3, 3])
    """
    if name.endswith("depthwise_kernel"):
        return tensor.permute(2, 3, 0, 1)
    if name == "conv_preds/kernel":
        return tensor[0, 0].T
    return tensor.permute(3, 2, 0, 1) if name.endswith("kernel") else tensor
