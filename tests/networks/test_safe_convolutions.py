"""Spectral norms by their definition, and gradients of convolutions against a reference.

A kernel that writes past its buffer may kill the process.
"""

import math
from copy import deepcopy
from dataclasses import replace

import pytest
import torch
from torch import nn
from torch.autograd.functional import jacobian
from torch.nn.functional import conv2d

from helpers.networks import backbones, safe_convolutions
from helpers.networks.recipe import SPECTRAL_FORMS, Recipe
from helpers.networks.spectral import SpectralNorm

NARROW = [Recipe(width=width, spectral_norm=1.0) for width in (2, 4, 6, 8, 12)]
CHANNELS_LAST = torch.channels_last
TIMES = 20  # calls of a shortcut: a write past a buffer does not always kill


def narrow_layers() -> dict[str, nn.Conv2d]:
    """Return one convolution of each shape in narrow networks."""
    modules = [module for recipe in NARROW for module in backbones.create(recipe, 10).modules()]
    return {repr(m): m.to(memory_format=CHANNELS_LAST) for m in modules if isinstance(m, nn.Conv2d)}


def answers(layer: nn.Conv2d, x: torch.Tensor) -> list[torch.Tensor]:
    """Return a layer's output and gradients."""
    out = layer(x.requires_grad_())
    return [out, *torch.autograd.grad(out.square().sum(), (x, layer.weight))]


def error(layer: nn.Conv2d) -> float:
    """Return the largest relative error of a layer's output and gradients."""
    size = max(8, 2 * layer.kernel_size[0])
    x = torch.randn(8, layer.in_channels, size, size).to(memory_format=CHANNELS_LAST)
    with torch.backends.mkldnn.flags(enabled=False):
        expected = answers(deepcopy(layer).double(), x.double())
    pairs = zip(answers(layer, x), expected, strict=True)
    return max(((value - exact).abs().max() / exact.abs().max()).item() for value, exact in pairs)


def test_narrow_networks_keep_away_from_the_kernel_that_writes_past_its_buffer():
    torch.manual_seed(0)
    wrong = {}
    for shape, layer in narrow_layers().items():
        times = TIMES if layer.kernel_size == (1, 1) and max(layer.stride) > 1 else 1
        errors = [error(layer) for _ in range(times)]
        if not all(value < 1e-4 for value in errors):  # also NaN
            wrong[shape] = max(errors)
    assert not wrong


def test_the_convolution_equals_torchs_convolution_up_to_rounding():
    """Forward and backward; equal to the last bit where the kernel is not used."""
    torch.manual_seed(0)
    x = torch.randn(3, 5, 7, 6)
    weight = torch.randn(4, 5, 1, 1)
    x = x.requires_grad_()
    weight = weight.requires_grad_()
    for stride, padding in ((2, 2), (0, 0)), ((3, 1), "valid"), ((2, 2), (1, 1)), ((1, 1), "same"):
        outs = [fn(x, weight, None, stride, padding) for fn in (safe_convolutions.convolve, conv2d)]
        torch.testing.assert_close(*outs)
        torch.testing.assert_close(*(torch.autograd.grad(o.sum(), (x, weight)) for o in outs))
    wide = torch.randn(4, 16, 1, 1)
    x = torch.randn(2, 16, 8, 8)
    ours = safe_convolutions.convolve(x, wide, stride=(2, 2))
    assert torch.equal(ours, conv2d(x, wide, stride=2))


LAYERS = {
    "padded": (lambda: nn.Conv2d(2, 3, 3, padding=1), (2, 6, 5)),
    "strided": (lambda: nn.Conv2d(3, 4, 3, stride=2, padding=1, bias=False), (3, 7, 8)),
    "grouped": (lambda: nn.Conv2d(4, 4, 3, padding=1, groups=4), (4, 5, 5)),
    "dilated": (lambda: nn.Conv2d(2, 2, 3, padding=2, dilation=2), (2, 6, 6)),
    "shortcut": (lambda: nn.Conv2d(3, 5, 1, stride=2), (3, 6, 6)),
    "linear": (lambda: nn.Linear(7, 4), (7,)),
}


