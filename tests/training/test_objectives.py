"""Objectives equal the formulas of their papers, and each resumes to the last bit."""

import inspect

import numpy as np
import pytest
import torch
from torch import nn

from helpers import checkpoints
from helpers.networks import backbones, heads
from helpers.networks.recipe import Recipe
from helpers.training import objectives, search
from helpers.training.loop import train
from helpers.training.objectives.adversarial import attack
from helpers.training.objectives.crl import ranking_loss
from helpers.training.objectives.erm import Batch
from helpers.training.objectives.stylised import mix_amplitudes
from tests.data.test_images import some as noise
from tests.mistakes import beside

BY_HAND = beside(__file__, "by_hand.yaml")


class Fixed(nn.Sequential):
    """A classifier with its inputs as features and a given head."""

    backbone = property(lambda self: self)

    def features(self, inputs):
        return self[0](inputs)

    def get_classifier(self):
        return self[1]


def fixed(head):
    return Fixed(nn.Flatten(), head or nn.Identity())


def loss_of(objective, inputs, labels, *, epochs=0.0, drawn=(), head=None):
    """Return loss and logits of one batch, whose inputs are the logits if there is no head."""
    given = inputs, labels, range(len(labels)), epochs, drawn
    return objective(fixed(head), Batch(*map(torch.as_tensor, given)))


def linear(weight):
    """Return a layer without bias."""
    layer = nn.Linear(len(weight[0]), len(weight), bias=False)
    layer.weight.data = torch.tensor(weight)
    return layer


def recipe_of(name="erm", arguments=None, **changed):
    """Return a recipe of a small network and a short training."""
    tiny = dict(width=4, stem_stride=2, epochs=2, batch_size=8, learning_rate=0.05)
    chosen = {"objective": name, "objective_arguments": arguments or {}}
    return Recipe.from_parameters(tiny | chosen, **changed)


def trained(name, arguments=None, *, n=24, options=None, **changed):
    """Train a network; return the digest of its weights and its losses."""
    recipe = recipe_of(name, arguments, **changed)
    classifier = backbones.create(recipe, 3)
    teacher = backbones.create(recipe_of(), 3, seed=9)
    options = {"outliers": noise(20, 16, seed=1), "progress": False} | (options or {})
    losses = train(classifier, noise(n, 16), recipe, teacher=teacher, **options)["loss"]
    assert np.isfinite(losses).all()
    return checkpoints.digest(classifier.state_dict()), losses


@pytest.mark.parametrize("name", objectives.names())
def test_each_learns_resumes_and_repeats_itself(name, tmp_path):
    """Same seed, same weights, whether interrupted or not."""
    runs = ("0", 60), ("1", 0), ("1", 60)  # the last goes on from the second
    kept = [{"checkpoint": tmp_path / n, "checkpoint_seconds": seconds} for n, seconds in runs]
    assert len({trained(name, options=each)[0] for each in kept}) == 1


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("optimiser", ["sgd", "adamw"])
@pytest.mark.parametrize("name", objectives.names())
def test_on_a_gpu_recorded_steps_learn_like_plain_ones(name, optimiser, monkeypatch):
    rate = 0.001 if optimiser == "adamw" else 0.05
    changed = {"epochs": 3, "dropout": 0.2, "optimiser": optimiser, "learning_rate": rate}
    _, recorded = trained(name, n=40, options={"device": "cuda"}, **changed)
    monkeypatch.setattr("helpers.training.step._WARM_UP", 10**9)
    _, plain = trained(name, n=40, options={"device": "cuda"}, **changed)
    assert np.allclose(recorded, plain, rtol=0.05)


def test_no_strength_alone_is_plain_training():
    """To the last bit, running statistics included."""
    plain, _ = trained("erm")
    assert trained("adversarial", {"radius": 0.0})[0] == trained("noise")[0] == plain
    for name, arguments in BY_HAND["strong"]:
        assert trained(name, arguments)[0] != plain, name


@pytest.mark.parametrize(
    ("name", "arguments", "logits", "labels", "epochs", "expected"), BY_HAND["losses"]
)
def test_losses_by_hand(name, arguments, logits, labels, epochs, expected):
    """The logits belong to the first images, without the outliers."""
    objective = objectives.create(name, **arguments)
    loss, shown = loss_of(objective, logits, labels, epochs=epochs)
    assert loss.item() == pytest.approx(expected)
    assert shown.tolist() == torch.tensor(logits[: len(labels)]).tolist()


def test_crl_by_hand():
    """Two images in the third epoch of four; the first was right once, the second twice."""
    objective = objectives.create("crl", weight=2.0)
    objective.start(3, 4, "cpu")
    objective.right[:2] = torch.tensor([1.0, 2.0])
    # confidences 0.9 and 0.6
    loss, _ = loss_of(objective, [[np.log(9), 0.0], [0.0, np.log(1.5)]], [0, 0])
    cross_entropy = (-np.log(0.9) - np.log(0.4)) / 2
    # either way round, the pair's confidences differ by 0.3 the wrong way, their shares by 0.25
    assert loss.item() == pytest.approx(cross_entropy + 2 * 0.55, rel=1e-5)
    assert objective.right.tolist() == [2, 2, 0]
    for confidences, shares, expected in BY_HAND["ranking"]:
        loss = ranking_loss(torch.tensor(confidences), torch.tensor(shares)).item()
        assert loss == pytest.approx(expected)


