"""Gradients of convolutions against a reference, each time in a process of its own.

A kernel that writes past its buffer may kill the process: that is a failed test then, and not a
dead worker.  As a program: ``python tests/networks/test_convolutions.py narrow`` or ``committed``.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
from torch import nn

from helpers.networks import convolutions, models
from helpers.networks.head_recipe import HEAD
from helpers.networks.heads import SUBNETWORKS
from helpers.networks.recipe import Recipe
from helpers.networks.spectral import SpectralNorm
from helpers.papers.parameters import values_of

ROOT = Path(__file__).resolve().parent.parent.parent
ARCHITECTURE = ("backbone", "depth", "width", "stem_stride", "image_size")
NARROW = [Recipe(width=width, spectral_norm=1.0) for width in (2, 4, 6, 8, 12)]
TIMES = 20  # that a shortcut is asked: what is written past a buffer does not always kill


def mappings(node: object) -> Iterator[dict]:
    """Yield every mapping in a file of parameters, the nested ones too."""
    if isinstance(node, dict):
        yield node
    for one in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from mappings(one)


def committed() -> list[Recipe]:
    """Return the architectures that the parameters of every tier train, with each first layer."""
    found = [one for path in ROOT.glob("params/*/*.yaml") for one in mappings(values_of(path))]
    sizes = {SUBNETWORKS}  # of MIMO, whose first convolution sees as many images
    for one in (each["subnetworks"] for each in found if "subnetworks" in each):
        sizes.update(one["choice"] if isinstance(one, dict) else [one])
    recipes = {}
    trained = (each for each in found if "backbone" in each and "depth" in each)
    for one in (each for each in trained if each["backbone"] != HEAD):  # whose layers see one pixel
        plain = {name: one[name] for name in ARCHITECTURE if name in one}
        for objective in ({}, *({"subnetworks": count} for count in sizes)):
            recipe = Recipe.from_parameters(
                plain, objective="mimo" if objective else "erm", objective_arguments=objective
            )
            recipes[repr(recipe)] = recipe  # files have the same ones many times
    return list(recipes.values())


def layers(recipes: list[Recipe]) -> dict[tuple, nn.Module]:
    """Return one convolution of each shape in the networks of recipes, with drawn weights."""
    found = {}
    for recipe in recipes:
        # shapes alone: the largest networks have 60 million weights
        with torch.device("meta"), nothing_drawn():
            network = models.create(recipe, 10)
        for one in network.modules():
            if isinstance(one, nn.Conv2d):
                shape = (*one.weight.shape, one.stride, one.padding, one.dilation, one.groups)
                found.setdefault(shape, one)
    torch.manual_seed(0)
    for one in found.values():
        one.to_empty(device="cpu").to(memory_format=torch.channels_last)
        nn.init.kaiming_normal_(one.weight)
        if one.bias is not None:
            nn.init.normal_(one.bias)
    return found


@contextmanager
def nothing_drawn() -> Iterator[None]:
    """Have tensors left as they are that weights would be drawn into: on no device that is slow."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("normal_", "uniform_"):
            patch.setattr(torch.Tensor, name, lambda tensor, *_, **__: tensor)
        yield


def error(layer: nn.Conv2d, times: int = 1) -> float:
    """Return the largest relative error of a layer's answers and gradients, asked so many times."""
    size = max(8, 2 * layer.kernel_size[0])
    x = torch.randn(8, layer.in_channels, size, size).to(memory_format=torch.channels_last)
    answers = [_gradients(layer, x, layer.weight, layer.bias) for _ in range(times)]
    exact = [one if one is None else one.double() for one in (x, layer.weight, layer.bias)]

    def reference(x: torch.Tensor) -> torch.Tensor:
        geometry = (layer.stride, layer.padding, layer.dilation, layer.groups)
        return nn.functional.conv2d(x, exact[1], exact[2], *geometry)

    exact = [one if one is None else one.detach().contiguous().requires_grad_() for one in exact]
    with torch.backends.mkldnn.flags(enabled=False):
        right = _gradients(reference, *exact)
    return max(_relative(*pair) for found in answers for pair in zip(found, right, strict=True))


def _gradients(layer, x, weight, bias) -> list[torch.Tensor]:
    x = x.detach().requires_grad_()
    out = layer(x)
    wanted = [one for one in (x, weight, bias) if one is not None]
    return [out.detach(), *torch.autograd.grad(out.square().sum(), wanted)]


