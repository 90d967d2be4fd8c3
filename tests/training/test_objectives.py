"""Objectives: each by hand, or against the formula of its paper; each resumes to the last bit."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import yaml
from torch import nn

from helpers import checkpoints
from helpers.data import Images
from helpers.networks import models
from helpers.networks.heads import (
    Certificates,
    Imitation,
    MixingGap,
    MultiHead,
    RBFHead,
    TargetGap,
)
from helpers.networks.recipe import Recipe
from helpers.training import objectives
from helpers.training.loop import train
from helpers.training.objectives.adversarial import attack
from helpers.training.objectives.crl import ranking_loss
from helpers.training.objectives.edl import evidential_losses
from helpers.training.objectives.erm import Batch
from helpers.training.objectives.stylised import mix_amplitudes

FILE = Path(__file__).with_name("mistakes.yaml")
MISTAKES = yaml.safe_load(FILE.read_text("utf-8"))["objectives"]


class Fixed(nn.Module):
    """A classifier whose features are its inputs, and whose head is what it is given."""

    def __init__(self, head=None):
        super().__init__()
        self.head, self.native = head or nn.Identity(), None

    @property
    def backbone(self):
        return self

    def get_classifier(self):
        return self.head

    def features(self, inputs):
        return inputs.flatten(1)

    def forward(self, inputs):
        return self.head(self.features(inputs))


def loss_of(objective, inputs, labels, *, images=None, epochs=0.0, drawn=(), head=None):
    """Return loss and logits of one batch, whose inputs are the logits if there is no head."""
    indices = torch.arange(images or len(labels))
    inputs, drawn = torch.as_tensor(inputs), torch.as_tensor(drawn)
    batch = Batch(inputs, torch.tensor(labels), indices, torch.tensor(epochs), drawn)
    return objective(Fixed(head), batch)


def linear(weight):
    """Return a layer without bias."""
    layer = nn.Linear(len(weight[0]), len(weight), bias=False)
    layer.weight.data = torch.tensor(weight)
    return layer


def noise(n=24, seed=0, size=16):
    pixels = np.random.default_rng(seed).integers(0, 256, (n, size, size, 3), dtype=np.uint8)
    return Images(pixels, np.arange(n) % 3, ("a", "b", "c"), "noise", "train")


def recipe_of(name="erm", arguments=None, **changed):
    """Return a recipe of a small network and a short training."""
    tiny = dict(width=4, stem_stride=2, epochs=2, batch_size=8, learning_rate=0.05)
    chosen = {"objective": name, "objective_arguments": arguments or {}}
    return Recipe.from_parameters(tiny | chosen, **changed)


def trained(name, arguments=None, *, n=24, options=None, **changed):
    """Train a network; return its digest and history."""
    recipe = recipe_of(name, arguments, **changed)
    classifier, teacher = models.create(recipe, 3), models.create(recipe_of(), 3, seed=9)
    options = {"outliers": noise(20, seed=1), "progress": False} | (options or {})
    history = train(classifier, noise(n), recipe, teacher=teacher, **options)
    assert np.isfinite(history["loss"]).all()
    return SimpleNamespace(history=history, digest=checkpoints.digest(classifier.state_dict()))


@pytest.mark.parametrize("name", objectives.names())
def test_each_learns_resumes_and_repeats_itself(name, tmp_path):
    """Same seed, same weights, whether interrupted or not."""
    digests = set()
    for number, seconds in (("0", 60), ("1", 0), ("1", 60)):  # the last goes on from the second
        kept = {"checkpoint": tmp_path / number, "checkpoint_seconds": seconds}
        digests.add(trained(name, options=kept).digest)
    assert len(digests) == 1


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("optimiser", ["sgd", "adamw"])
@pytest.mark.parametrize("name", objectives.names())
def test_on_a_gpu_recorded_steps_learn_like_plain_ones(name, optimiser, monkeypatch):
    changed = {"epochs": 3, "n": 40, "dropout": 0.2, "optimiser": optimiser}
    changed |= {"learning_rate": 0.001} if optimiser == "adamw" else {}
    recorded = trained(name, options={"device": "cuda"}, **changed).history
    monkeypatch.setattr("helpers.training.step._WARM_UP", 10**9)
    plain = trained(name, options={"device": "cuda"}, **changed).history
    assert np.allclose(recorded["loss"], plain["loss"], rtol=0.05)


@pytest.mark.parametrize(
    ("name", "arguments", "plain"),
    [
        ("adversarial", {"radius": 0.0}, True),
        ("noise", {}, True),
        ("adversarial", {"radius": 1.0}, False),
        ("distillation", {}, False),
        ("autoaugment", {}, False),
        ("noise", {"gaussian": 0.1, "speckle": 0.2}, False),
        ("stylised", {"share": 1.0}, False),
    ],
)
def test_no_strength_alone_is_plain_training(name, arguments, plain):
    """To the last bit, running statistics included."""
    assert (trained(name, arguments).digest == trained("erm").digest) == plain


def test_erm_and_outlier_exposure_by_hand():
    logits = [[0.0, 0.0], [np.log(3), 0.0], [0.0, 0.0]]
    loss, _ = loss_of(objectives.create("erm"), logits[:2], [0, 1])
    assert loss.item() == pytest.approx((np.log(2) + np.log(4)) / 2)
    objective = objectives.create("outlier_exposure", weight=0.5)
    loss, shown = loss_of(objective, logits, [1], images=1)  # one image, then two outliers
    outliers = ((np.log(4) - np.log(3) / 2) + np.log(2)) / 2
    assert loss.item() == pytest.approx(np.log(2) + 0.5 * outliers)
    assert shown.shape == (1, 2)


def test_crl_by_hand():
    """Two images in the third epoch of four; the first was right once, the second twice."""
    objective = objectives.create("crl", weight=2.0)
    objective.start(3, 4, "cpu")
    objective.right[:2] = torch.tensor([1.0, 2.0])
    logits = [[np.log(9), 0.0], [0.0, np.log(1.5)]]  # confidences 0.9 and 0.6
    loss, _ = loss_of(objective, logits, [0, 0])
    cross_entropy = (-np.log(0.9) - np.log(0.4)) / 2
    # either way round, the pair's confidences differ by 0.3 the wrong way, their shares by 0.25
    assert loss.item() == pytest.approx(cross_entropy + 2 * 0.55, rel=1e-5)
    assert objective.right.tolist() == [2, 2, 0]
    # equal shares are drawn together; a right order is left alone
    for confidences, shares, expected in (
        ([0.9, 0.5], [1.0, 1.0], 0.4), ([0.5, 0.5], [1.0, 1.0], 0), ([0.9, 0.5], [0.75, 0.5], 0),
    ):  # fmt: skip
        loss = ranking_loss(torch.tensor(confidences), torch.tensor(shares))
        assert loss.item() == pytest.approx(expected)


def test_edl_by_hand():
    """K = 2, z = (log 3, 0): alpha = (4, 2), S = 6."""
    logits = torch.tensor([[np.log(3.0), 0.0]])
    likelihood, divergence = evidential_losses(logits, torch.tensor([0]))
    assert likelihood.item() == pytest.approx(np.log(6) - np.log(4))
    # KL(Dir(1, 2) || Dir(1, 1)): the density is 2 x, so the integral of 2 x log(2 x)
    assert divergence.item() == pytest.approx(np.log(2) - 0.5)
    for epochs, share in ((0.0, 0.0), (2.5, 0.25), (30.0, 1.0)):
        loss, _ = loss_of(objectives.create("edl", weight=0.5), logits.tolist(), [0], epochs=epochs)
        expected = np.log(1.5) + 0.5 * share * (np.log(2) - 0.5)
        assert loss.item() == pytest.approx(expected, rel=1e-5)


def test_augmix_by_hand():
    objective = objectives.create("augmix", weight=12.0)
    logits = [[0.0, 0.0], [0.0, 0.0], [np.log(3), 0.0]]  # clean, and two mixed versions
    loss, shown = loss_of(objective, logits, [0], images=1)
    p = np.array([[0.5, 0.5], [0.5, 0.5], [0.75, 0.25]])
    divergence = (p * np.log(p / p.mean(axis=0))).sum(axis=1).mean()
    assert loss.item() == pytest.approx(np.log(2) + 12 * divergence, rel=1e-5)
    assert shown.shape == (1, 2)


def test_mixup_by_hand():
    """Two images whose four pixels are their logits, and a quarter or half of the other one."""
    inputs = torch.zeros(2, 4, 1, 1)
    inputs[0, 0] = 4.0
    loss, logits = loss_of(objectives.create("mixup"), inputs, [0, 1], drawn=[0.75, 0.5])
    assert logits.tolist() == [[3, 0, 0, 0], [2, 0, 0, 0]]
    normal = [np.log(np.exp(3) + 3), np.log(np.exp(2) + 3)]
    first = 0.75 * (normal[0] - 3) + 0.25 * normal[0]  # classes 0 and 1
    second = 0.5 * normal[1] + 0.5 * (normal[1] - 2)  # classes 1 and 0
    assert loss.item() == pytest.approx((first + second) / 2)


@pytest.mark.parametrize("alpha", [0.3, 2.0])
def test_mixup_draws_from_the_beta_distribution(alpha):
    """Mean 1/2 and variance 1 / (4 (2 alpha + 1)), a share for each image, by the generator."""
    objective = objectives.create("mixup", alpha=alpha)
    generators = (torch.Generator().manual_seed(seed) for seed in (0, 0, 1))
    one, again, other = (objective.draw(20000, each) for each in generators)
    assert torch.equal(one, again) and not torch.equal(one, other)
    assert one.min() >= 0 and one.max() <= 1
    assert one.mean().item() == pytest.approx(0.5, abs=0.01)
    assert one.var().item() == pytest.approx(1 / (4 * (2 * alpha + 1)), rel=0.03)


def test_the_measure_of_mixup_by_hand():
    """One pixel in three channels, a share of one half, and a mean image of zeros."""
    native = MixingGap(2)
    native.shares = torch.tensor([0.5])
    native.learn(np.array([[[[0, 0, 0]]]] * 4, np.uint8), np.array([0, 0, 0, 1]))
    classifier = Fixed(linear([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]))
    shown = torch.tensor([2 * np.log(3), 0.0, 7.0], dtype=torch.float32).view(1, 3, 1, 1)
    found = native(classifier, shown, shown.flatten(1), classifier(shown))
    # f(x) = (0.9, 0.1), f(x / 2) = (0.75, 0.25), and the mean label is (0.75, 0.25)
    assert found.item() == pytest.approx(-2 * (0.75 - (0.9 + 0.75) / 2) ** 2, rel=1e-4)


@pytest.mark.parametrize(
    ("name", "kind", "student", "arguments", "expected"),
    [  # errors of 1 and 2; squares 1 and 4, and W W' - I has the mean square 9 / 4
        ("rnd", Imitation, 1.0, {"weight": 0.5}, 0.5 * (1 + 4) / 2),
        ("oc", Certificates, 2.0, {"weight": 0.5, "penalty": 2.0}, 0.5 * (1 + 4) / 2 + 2 * 9 / 4),
    ],
)
def test_rnd_and_oc_by_hand(name, kind, student, arguments, expected):
    native = kind(2, width=2, depth=1)
    native.student[0] = linear([[1.0, 0.0], [0.0, student]])
    if name == "rnd":
        native.teacher[0] = linear([[0.0, 0.0], [0.0, 3.0]])
    features = torch.ones(1, 2)
    error = objectives.create(name, **arguments).error(native, features)
    assert error.item() == pytest.approx(expected)
    assert native(None, None, features, None).item() == -5


def test_soft_labels_by_hand():
    """K = 3, probabilities 0.5, 0.25, 0.25 and targets 0.8, 0.1, 0.1."""
    logits = torch.tensor([[np.log(2), 0.0, 0.0]], dtype=torch.float32)
    loss, _ = loss_of(objectives.create("soft_labels", positive=0.8), logits, [0])
    assert loss.item() == pytest.approx(0.8 * np.log(2) + 0.2 * np.log(4))
    loss, _ = loss_of(objectives.create("soft_labels", positive=1), logits, [0])
    assert loss.item() == pytest.approx(np.log(2))
    found = TargetGap(positive=0.8)(None, None, None, logits)
    assert found.item() == pytest.approx(-(0.3**2))


def test_rbf_by_hand():
    """Linear functions 0 and 1 give the logits 1 and 1 / e."""
    head = RBFHead(linear([[0.0], [1.0]]))
    loss, logits = loss_of(objectives.create("rbf"), torch.ones(1, 1), [0], head=head)
    assert logits[0].tolist() == pytest.approx([1, np.exp(-1)])
    assert loss.item() == pytest.approx(np.log(1 + np.exp(np.exp(-1) - 1)), rel=1e-6)


def test_mimo_by_hand():
    """Two heads, each of which answers for its own image's pixels; two images of two pixels."""
    head = MultiHead(linear([[1.0], [1.0]]), 2)
    head.linear = linear(np.eye(4, dtype=np.float32).tolist())
    objective = objectives.create("mimo", subnetworks=2, batch_repetition=1)
    shown = torch.tensor([[np.log(3), 0.0], [0.0, 0.0]], dtype=torch.float32).view(2, 2, 1, 1)
    loss, logits = loss_of(objective, shown, [0, 1], drawn=[[0, 1], [1, 0]], head=head)
    # each head sees each image once: probabilities 3/4 of class 0, and 1/2 of class 1
    assert loss.item() == pytest.approx(-(np.log(0.75) + np.log(0.5)))
    assert torch.equal(logits, shown.flatten(1))  # the first head's, of the images in order
    both = head(torch.tensor([[np.log(3), 0.0, 0.0, 0.0]], dtype=torch.float32))
    assert both.exp()[0].tolist() == pytest.approx([(0.75 + 0.5) / 2, (0.25 + 0.5) / 2])


