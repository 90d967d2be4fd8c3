"""Gradients of convolutions against a reference, in a separate process.

A kernel that writes past its buffer may kill the process: then the test fails, and the worker
lives.  As a program: ``python tests/networks/test_convolutions.py``.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

from helpers.networks import convolutions, models
from helpers.networks.recipe import Recipe
from helpers.networks.spectral import SpectralNorm

ROOT = Path(__file__).resolve().parent.parent.parent
NARROW = [Recipe(width=width, spectral_norm=1.0) for width in (2, 4, 6, 8, 12)]
TIMES = 20  # calls of a shortcut: a write past a buffer does not always kill


def layers() -> dict[tuple, nn.Module]:
    """Return one convolution of each shape in narrow networks."""
    shapes = {}
    for recipe in NARROW:
        for layer in models.create(recipe, 10).modules():
            if isinstance(layer, nn.Conv2d):
                key = (*layer.weight.shape, layer.stride, layer.padding, layer.groups)
                shapes.setdefault(key, layer.to(memory_format=torch.channels_last))
    return shapes


def relative(value: torch.Tensor, expected: torch.Tensor) -> float:
    return ((value - expected).abs().max() / expected.abs().max()).item()


def error(layer: nn.Conv2d) -> float:
    """Return the largest relative error of a layer's output and gradients."""
    size = max(8, 2 * layer.kernel_size[0])
    x = torch.randn(8, layer.in_channels, size, size).to(memory_format=torch.channels_last)
    x, pairs = x.requires_grad_(), []
    out = layer(x)
    pairs = [out, *torch.autograd.grad(out.square().sum(), (x, layer.weight))]
    exact, weight = (one.detach().double().contiguous() for one in (x, layer.weight))
    exact, weight = exact.requires_grad_(), weight.requires_grad_()
    with torch.backends.mkldnn.flags(enabled=False):
        out = nn.functional.conv2d(
            exact, weight, None, layer.stride, layer.padding, layer.dilation, layer.groups
        )
        expected = [out, *torch.autograd.grad(out.square().sum(), (exact, weight))]
    return max(relative(*pair) for pair in zip(pairs, expected, strict=True))


def norm_error(layer: nn.Conv2d) -> float:
    """Return the relative error of the gradient of a layer's spectral norm."""
    shape, gradients = torch.Size((1, layer.in_channels, 8, 8)), []
    for enabled in (True, False):
        with torch.backends.mkldnn.flags(enabled=enabled):
            normalised = SpectralNorm(layer, 1.0, bound=True).eval()
            normalised.norm(shape)  # makes the direction, whose layout may then be changed
            norm = normalised.to(memory_format=torch.channels_last).norm(shape)
            gradients += torch.autograd.grad(norm, layer.weight)
    return relative(*gradients)


def check() -> None:
    """Print the shapes with wrong gradients, and the number of shapes."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    shapes = layers()
    for shape, layer in shapes.items():
        times = TIMES if layer.kernel_size == (1, 1) and max(layer.stride) > 1 else 1
        errors = [measure(layer) for measure in (error, norm_error) for _ in range(times)]
        if not all(value < 1e-4 for value in errors):  # also NaN
            print(f"wrong by {max(errors):.1e}: {shape}")
    print(f"{len(shapes)} shapes")


@pytest.mark.parametrize("processor", ["", "AVX2"])
def test_narrow_networks_keep_away_from_the_kernel_that_writes_past_its_buffer(processor):
    limited = {"ONEDNN_MAX_CPU_ISA": processor} if processor else {}
    environment = os.environ | {"PYTHONPATH": str(ROOT)} | limited
    done = subprocess.run(
        [sys.executable, __file__], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") == 1 and done.stdout.endswith(" shapes\n"), done.stdout


def test_it_is_torchs_convolution_but_for_the_last_bits():
    """Forward and backward; equal to the last bit where the kernel is not used."""
    torch.manual_seed(0)
    x, weight = torch.randn(3, 5, 7, 6), torch.randn(4, 5, 1, 1)
    x, weight = x.requires_grad_(), weight.requires_grad_()
    for stride, padding in ((2, 2), (0, 0)), ((3, 1), "valid"), ((2, 2), (1, 1)), ((1, 1), "same"):
        values = []
        for function in (convolutions.convolve, nn.functional.conv2d):
            out = function(x, weight, None, stride, padding)
            values.append([out, *torch.autograd.grad(out.sum(), (x, weight))])
        for pair in zip(*values, strict=True):
            torch.testing.assert_close(*pair)
    wide, x = torch.randn(4, 16, 1, 1), torch.randn(2, 16, 8, 8)
    expected = nn.functional.conv2d(x, wide, stride=2)
    assert torch.equal(convolutions.convolve(x, wide, stride=(2, 2)), expected)


if __name__ == "__main__":
    check()
