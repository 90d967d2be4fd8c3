"""Scores that go back to the images, of members and of a mixture: odin, jacobian, tta, jsd, gmm."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.special
import torch
from scipy.stats import multivariate_normal

import helpers.scores
from helpers.data import Images
from helpers.networks import backbones
from helpers.networks.inference import compute
from helpers.networks.model import Model
from helpers.networks.recipe import Recipe
from helpers.outputs import Outputs
from helpers.scores import jacobian
from helpers.scores.jacobian import jacobian_norms
from helpers.scores.odin import stepped_logits
from helpers.scores.tta import augmented_probabilities
from tests.data.test_images import some as noise


@pytest.fixture
def model_of(root):
    """Return what makes a `Model` of classifiers, whose cache is empty."""

    def network(classifier):
        return SimpleNamespace(
            classifier=classifier,
            preprocessing={},
            view={},
            sha256=f"{id(classifier)}",
            device="cpu",
            threads=1,
            outputs=lambda images, passes=0: compute(classifier, images),
        )

    return lambda *classifiers: Model("asked", tuple(map(network, classifiers)))


class Linear(torch.nn.Module):
    """Logits that are linear in the pixels; the module stores its inputs."""

    def __init__(self, weight, bias):
        super().__init__()
        self.register_buffer("mean", torch.zeros(1))
        self.weight, self.bias = (torch.tensor(x, dtype=torch.float32) for x in (weight, bias))
        self.shown = []

    def forward(self, images):
        self.shown.append(images)
        return images.float().flatten(1) @ self.weight.T + self.bias


def linear(classes=5, seed=1, size=4):
    generator = np.random.default_rng(seed)
    weight = generator.normal(size=(classes, 3 * size**2)) / 500
    return Linear(weight, generator.normal(size=classes))


def by_image(answer, images):
    """Return squared norms by a Jacobian for one image after another."""
    pixels = torch.from_numpy(images.images).permute(0, 3, 1, 2).float()
    jacobian = torch.autograd.functional.jacobian
    return [float((255 * jacobian(answer, image[None])).square().sum()) for image in pixels]


@pytest.mark.parametrize("several", [1, 2])
def test_the_jacobian_is_tempered_after_the_mean(several, model_of):
    """The logarithms of the mean probabilities are used like logits."""
    networks = [linear(3), linear(3, seed=2)][:several]
    images = noise(7, 4)

    def answer(temperature, pixels):
        mean = torch.stack([each(pixels).softmax(dim=1) for each in networks]).mean(dim=0)
        return (mean.log() / temperature).softmax(dim=1)[0]

    norms = jacobian_norms(networks, images, temperatures=(1.0, 2.5), batch_size=3)
    expected = [by_image(partial(answer, temperature), images) for temperature in (1.0, 2.5)]
    np.testing.assert_allclose(norms, expected, rtol=1e-4)
    score = helpers.scores.create("jacobian").fit(None, None)
    scored = helpers.scores.score(score, model_of(*networks), images)
    np.testing.assert_allclose(scored, -norms[0], rtol=1e-5)


def test_the_jacobian_takes_as_many_images_at_once_as_memory_holds(monkeypatch):
    """Three classes and 12 values of 4 bytes, twice: of 700 bytes two images have room."""
    network = linear(3, size=2)
    images = noise(7, size=2)
    expected = jacobian_norms([network], images)
    for memory, batches in ((700, [1, 2, 2, 2, 1]), (1, [1] * 8)):  # the first tells the classes
        network.shown.clear()
        monkeypatch.setattr(jacobian, "_MEMORY", memory)
        np.testing.assert_allclose(jacobian_norms([network], images), expected, rtol=1e-5)
        assert [*map(len, network.shown)] == batches


def test_the_jacobian_keeps_its_digits_where_a_network_is_certain():
    """The norm is 2 (p q)² |w − v|² with q = exp(−60), for each predicted class."""
    weight = np.array([[1.0] * 12, [3.0] * 12]) / 255
    images = noise(1, size=2)
    pixels = images.images.transpose(0, 3, 1, 2).reshape(1, -1).astype(float)
    for bias in ([60.0, 0.0], [0.0, 60.0]):
        network = Linear(weight, bias)
        gap = abs((pixels @ weight.T + bias)[0] @ [1, -1])
        expected = 2 * np.exp(-2 * gap) * 12 * 4
        assert jacobian_norms([network], images)[0] == pytest.approx([expected], rel=1e-3)


def labelled(count, width, classes=3, seed=0):
    """Return outputs of classes of different spread, whose shares differ."""
    generator = np.random.default_rng(seed)
    labels = np.concatenate([np.arange(classes).repeat(4), generator.integers(0, 2, count)])
    features = generator.normal(size=(len(labels), width)) * (1 + labels[:, None])
    features[:, 0] += 30 * labels
    return Outputs(np.zeros((len(labels), classes)), features, labels)


@pytest.mark.parametrize(("count", "width"), [(100, 3), (20, 40)])
def test_gmm_is_the_density_of_a_mixture(count, width):
    """Against SciPy's Gaussians, with more images of a class than features, and with fewer."""
    train = labelled(count, width)
    test = labelled(9, width, seed=1)
    expected = 0.0
    for label in range(3):
        features = train.features[train.labels == label].astype(float)
        covariance = np.cov(features.T, bias=True) + 0.5 * np.eye(width)
        density = multivariate_normal(features.mean(axis=0), covariance).pdf(test.features)
        expected = expected + len(features) / len(train) * density
    score = helpers.scores.create("gmm", ridge=0.5).fit(train, None)
    assert score.score_samples(test) == pytest.approx(np.log(expected), rel=1e-6)


