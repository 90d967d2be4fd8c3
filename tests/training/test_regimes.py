import numpy as np
import pytest
import torch
from torch import nn

from helpers.training import objectives
from helpers.training.objectives.adversarial import attack
from helpers.training.objectives.erm import Batch
from helpers.training.objectives.stylised import mix_amplitudes

DRAWN = {"autoaugment": {}, "noise": {"gaussian": 0.1, "speckle": 0.2}, "stylised": {"share": 1.0}}


@pytest.fixture
def pictures(images):
    """Return what draws images as a batch on the device."""
    return lambda n=20, size=16: torch.from_numpy(images(n, size=size).images).permute(0, 3, 1, 2)


def batch_of(inputs, labels):
    return Batch(inputs, torch.tensor(labels), torch.arange(len(labels)), torch.tensor(0.0))


@pytest.mark.parametrize(
    ("name", "arguments", "plain"),
    [
        ("adversarial", {"radius": 0.0}, True),
        ("noise", {}, True),
        ("adversarial", {"radius": 1.0}, False),
        ("distillation", {}, False),
        *((name, DRAWN[name], False) for name in DRAWN),
    ],
)
def test_no_strength_alone_is_plain_training(name, arguments, plain, trained):
    """To the last bit, running statistics included."""
    assert (trained(name, arguments).digest == trained("erm").digest) == plain


@pytest.mark.parametrize("steps", [1, 3])
def test_the_attack_on_a_linear_classifier_goes_along_its_weights(steps):
    """From the right class's to the wrong one's, onto the sphere, however sure it is."""
    linear = nn.Linear(12, 2).requires_grad_(False)
    linear.weight.copy_(torch.randn((2, 12), generator=torch.Generator().manual_seed(0)))
    given = torch.full((2, 3, 2, 2), 128, dtype=torch.uint8)
    found = attack(
        nn.Sequential(nn.Flatten(), linear), given, torch.tensor([0, 1]), radius=0.1, steps=steps
    )
    direction = nn.functional.normalize(linear.weight[1] - linear.weight[0], dim=0)
    expected = 128 + 25.5 * torch.stack([direction, -direction])
    assert torch.allclose(found.flatten(1), expected, atol=1e-3)


def test_adversarial_loss_and_logits_are_of_the_attacked_images():
    """Logits (100, 100) become (99, 101) for label 0."""
    objective = objectives.create("adversarial", radius=2**0.5 / 255)
    loss, logits = objective(nn.Flatten(), batch_of(torch.full((1, 2, 1, 1), 100.0), [0]))
    assert logits.tolist()[0] == pytest.approx([99, 101], abs=1e-4)
    assert loss.item() == pytest.approx(np.log1p(np.exp(2)), rel=1e-4)


@pytest.mark.parametrize(
    ("arguments", "level", "deviation"),
    [
        ({"gaussian": 0.1}, 128, 25.5),
        ({"speckle": 0.2}, 100, 20.0),
        ({"gaussian": 0.04, "speckle": 0.2}, 100, np.hypot(20, 10.2)),
    ],
)
def test_noise_has_its_deviation_and_leaves_the_rest_clean(arguments, level, deviation):
    """Over a quarter of the images, that is 12,288 pixels in each of four of them."""
    given = torch.full((16, 3, 64, 64), level, dtype=torch.uint8)
    objective = objectives.create("noise", share=0.25, **arguments)
    shown = objective.views(given, None, torch.Generator().manual_seed(0))
    assert torch.equal(shown[4:], given[4:].float())
    noise = (shown[:4] - level).flatten(1)
    assert noise.mean().item() == pytest.approx(0, abs=0.02 * deviation)
    assert np.allclose(noise.std(dim=1), deviation, rtol=0.03)
    assert np.abs(np.corrcoef(noise.numpy()) - np.eye(4)).max() < 0.05


@pytest.mark.parametrize("size", [7, 8])
def test_full_mixing_takes_the_amplitudes_and_keeps_the_phases(size, pictures):
    """By the full Fourier transform, for an odd and an even size."""
    own, other = pictures(8, size).float().chunk(2)
    mixed = torch.fft.fft2(mix_amplitudes(own, other, torch.ones(4, 1, 1, 1)))
    assert torch.allclose(mixed.abs(), torch.fft.fft2(other).abs(), rtol=1e-3, atol=0.1)
    turn = mixed / torch.fft.fft2(own)  # real and positive where the phase is the same
    assert (turn.real > 0).all() and (turn.imag.abs() < 1e-2 * turn.real).all()


def test_distillation_by_hand():
    """Odds of 4 to 1 become 2 to 1 at temperature 2; the teacher's are even."""
    objective = objectives.create("distillation", weight=0.75, temperature=2.0)
    objective.teacher = nn.Sequential(nn.Flatten(), nn.Linear(2, 2))
    nn.init.zeros_(objective.teacher[1].weight)
    nn.init.zeros_(objective.teacher[1].bias)
    inputs = torch.tensor([2 * np.log(2), 0.0]).float().view(1, 2, 1, 1).requires_grad_()
    loss, logits = objective(nn.Flatten(), batch_of(inputs, [1]))
    cross_entropy = np.log(5)
    divergence = 0.5 * np.log(0.5 / (2 / 3)) + 0.5 * np.log(0.5 / (1 / 3))
    assert loss.item() == pytest.approx(0.25 * cross_entropy + 0.75 * 4 * divergence, rel=1e-5)
    assert logits.shape == (1, 2)
    loss.backward()
    assert all(parameter.grad is None for parameter in objective.teacher.parameters())
    # p − y, and T times the difference of the softened probabilities
    expected = 0.25 * 0.8 + 0.75 * 2 * (2 / 3 - 1 / 2)
    assert inputs.grad.flatten().tolist() == pytest.approx([expected, -expected], rel=1e-5)
