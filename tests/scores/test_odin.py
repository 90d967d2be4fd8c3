import numpy as np
import pytest
import torch

import helpers.scores
from helpers.data import Images
from helpers.networks import models
from helpers.networks.recipe import Recipe
from helpers.outputs import compute
from helpers.scores.gradients import stepped_logits


@pytest.fixture(scope="module")
def problem():
    """Random weights, random images."""
    pixels = np.random.default_rng(0).integers(40, 216, (9, 32, 32, 3), dtype=np.uint8)
    images = Images(pixels, np.full(9, -1), tuple("abc"), "noise", "test")
    classifier = models.create(Recipe(width=8, stem_stride=2), 3)
    classifier.set_normalisation(pixels)
    return classifier.eval(), images


def test_without_a_step_it_is_the_softmax_at_its_temperature(problem):
    classifier, images = problem
    outputs = compute(classifier, images)
    score = helpers.scores.create("odin", temperature=10.0)
    z = outputs.logits.astype(np.float64) / 10
    expected = (np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)).max(axis=1)
    assert score.fit(None, None).score_samples(outputs) == pytest.approx(expected)


def test_the_step_is_against_the_gradient_of_the_loss_of_the_own_answer(problem):
    """By hand, for one image, with another way to the gradient; eps is a share of 255."""
    classifier, images = problem
    pixels = torch.from_numpy(images.images[:1]).permute(0, 3, 1, 2).float().requires_grad_()
    logits = classifier(pixels)
    loss = torch.nn.functional.cross_entropy(logits / 100, logits.argmax(dim=1))
    (gradient,) = torch.autograd.grad(loss, pixels)
    moved = classifier(pixels.detach() - 0.004 * 255 * gradient.sign())
    ours = stepped_logits(classifier, images.subset([0]), 100.0, [0.0, 0.004])
    assert ours.shape == (2, 1, 3)
    np.testing.assert_allclose(ours[0], logits.detach(), rtol=1e-5)
    np.testing.assert_allclose(ours[1], moved.detach(), rtol=1e-4)


def test_a_small_step_raises_the_score_of_every_image(problem, asked):
    classifier, images = problem
    model = asked(classifier)
    before, after = (
        helpers.scores.score(
            helpers.scores.create("odin", temperature=10.0, epsilon=epsilon), model, images
        )
        for epsilon in (0.0, 0.0005)
    )
    assert (after > before).all()
    several = asked(classifier, classifier)
    with pytest.raises(ValueError, match="model: one network expected, got 2"):
        helpers.scores.create("odin", epsilon=0.1).score_images(several, images)


def test_a_batch_is_its_images_one_by_one_and_nothing_is_left_behind(problem):
    classifier, images = problem
    whole = stepped_logits(classifier, images, 10.0, [0.002])
    singles = [stepped_logits(classifier, images.subset([i]), 10.0, [0.002]) for i in range(9)]
    np.testing.assert_allclose(whole, np.concatenate(singles, axis=1), atol=1e-5)
    assert all(one.grad is None and one.requires_grad for one in classifier.parameters())
    with pytest.raises(AttributeError):  # in the middle of it
        stepped_logits(classifier, [images], 10.0, [0.002])
    assert all(weight.requires_grad for weight in classifier.parameters())


def test_bad_input_is_refused(problem):
    classifier, images = problem
    outputs = compute(classifier, images)
    with pytest.raises(ValueError, match="score 'odin' needs the images"):
        helpers.scores.create("odin", epsilon=0.1).score_samples(outputs)
    with pytest.raises(ValueError, match="temperature: a positive number"):
        helpers.scores.create("odin", temperature=0)
    with pytest.raises(ValueError, match="epsilon: at least 0"):
        helpers.scores.create("odin", epsilon=-0.1)