def test_mixup_by_hand():
    """Three images whose four pixels are their logits, and some of the next image."""
    inputs = torch.tensor([[4.0, 0, 0, 0], [0, 4, 0, 0], [0, 0, 0, 0]]).view(3, 4, 1, 1)
    loss, logits = loss_of(objectives.create("mixup"), inputs, [0, 1, 2], drawn=[0.75, 0.5, 0.25])
    assert logits.tolist() == [[3, 1, 0, 0], [0, 2, 0, 0], [3, 0, 0, 0]]
    # classes 0 and 1, then 1 and 2, then 2 and 0; the logarithms normalise
    first = np.log(np.exp(3) + np.exp(1) + 2) - (0.75 * 3 + 0.25 * 1)
    second = np.log(np.exp(2) + 3) - 0.5 * 2
    third = np.log(np.exp(3) + 3) - 0.75 * 3
    assert loss.item() == pytest.approx((first + second + third) / 3)


@pytest.mark.parametrize("alpha", [0.3, 2.0])
def test_mixup_draws_from_the_beta_distribution(alpha):
    """Mean 1/2 and variance 1 / (4 (2 alpha + 1)), a share for each image, by the generator."""
    objective = objectives.create("mixup", alpha=alpha)
    seeded = (torch.Generator().manual_seed(seed) for seed in (0, 0, 1))
    first, again, other = (objective.draw(20000, generator) for generator in seeded)
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert first.min() >= 0
    assert first.max() <= 1
    assert first.mean().item() == pytest.approx(0.5, abs=0.01)
    assert first.var().item() == pytest.approx(1 / (4 * (2 * alpha + 1)), rel=0.03)


def test_the_measure_of_mixup_by_hand():
    """One pixel in three channels, a share of one half, and a mean image of zeros."""
    native = heads.MixingGap(2)
    native.shares = torch.tensor([0.5])
    native.learn(np.array([[[[0, 0, 0]]]] * 4, np.uint8), np.array([0, 0, 0, 1]))
    classifier = fixed(linear([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]))
    shown = torch.tensor([2 * np.log(3), 0.0, 7.0], dtype=torch.float32).view(1, 3, 1, 1)
    measure = native(classifier, shown, shown.flatten(1), classifier(shown))
    # f(x) = (0.9, 0.1), f(x / 2) = (0.75, 0.25), and the mean label is (0.75, 0.25)
    assert measure.item() == pytest.approx(-2 * (0.75 - (0.9 + 0.75) / 2) ** 2, rel=1e-4)


def test_rnd_and_oc_by_hand():
    """Errors of 1 and 2; squares 1 and 4, and W W' − I has the mean square 9 / 4."""
    features = torch.ones(1, 2)
    kinds = (heads.Imitation, heads.Certificates)
    imitation, certificates = (kind(2, width=2, depth=1) for kind in kinds)
    imitation.student[0] = linear([[1.0, 0.0], [0.0, 1.0]])
    imitation.teacher[0] = linear([[0.0, 0.0], [0.0, 3.0]])
    certificates.student[0] = linear([[1.0, 0.0], [0.0, 2.0]])
    rnd = objectives.create("rnd", weight=0.5)
    oc = objectives.create("oc", weight=0.5, penalty=2.0)
    assert rnd.error(imitation, features).item() == pytest.approx(0.5 * 5 / 2)
    assert oc.error(certificates, features).item() == pytest.approx(0.5 * 5 / 2 + 2 * 9 / 4)
    for native in (imitation, certificates):
        assert native(None, None, features, None).item() == -5


def test_the_measure_of_soft_labels_by_hand():
    """The largest of the probabilities 0.5, 0.25, 0.25 should be 0.8."""
    logits = torch.tensor([[np.log(2), 0.0, 0.0]])
    assert heads.TargetGap(positive=0.8)(None, None, None, logits).item() == pytest.approx(-0.09)


def test_rbf_by_hand():
    """Linear functions 0 and 1 give the logits 1 and 1 / e."""
    head = heads.RBFHead(linear([[0.0], [1.0]]))
    loss, logits = loss_of(objectives.create("rbf"), torch.ones(1, 1), [0], head=head)
    assert logits[0].tolist() == pytest.approx([1, np.exp(-1)])
    assert loss.item() == pytest.approx(np.log(1 + np.exp(np.exp(-1) - 1)), rel=1e-6)


def test_mimo_by_hand():
    """Two heads, each for the pixels of one image; two images have two pixels."""
    head = heads.MultiHead(linear([[1.0], [1.0]]), 2)
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
    """The requested share of examples is the same for all heads."""
    arguments = {"subnetworks": 3, "input_repetition": repetition, "batch_repetition": 2}
    objective = objectives.create("mimo", **arguments)
    shown = objective.draw(200, torch.Generator().manual_seed(0))
    assert shown.shape == (3, 400)
    assert shown[0].tolist() == [*range(200)] * 2
    assert all((head.bincount() == 2).all() for head in shown)
    same = (shown == shown[0]).float().mean(dim=1)
    assert same[1:].tolist() == pytest.approx([repetition] * 2, abs=0.03)
    assert repetition == 1 or not torch.equal(shown[1], shown[2])
    assert torch.equal(shown, objective.draw(200, torch.Generator().manual_seed(0)))


