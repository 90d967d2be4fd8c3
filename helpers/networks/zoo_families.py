"""LMFRNet and Tiniest, of other families than ResNets, for images of 32 pixels.

Their modules have the names of their authors' code.
"""

from __future__ import annotations

import torch
from torch import nn

from helpers.networks.heads import Pooled

_LAYERS = (3, 4, 8, 3)  # of the blocks of LMFRNet
_WIDTHS = (48, 80)  # channels of the two stages of Tiniest


class _Unit(nn.Module):
    """A convolution that keeps the size, norm and ReLU."""

    def __init__(self, inputs: int, outputs: int, size: int):
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, size, padding=size // 2, bias=False)
        self.norm = nn.BatchNorm2d(outputs)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(self.conv(x)).relu()


class _MultiLayer(nn.Module):
    """Four convolutions, one after another; the last three are appended to the input."""

    def __init__(self, inputs: int):
        super().__init__()
        self.branch11 = _Unit(inputs, 12, 1)
        self.branch33a = _Unit(12, 12, 3)
        self.branch33b = _Unit(12, 6, 3)
        self.branch33c = _Unit(6, 6, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first = self.branch33a(self.branch11(x))
        second = self.branch33b(first)
        third = self.branch33c(second)
        return torch.cat([x, first, second, third], dim=1)


def _lmfrnet_features() -> nn.Sequential:
    channels = 32
    features = nn.Sequential()
    stem = nn.Sequential(nn.Conv2d(3, channels, 3, padding=1), nn.BatchNorm2d(channels), nn.ReLU())
    stem_block = nn.Sequential()
    stem_block.add_module("stemConv", stem)
    features.add_module("stemBlock", stem_block)
    for number, layers in enumerate(_LAYERS, start=1):
        block = nn.Sequential()
        for layer in range(1, layers + 1):
            block.add_module(f"mmLayer{layer}", _MultiLayer(channels))
            channels += 24
        features.add_module(f"MMCBlock{number}", block)
        features.add_module(f"tran_ConvNormRelu{number}", _Unit(channels, channels, 1))
        if number < len(_LAYERS):
            features.add_module(f"pool{number}", nn.AvgPool2d(2))
    return features


class LMFRNet(Pooled):
    """A network of 0.5 million weights whose layers append features of several sizes."""

    def __init__(self, num_classes: int):
        super().__init__()
        self.num_classes = num_classes
        self.features = _lmfrnet_features()
        self.classifier = nn.Linear(464, num_classes)

    def forward_features(self, x: torch.Tensor) -> torch.Tensor:
        """Return the maps of features."""
        return self.features(x)

    def get_classifier(self) -> nn.Linear:
        """Return the last layer."""
        return self.classifier


class _ChannelNorm(nn.Module):
    """A layer norm over the channels of each pixel."""

    def __init__(self, channels: int):
        super().__init__()
        self.ln = nn.LayerNorm(channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.ln(x.movedim(1, -1)).movedim(-1, 1)


class _Gated(nn.Module):
    """Three depthwise convolutions of a quarter of the channels each, and a gate."""

    def __init__(self, channels: int):
        super().__init__()
        quarter = channels // 4
        self.dwconv1 = nn.Conv2d(quarter, quarter, 3, padding=1, groups=quarter)
        self.dwconv2 = nn.Conv2d(quarter, quarter, 7, padding=3, groups=quarter)
        self.pool = nn.AvgPool2d(3, stride=1, padding=1)
        self.dwconv3 = nn.Conv2d(quarter, quarter, 7, padding=9, dilation=3, groups=quarter)
        self.ln = _ChannelNorm(channels)
        self.fc1 = nn.Conv2d(channels, 2 * channels, 1)
        self.fc2 = nn.Conv2d(channels, channels, 1)
        self.rs = nn.Parameter(torch.ones(1, channels, 1, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        unchanged, near, wide, wider = x.chunk(4, dim=1)
        mixed = [unchanged, self.dwconv1(near), self.dwconv2(wide), self.dwconv3(self.pool(wider))]
        first, second = self.fc1(self.ln(torch.cat(mixed, dim=1))).chunk(2, dim=1)
        return self.fc2(first.exp().tanh() * first * second) + x * self.rs


class Tiniest(Pooled):
    """A network of 0.1 million weights with large depthwise kernels."""

    l1: _Gated
    l2: _Gated
    l3: _Gated
    l4: _Gated
    l5: _Gated
    l6: _Gated

    def __init__(self, num_classes: int):
        super().__init__()
        self.num_classes = num_classes
        narrow, broad = _WIDTHS
        self.conv1 = nn.Conv2d(3, narrow, 3, padding=1)
        self.ln1 = _ChannelNorm(narrow)
        self.dsconv = nn.Conv2d(narrow, broad, 4, stride=2, padding=1, groups=16)
        self.ln2 = _ChannelNorm(broad)
        for number in range(1, 7):
            self.add_module(f"l{number}", _Gated(narrow if number <= 3 else broad))
        self.fc = nn.Linear(broad, num_classes)

    def forward_features(self, x: torch.Tensor) -> torch.Tensor:
        """Return the maps of features."""
        x = self.l3(self.l2(self.l1(self.ln1(self.conv1(x)))))
        return self.l6(self.l5(self.l4(self.ln2(self.dsconv(x)))))

    def get_classifier(self) -> nn.Linear:
        """Return the last layer."""
        return self.fc