def _relative(found: torch.Tensor, right: torch.Tensor) -> float:
    return ((found - right).abs().max() / right.abs().max()).item()


def norm_error(layer: nn.Conv2d) -> float:
    """Return the same of the gradient of a layer's spectral norm."""
    shape, gradients = torch.Size((1, layer.in_channels, 8, 8)), []
    for enabled in (True, False):
        with torch.backends.mkldnn.flags(enabled=enabled):
            normalised = SpectralNorm(layer, 1.0, bound=True).eval()
            normalised.norm(shape)  # which makes the direction, whose layout may then be changed
            norm = normalised.to(memory_format=torch.channels_last).norm(shape)
            gradients += torch.autograd.grad(norm, layer.weight)
    return _relative(*gradients)


def check(name: str) -> None:
    """Print what is wrong with the convolutions of the named networks; say how many were seen."""
    torch.set_num_threads(1)
    narrow = name == "narrow"
    found = layers(NARROW if narrow else committed())
    for shape, layer in found.items():
        skips_pixels = layer.kernel_size == (1, 1) and max(layer.stride) > 1
        times = TIMES if skips_pixels else 1
        norms = [norm_error(layer) for _ in range(times if narrow else 0)]
        worst = max(
            [error(layer, times), *norms], key=lambda one: (one != one, one)
        )  # NaN is worst
        if not worst < 1e-4:
            print(f"wrong by {worst:.1e}: {shape}")
    print(f"{len(found)} shapes")


def run(name: str, **environment: str) -> str:
    """Return what `check` prints in a process of its own; a signal that ends it is a failure."""
    done = subprocess.run(
        [sys.executable, __file__, name],
        capture_output=True,
        text=True,
        timeout=900,  # it may hang, too
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
    )
    ended = f"{signal.Signals(-done.returncode).name}, " if done.returncode < 0 else ""
    assert not done.returncode, f"{ended}see helpers/networks/convolutions.py: {done.stderr[-800:]}"
    assert "wrong" not in done.stdout, done.stdout
    return done.stdout


@pytest.mark.parametrize("processor", ["", "AVX2", "SSE41"], ids=["this", "AVX2", "SSE4.1"])
def test_narrow_networks_keep_away_from_the_kernel_that_writes_past_its_buffer(processor):
    """On the processor at hand, and as on older ones; spectral norms too."""
    limited = {"ONEDNN_MAX_CPU_ISA": processor} if processor else {}
    assert run("narrow", **limited).endswith(" shapes\n")


def test_gradients_of_every_convolution_of_every_tier():
    """Against torch's own convolution in double precision, without oneDNN."""
    assert int(run("committed").split()[0]) > 100


def test_it_is_torchs_convolution_but_for_the_last_bits():
    """Forward and backward; and the very same where the kernel is not met."""
    torch.manual_seed(0)
    x = torch.randn(3, 5, 7, 6, requires_grad=True)
    for stride, padding in (
        ((2, 2), (0, 0)),
        ((3, 1), "valid"),
        ((2, 2), (1, 1)),
        ((1, 1), "same"),
    ):
        weight = torch.randn(4, 5, 1, 1, requires_grad=True)
        pair = [
            (
                out := one(x, weight, None, stride, padding),
                *torch.autograd.grad(out.sum(), (x, weight)),
            )
            for one in (convolutions.convolve, nn.functional.conv2d)
        ]
        for ours, theirs in zip(*pair, strict=True):
            torch.testing.assert_close(ours, theirs)
    wide, x = torch.randn(4, 16, 1, 1), torch.randn(2, 16, 8, 8)
    assert torch.equal(
        convolutions.convolve(x, wide, stride=(2, 2)), nn.functional.conv2d(x, wide, stride=2)
    )


def test_only_the_layers_in_question_are_changed_and_no_name_or_weight():
    network = nn.Sequential(nn.Conv2d(4, 8, 1, stride=2), nn.Conv2d(16, 8, 1, stride=2))
    before = network.state_dict()
    convolutions.protect(network)
    assert [type(one) for one in network] == [convolutions.Conv2d, nn.Conv2d]
    assert all(
        before[name] is value or torch.equal(before[name], value)
        for name, value in network.state_dict().items()
    )
    assert str(network) == str(nn.Sequential(nn.Conv2d(4, 8, 1, 2), nn.Conv2d(16, 8, 1, 2)))


if __name__ == "__main__":
    check(sys.argv[1])