def true_norm(layer, shape):
    """Return the largest singular value of a layer's matrix."""
    matrix = jacobian(layer, torch.zeros(1, *shape)).reshape(-1, math.prod(shape))
    return torch.linalg.matrix_norm(matrix.double(), 2).item()


@pytest.mark.parametrize("scale", [0.5, 2.0])
@pytest.mark.parametrize("name", LAYERS)
def test_the_norm_is_the_operators_and_the_wrapped_layer_has_the_coefficient(name, scale):
    """By the explicit matrix of the layer, before and after; one that is divided grows as well."""
    torch.manual_seed(0)
    layer = LAYERS[name][0]()
    shape = LAYERS[name][1]
    true = true_norm(layer, shape)
    wrapped = SpectralNorm(layer, coefficient := scale * true, bound=scale < 1)
    for _ in range(300):
        norm = wrapped.norm((1, *shape)).item()
    assert norm == pytest.approx(true, rel=1e-4)
    assert norm <= true * (1 + 1e-6)
    assert true_norm(wrapped.eval(), shape) == pytest.approx(coefficient, rel=1e-4)


def test_norms_by_hand():
    """The singular values are 3 and 1; a norm below the coefficient is unchanged."""
    linear = nn.Linear(2, 2)
    linear.weight.data = torch.tensor([3.0, 1.0]).diag()
    norm = SpectralNorm(linear, 1.0, bound=True).norm((1, 2))
    norm.backward()
    assert norm.item() == pytest.approx(3)
    assert torch.allclose(linear.weight.grad, torch.tensor([[1.0, 0], [0, 0]]), atol=1e-6)
    x = torch.randn(5, 2)
    assert torch.equal(SpectralNorm(linear, 100.0, bound=True)(x), linear(x))
    # scales 2 and 6 over standard deviations 1 and 2: the norm is 3; shifts stay
    layer = nn.BatchNorm2d(2, eps=0.0)
    layer.weight.data = torch.tensor([2.0, -6.0])
    layer.bias.data = torch.tensor([5.0, 7.0])
    layer.running_var.copy_(torch.tensor([1.0, 4.0]))
    wrapped = SpectralNorm(layer, 1.5, bound=True).eval()
    assert wrapped.norm((1, 2, 1, 1)).item() == 3
    assert wrapped(torch.ones(1, 2, 1, 1)).flatten().tolist() == [6.0, 5.5]


BACKBONES = {"resnet": (8, 4), "densenet": (16, 8), "efficientnet": (0.3, 0.25)}


@pytest.mark.parametrize("backbone", BACKBONES)
@pytest.mark.parametrize("form", SPECTRAL_FORMS)
def test_every_layer_below_the_head_is_normalised_and_bounded_by_the_form(backbone, form):
    """The head is not; batch normalisations are in no form divided by less than 1."""
    depth, width = BACKBONES[backbone]
    recipe = Recipe(backbone=backbone, depth=depth, width=width, spectral_norm=1.0)
    model = backbones.create(replace(recipe, spectral_form=form), 3)
    weights = nn.Conv2d | nn.Linear
    kinds = weights if form == "weights" else weights | nn.BatchNorm2d
    wrapped = [module for module in model.modules() if isinstance(module, SpectralNorm)]
    layers = {layer for layer in model.modules() if isinstance(layer, kinds)}
    assert {module.layer for module in wrapped} | {model.backbone.get_classifier()} == layers
    bounds = {isinstance(module.layer, nn.BatchNorm2d): module.least == 1 for module in wrapped}
    divided = {False: form == "bounded"}
    assert bounds == (divided if form == "weights" else divided | {True: True})


def test_a_batch_normalisation_without_running_statistics_has_no_norm():
    layer = SpectralNorm(nn.BatchNorm2d(2, track_running_stats=False), 1.0, bound=True)
    with pytest.raises(ValueError, match="layer: a batch normalisation with running statistics"):
        layer(torch.ones(1, 2, 3, 3))