def test_jsd_and_native_by_hand():
    """Members agree, are certain of different classes, or have (3/4, 1/4) and (1/4, 3/4)."""
    members = np.array([[[0.5, 0.5], [1, 0], [0.75, 0.25]], [[0.5, 0.5], [0, 1], [0.25, 0.75]]])
    native = np.array([-0.5, 2.0, 0.0])
    outputs = Outputs(np.zeros((3, 2)), np.zeros((3, 1)), np.full(3, -1), members, native)
    half = 0.75 * np.log(0.75) + 0.25 * np.log(0.25)
    values = helpers.scores.create("jsd").score_samples(outputs)
    assert values == pytest.approx([0, -np.log(2), -half - np.log(2)])
    assert values.max() <= 0
    assert (helpers.scores.create("native").score_samples(outputs) == native).all()


def test_tta_is_the_mean_over_the_augmented_images(model_of):
    """The augmented images are bytes of the same size; there are two temperatures."""
    network = linear()
    images = noise(6, 4)
    answers = augmented_probabilities([network], images, copies=4, temperatures=(1.0, 3.0))
    shown = torch.stack(network.shown)
    assert shown.dtype == torch.uint8
    assert shown.shape[3:] == (4, 4)
    assert len(shown.unique(dim=0)) == len(shown) == 4
    logits = [network(copy).numpy() for copy in shown]
    for probabilities, temperature in zip(answers, (1.0, 3.0), strict=True):
        expected = scipy.special.softmax(np.array(logits) / temperature, axis=-1).mean(axis=0)
        np.testing.assert_allclose(probabilities, expected, rtol=1e-4)
    score = helpers.scores.create("tta", copies=4).fit(None, None)
    scored = helpers.scores.score(score, model_of(network), images)
    np.testing.assert_allclose(scored, answers[0].max(axis=1))


def test_tta_of_an_image_does_not_depend_on_other_images():
    """Batch and earlier draws do not matter, and the global random state is unchanged."""
    network = linear()
    images = noise(6, 4)
    before = torch.random.get_rng_state()
    whole = augmented_probabilities([network], images, seed=1)[0]
    assert (torch.random.get_rng_state() == before).all()
    torch.manual_seed(7)
    singles = [augmented_probabilities([network], images.subset([i]), seed=1)[0] for i in range(6)]
    np.testing.assert_allclose(whole, np.concatenate(singles), atol=1e-6)
    assert np.abs(whole - augmented_probabilities([network], images, seed=2)[0]).max() > 1e-3


@pytest.fixture(scope="module")
def noisy():
    """Random weights, random images."""
    pixels = np.random.default_rng(0).integers(40, 216, (9, 32, 32, 3), dtype=np.uint8)
    images = Images(pixels, np.full(9, -1), tuple("abc"), "noise", "test")
    classifier = backbones.create(Recipe(width=8, stem_stride=2), 3)
    classifier.set_normalisation(pixels)
    return classifier.eval(), images


def test_gradients_are_computed_without_a_change_of_the_network(noisy):
    """Compare a small ResNet image by image; a failed step changes no network."""
    classifier, images = noisy
    expected = by_image(lambda pixels: classifier(pixels).softmax(dim=1)[0], images)
    assert jacobian_norms([classifier], images)[0] == pytest.approx(expected, rel=1e-4)
    whole = stepped_logits(classifier, images, 10.0, [0.002])
    singles = [stepped_logits(classifier, images.subset([i]), 10.0, [0.002]) for i in range(9)]
    np.testing.assert_allclose(whole, np.concatenate(singles, axis=1), atol=1e-5)
    with pytest.raises(AttributeError):  # in the middle of it
        stepped_logits(classifier, [images], 10.0, [0.002])
    assert all(weight.grad is None and weight.requires_grad for weight in classifier.parameters())


def test_the_step_is_against_the_gradient_of_the_loss_of_the_own_answer(noisy):
    """By hand, for one image, with another way to the gradient; eps is a share of 255."""
    classifier, images = noisy
    pixels = torch.from_numpy(images.images[:1]).permute(0, 3, 1, 2).float().requires_grad_()
    logits = classifier(pixels)
    loss = torch.nn.functional.cross_entropy(logits / 100, logits.argmax(dim=1))
    (gradient,) = torch.autograd.grad(loss, pixels)
    moved = classifier(pixels.detach() - 0.004 * 255 * gradient.sign())
    ours = stepped_logits(classifier, images.subset([0]), 100.0, [0.0, 0.004])
    assert ours.shape == (2, 1, 3)
    np.testing.assert_allclose(ours[0], logits.detach(), rtol=1e-5)
    np.testing.assert_allclose(ours[1], moved.detach(), rtol=1e-4)


def test_a_score_of_images_without_the_method_is_named(model_of):
    score = SimpleNamespace(info=helpers.scores.create("tta").info)  # no method at all
    with pytest.raises(ValueError, match="score 'tta': a method score_images expected"):
        helpers.scores.score(score, model_of(), None)


def test_a_small_step_raises_the_score_of_every_image(noisy, model_of):
    """Without a step it is the largest softmax at its temperature."""
    classifier, images = noisy
    model = model_of(classifier)
    outputs = compute(classifier, images)
    plain = helpers.scores.create("odin", temperature=10.0).score_samples(outputs)
    softmax = scipy.special.softmax(outputs.logits.astype(np.float64) / 10, axis=1)
    assert plain == pytest.approx(softmax.max(axis=1))
    stepping = helpers.scores.create("odin", temperature=10.0, epsilon=0.0005)
    assert (helpers.scores.score(stepping, model, images) > plain).all()
    with pytest.raises(ValueError, match="model: one network expected, got 2"):
        stepping.score_images(model_of(classifier, classifier), images)