@pytest.mark.parametrize("repetition", [0.0, 0.5, 1.0])
def test_mimo_shows_each_head_each_image_as_often(repetition):
    """And the share of examples that is asked for the same one to all heads."""
    objective = objectives.create(
        "mimo", subnetworks=3, input_repetition=repetition, batch_repetition=2
    )
    shown = objective.draw(200, torch.Generator().manual_seed(0))
    assert shown.shape == (3, 400) and shown[0].tolist() == [*range(200)] * 2
    assert all((head.bincount() == 2).all() for head in shown)
    same = (shown == shown[0]).float().mean(dim=1)
    assert same[1:].tolist() == pytest.approx([repetition] * 2, abs=0.03)
    assert repetition == 1 or not torch.equal(shown[1], shown[2])
    assert torch.equal(shown, objective.draw(200, torch.Generator().manual_seed(0)))


@pytest.mark.parametrize("steps", [1, 3])
def test_the_attack_on_a_linear_classifier_goes_along_its_weights(steps):
    """From the right class's to the wrong one's, onto the sphere, however sure it is."""
    weight = torch.randn((2, 12), generator=torch.Generator().manual_seed(0))
    classifier = nn.Sequential(nn.Flatten(), linear(weight.tolist()))
    given = torch.full((2, 3, 2, 2), 128, dtype=torch.uint8)
    attacked = attack(classifier, given, torch.tensor([0, 1]), radius=0.1, steps=steps)
    direction = nn.functional.normalize(weight[1] - weight[0], dim=0)
    expected = 128 + 25.5 * torch.stack([direction, -direction])
    assert torch.allclose(attacked.flatten(1), expected, atol=1e-3)