@pytest.mark.parametrize("steps", [1, 3])
def test_the_attack_on_a_linear_classifier_goes_along_its_weights(steps):
    """From the right class's to the wrong one's, onto the sphere, however sure it is."""
    weight = torch.randn((2, 12), generator=torch.Generator().manual_seed(0))
    given = torch.full((2, 3, 2, 2), 128, dtype=torch.uint8)
    labels = torch.tensor([0, 1])
    attacked = attack(fixed(linear(weight.tolist())), given, labels, radius=0.1, steps=steps)
    direction = nn.functional.normalize(weight[1] - weight[0], dim=0)
    expected = 128 + 25.5 * torch.stack([direction, -direction])
    assert torch.allclose(attacked.flatten(1), expected, atol=1e-3)


def test_attacks_and_noise_stay_in_the_range_of_pixels():
    white = torch.full((1, 2, 1, 1), 255.0)
    assert attack(nn.Flatten(), white, torch.tensor([0]), radius=1, steps=1).max() == 255
    views = objectives.create("noise", gaussian=1, share=1).views
    assert views(white, None, torch.Generator()).max() <= 255


def test_the_attack_takes_whole_steps_where_the_gradient_turns():
    """To the right at first, then upwards: (1, 0), then (1, 1), which the ball draws to its edge.

    The log odds are u - u² / 2 + u v, with pixels 100 + u and 100 + v, and the radius is 1.
    """

    def classifier(images):
        u, v = (images.flatten(1) - 100).unbind(dim=1)
        return torch.stack([0 * u, u - u**2 / 2 + u * v], dim=1)

    network = nn.Module()
    network.forward = classifier
    given = torch.full((1, 2, 1, 1), 100.0)
    attacked = attack(network, given, torch.tensor([0]), radius=1 / 255, steps=2)
    assert attacked.flatten().tolist() == pytest.approx([100 + 0.5**0.5] * 2, abs=1e-4)


def test_adversarial_loss_and_logits_are_of_the_attacked_images():
    """Logits (100, 100) become (99, 101) for label 0."""
    objective = objectives.create("adversarial", radius=2**0.5 / 255)
    loss, logits = loss_of(objective, torch.full((1, 2, 1, 1), 100.0), [0])
    assert logits.tolist()[0] == pytest.approx([99, 101], abs=1e-4)
    assert loss.item() == pytest.approx(np.log1p(np.exp(2)), rel=1e-4)


@pytest.mark.parametrize(("arguments", "level", "deviation"), BY_HAND["noise"])
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
    assert (turn.real > 0).all()
    assert (turn.imag.abs() < 1e-2 * turn.real).all()


def test_distillation_by_hand():
    """Odds of 4 to 1 become 2 to 1 at temperature 2; the teacher's are even."""
    objective = objectives.create("distillation", weight=0.75, temperature=2.0)
    objective.teacher = fixed(linear([[0.0, 0.0], [0.0, 0.0]]))
    inputs = torch.tensor([2 * np.log(2), 0.0]).float().view(1, 2, 1, 1).requires_grad_()
    loss, logits = loss_of(objective, inputs, [1])
    divergence = 0.5 * np.log(0.5 / (2 / 3)) + 0.5 * np.log(0.5 / (1 / 3))
    assert loss.item() == pytest.approx(0.25 * np.log(5) + 0.75 * 4 * divergence, rel=1e-5)
    assert logits.shape == (1, 2)
    loss.backward()
    assert all(parameter.grad is None for parameter in objective.teacher.parameters())
    # p − y, and T times the difference of the softened probabilities
    expected = 0.25 * 0.8 + 0.75 * 2 * (2 / 3 - 1 / 2)
    assert inputs.grad.flatten().tolist() == pytest.approx([expected, -expected], rel=1e-5)


def test_outlier_exposure_without_outliers_is_refused():
    with pytest.raises(ValueError, match="outliers: images of none of the classes expected"):
        objectives.create("outlier_exposure").views(torch.ones(1, 3, 2, 2), None, None)


@pytest.mark.parametrize("name", objectives.names())
def test_the_table_of_arguments_is_what_each_objective_takes(name):
    """The search refuses and passes arguments by this table, without an import of the classes."""
    signature = inspect.signature(type(objectives.create(name)))
    assert search.arguments_of(name) == tuple(signature.parameters)


@pytest.mark.parametrize("name", objectives.names())
def test_the_defaults_are_the_stated_ones(name):
    """Recipes leave them out: other defaults would change what a finished network stands for."""
    signature = inspect.signature(type(objectives.create(name)))
    parameters = signature.parameters.items()
    defaults = {argument: parameter.default for argument, parameter in parameters}
    assert defaults == BY_HAND["stated"].get(name, {})
