import numpy as np
import pytest

import helpers.scores
from helpers.outputs import Outputs


def problem(n=6000, width=5, classes=3, seed=0):
    """Return outputs of classes of different sizes, with features that go together."""
    generator = np.random.default_rng(seed)
    labels = generator.choice(classes, n, p=[0.5, 0.3, 0.2])
    mixing = np.random.default_rng(1).normal(size=(width, width))
    features = generator.normal(size=(n, width)) @ mixing + 2 * np.eye(width)[labels]
    return Outputs(np.zeros((n, classes)), features, labels)


def squared(gaps, covariance):
    return np.einsum("nd,de,ne->n", gaps, np.linalg.inv(covariance), gaps)


def distances(train, test):
    """Return squared distances to each class and to all images, with explicit inverses."""
    features = train.features.astype(float)
    means = np.array([features[train.labels == k].mean(axis=0) for k in range(3)])
    within = np.cov((features - means[train.labels]).T, bias=True)
    classes = [squared(test.features - mean, within) for mean in means]
    background = squared(test.features - features.mean(axis=0), np.cov(features.T, bias=True))
    return np.min(classes, axis=0), background


def test_against_explicit_inverses_over_several_blocks():
    """Of both Mahalanobis scores."""
    train, test = problem(), problem(50, seed=2)
    nearest, background = distances(train, test)
    found = helpers.scores.create("rmds").fit(train, None).score_samples(test)
    assert found == pytest.approx(background - nearest, rel=1e-6)
    found = helpers.scores.create("mahalanobis").fit(train, None).score_samples(test)
    assert found == pytest.approx(-nearest, rel=1e-6)


def test_invertible_linear_maps_of_the_features_change_nothing():
    """Nor does a shift."""
    train, test = problem(500), problem(50, seed=2)
    mixing = np.random.default_rng(3).normal(size=(5, 5))

    def mapped(outputs):
        return Outputs(outputs.logits, outputs.features @ mixing + 1, outputs.labels)

    expected = helpers.scores.create("rmds").fit(train, None).score_samples(test)
    found = helpers.scores.create("rmds").fit(mapped(train), None).score_samples(mapped(test))
    assert found == pytest.approx(expected, rel=1e-3, abs=1e-3)


def test_directions_that_tell_no_classes_apart_hardly_count():
    """Far along the second axis an image is far from all: Mahalanobis alone calls it unknown."""
    generator = np.random.default_rng(0)
    labels = np.arange(2000) % 2
    features = generator.normal(size=(2000, 2)) + np.outer(labels, [10, 0])
    train = Outputs(np.zeros((2000, 2)), features, labels)
    test = Outputs(np.zeros((2, 2)), np.array([[0, 0], [0, 8]]), np.array([-1, -1]))
    near, far = helpers.scores.create("mahalanobis").fit(train, None).score_samples(test)
    assert near - far > 50
    near, far = helpers.scores.create("rmds").fit(train, None).score_samples(test)
    assert abs(near - far) < 10