def test_adversarial_loss_and_logits_are_of_the_attacked_images():
    """Logits (100, 100) become (99, 101) for label 0."""
    objective = objectives.create("adversarial", radius=2**0.5 / 255)
    loss, logits = loss_of(objective, torch.full((1, 2, 1, 1), 100.0), [0])
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
def test_full_mixing_takes_the_amplitudes_and_keeps_the_phases(size):
    """By the full Fourier transform, for an odd and an even size."""
    pixels = torch.from_numpy(noise(8, size=size).images).permute(0, 3, 1, 2).float()
    first, second = pixels.chunk(2)
    mixed = torch.fft.fft2(mix_amplitudes(first, second, torch.ones(4, 1, 1, 1)))
    assert torch.allclose(mixed.abs(), torch.fft.fft2(second).abs(), rtol=1e-3, atol=0.1)
    turn = mixed / torch.fft.fft2(first)  # real and positive where the phase is the same
    assert (turn.real > 0).all() and (turn.imag.abs() < 1e-2 * turn.real).all()


def test_distillation_by_hand():
    """Odds of 4 to 1 become 2 to 1 at temperature 2; the teacher's are even."""
    objective = objectives.create("distillation", weight=0.75, temperature=2.0)
    objective.teacher = nn.Sequential(nn.Flatten(), nn.Linear(2, 2))
    nn.init.zeros_(objective.teacher[1].weight)
    nn.init.zeros_(objective.teacher[1].bias)
    inputs = torch.tensor([2 * np.log(2), 0.0]).float().view(1, 2, 1, 1).requires_grad_()
    loss, logits = loss_of(objective, inputs, [1])
    cross_entropy = np.log(5)
    divergence = 0.5 * np.log(0.5 / (2 / 3)) + 0.5 * np.log(0.5 / (1 / 3))
    assert loss.item() == pytest.approx(0.25 * cross_entropy + 0.75 * 4 * divergence, rel=1e-5)
    assert logits.shape == (1, 2)
    loss.backward()
    assert all(parameter.grad is None for parameter in objective.teacher.parameters())
    # p − y, and T times the difference of the softened probabilities
    expected = 0.25 * 0.8 + 0.75 * 2 * (2 / 3 - 1 / 2)
    assert inputs.grad.flatten().tolist() == pytest.approx([expected, -expected], rel=1e-5)


@pytest.mark.parametrize(
    ("objective", "side", "message"),
    [
        ("outlier_exposure", None, "outliers: objective 'outlier_exposure' needs them"),
        ("distillation", None, "teacher: objective 'distillation' needs one"),
        ("outlier_exposure", 8, r"outliers: images of \(16, 16\) pixels expected"),
    ],
)
def test_what_an_objective_needs_is_asked_for(objective, side, message):
    recipe, outliers = recipe_of(objective), side and noise(size=side)
    with pytest.raises(ValueError, match=message):
        train(models.create(recipe, 3), noise(), recipe, outliers=outliers, progress=False)


@pytest.mark.parametrize("message", MISTAKES)
def test_wrong_names_and_arguments_are_refused(message):
    ((name, arguments),) = MISTAKES[message].items()
    with pytest.raises(ValueError, match=message):
        objectives.create(name, **arguments)
