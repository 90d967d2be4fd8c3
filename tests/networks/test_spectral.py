from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from helpers import checkpoints
from helpers.data import Images
from helpers.networks import models
from helpers.networks.inference import compute
from helpers.networks.recipe import SPECTRAL_FORMS, Recipe
from helpers.networks.spectral import SpectralNorm, normalise
from helpers.training.loop import train

TINY = Recipe(width=4, stem_stride=2, epochs=3, batch_size=8, learning_rate=0.05, spectral_norm=1.0)
LAYERS = {
    "padded": (lambda: nn.Conv2d(2, 3, 3, padding=1), (2, 6, 5)),
    "strided": (lambda: nn.Conv2d(3, 4, 3, stride=2, padding=1, bias=False), (3, 7, 8)),
    "grouped": (lambda: nn.Conv2d(4, 4, 3, padding=1, groups=4), (4, 5, 5)),
    "dilated": (lambda: nn.Conv2d(2, 2, 3, padding=2, dilation=2), (2, 6, 6)),
    "shortcut": (lambda: nn.Conv2d(3, 5, 1, stride=2), (3, 6, 6)),
    "linear": (lambda: nn.Linear(7, 4), (7,)),
}


def images(n=40):
    pixels = np.random.default_rng(0).integers(0, 256, (n, 16, 16, 3), dtype=np.uint8)
    return Images(pixels, np.arange(n) % 3, ("a", "b", "c"), "noise", "train")


def true_norm(layer, shape):
    """Return the largest singular value of a layer's matrix, made by showing it unit inputs."""
    count = int(np.prod(shape))
    with torch.no_grad():
        answers = layer(torch.eye(count).view(count, *shape)) - layer(torch.zeros(1, *shape))
    return np.linalg.svd(answers.flatten(1).double().numpy(), compute_uv=False)[0]


@pytest.mark.parametrize("scale", [0.5, 2.0])
@pytest.mark.parametrize("name", LAYERS)
def test_the_norm_is_the_operators_and_the_wrapped_layer_has_the_coefficient(name, scale):
    """By the explicit matrix of the layer, before and after; one that is divided grows as well."""
    torch.manual_seed(0)
    make, shape = LAYERS[name]
    layer = make()
    true = true_norm(layer, shape)
    wrapped = SpectralNorm(layer, coefficient := scale * true, bound=scale < 1)
    for _ in range(1000):
        found = wrapped.norm((1, *shape)).item()
    assert found == pytest.approx(true, rel=1e-4) and found <= true * (1 + 1e-6)
    assert true_norm(wrapped.eval(), shape) == pytest.approx(coefficient, rel=1e-4)


def test_a_bounded_layer_below_the_coefficient_is_left_alone():
    """To the last bit."""
    layer, x = nn.Conv2d(2, 3, 3, padding=1), torch.randn(2, 2, 6, 5)
    assert torch.equal(SpectralNorm(layer, 100.0, bound=True)(x), layer(x))


def test_the_norm_and_its_gradient_by_hand():
    """A matrix of singular values 3 and 1, along the axes: only the 3 matters."""
    linear = nn.Linear(2, 2)
    linear.weight.data = torch.tensor([[3.0, 0.0], [0.0, 1.0]])
    norm = SpectralNorm(linear, 1.0, bound=True).norm((1, 2))
    norm.backward()
    assert norm.item() == pytest.approx(3)
    assert torch.allclose(linear.weight.grad, torch.tensor([[1.0, 0], [0, 0]]), atol=1e-6)


def test_a_batch_normalisation_by_hand():
    """Scales 2 and 6 over standard deviations 1 and 2: the norm is 3; shifts stay."""
    layer = nn.BatchNorm2d(2, eps=0.0)
    layer.weight.data, layer.bias.data = torch.tensor([2.0, -6.0]), torch.tensor([5.0, 7.0])
    layer.running_var.copy_(torch.tensor([1.0, 4.0]))
    wrapped = SpectralNorm(layer, 1.5, bound=True).eval()
    assert wrapped.norm((1, 2, 1, 1)).item() == 3
    assert wrapped(torch.ones(1, 2, 1, 1)).flatten().tolist() == [6.0, 5.5]


@pytest.mark.parametrize(
    "changed",
    [
        {"depth": 8},
        {"backbone": "densenet", "depth": 16, "width": 8},
        {"backbone": "efficientnet", "depth": 0.3, "width": 0.25},
    ],
)
@pytest.mark.parametrize("form", SPECTRAL_FORMS)
def test_every_layer_below_the_head_is_normalised_and_bounded_as_the_form_says(changed, form):
    """The head is not; batch normalisations are in no form divided by less than 1."""
    model = models.create(replace(TINY, **changed, spectral_form=form), 3).eval()
    assert model(torch.zeros((1, 3, 16, 16), dtype=torch.uint8)).shape == (1, 3)
    weights = nn.Conv2d | nn.Linear
    kinds = weights if form == "weights" else weights | nn.BatchNorm2d
    wrapped = [one for one in model.modules() if isinstance(one, SpectralNorm)]
    assert {one.layer for one in wrapped} | {model.backbone.get_classifier()} == {
        one for one in model.modules() if isinstance(one, kinds)
    }
    assert model.head.weight.shape[0] == 3
    bounds = {isinstance(one.layer, nn.BatchNorm2d): one.least == 1 for one in wrapped}
    divided = {False: form == "bounded"}
    assert bounds == (divided if form == "weights" else divided | {True: True})


def test_a_normalised_network_is_trained_kept_and_resumed_to_the_last_bit(tmp_path):
    """The weights hold the directions, whose shapes are known only with the images."""
    digests = []
    for number in range(3):  # the last goes on from the checkpoint that the second left
        model = models.create(TINY, 3)
        history = train(
            model, images(), TINY, checkpoint=tmp_path / str(min(number, 1)), progress=False,
            checkpoint_seconds=0 if number == 1 else 60,
        )  # fmt: skip
        assert np.isfinite(history["loss"]).all()
        digests.append(checkpoints.digest(model.state_dict()))
    assert len(set(digests)) == 1
    again = models.create(TINY, 3)
    again.load_state_dict(model.state_dict())
    assert np.array_equal(compute(again, images()).logits, compute(model, images()).logits)
    plain = replace(TINY, spectral_norm=0.0)
    other = models.create(plain, 3)
    train(other, images(), plain, progress=False)
    weights = [one.backbone.get_classifier().weight for one in (model, other)]
    assert not torch.equal(*weights)


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="coefficient: a positive number expected, got 0"):
        normalise(nn.Sequential(nn.Linear(2, 2)), 0)
    with pytest.raises(ValueError, match="unknown form 'strickt'; did you mean 'strict'"):
        normalise(nn.Sequential(nn.Linear(2, 2)), 1, "strickt")
    with pytest.raises(ValueError, match="unknown spectral_form 'bound'; did you mean 'bounded'"):
        Recipe(spectral_form="bound")
    with pytest.raises(ValueError, match="spectral_norm: at least 0 and below inf expected"):
        Recipe(spectral_norm=-1.0)
    with pytest.raises(ValueError, match="spectral_norm: convolutional networks only, got back"):
        Recipe(backbone="vit", depth=2, width=32, stem_stride=8, spectral_norm=1.0)
