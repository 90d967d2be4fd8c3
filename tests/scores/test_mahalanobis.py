import numpy as np
import pytest

import helpers.scores
from helpers.outputs import Outputs


def outputs(features, labels):
    return Outputs(np.zeros((len(features), 2)), np.asarray(features, float), np.asarray(labels))


def test_by_hand():
    """Means (0, 0) and (4, 0); within the classes variance 1 along x and 4 along y."""
    train = outputs(
        [[-1, -2], [-1, 2], [1, -2], [1, 2], [3, -2], [3, 2], [5, -2], [5, 2]],
        [0, 0, 0, 0, 1, 1, 1, 1],
    )
    score = helpers.scores.create("mahalanobis").fit(train, None)
    test = outputs([[0, 0], [0, 2], [4, 4], [2, 0], [7, 0]], [-1] * 5)
    assert score.score_samples(test) == pytest.approx([0, -1, -4, -4, -9], abs=1e-9)


def test_the_inverse_of_the_covariance_within_classes():
    """Against the formula with an explicit inverse, for classes of different sizes."""
    generator = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], [50, 30, 20])
    features = generator.normal(size=(100, 6)) @ generator.normal(size=(6, 6)) + labels[:, None]
    test = features[::7] + 1
    train = Outputs(np.zeros((100, 3)), features, labels)
    means = np.array([features[labels == k].mean(axis=0) for k in range(3)])
    within = features - means[labels]
    inverse = np.linalg.inv(within.T @ within / 100)
    gaps = test[:, None] - means
    expected = -np.einsum("nkd,de,nke->nk", gaps, inverse, gaps).min(axis=1)
    found = helpers.scores.create("mahalanobis").fit(train, None)
    assert found.score_samples(outputs(test, [-1] * len(test))) == pytest.approx(expected, rel=1e-4)


def test_directions_without_variance_do_not_count():
    train = outputs([[-1, 7], [1, 7], [3, 7], [5, 7]], [0, 0, 1, 1])
    score = helpers.scores.create("mahalanobis").fit(train, None)
    assert score.score_samples(outputs([[0, 99]], [-1])) == pytest.approx([0], abs=1e-9)


def test_bad_input_is_refused():
    score = helpers.scores.create("mahalanobis")
    with pytest.raises(ValueError, match="train_outputs: a label for each image"):
        score.fit(outputs([[0.0, 1.0]], [-1]), None)
    with pytest.raises(ValueError, match="features that vary within a class"):
        score.fit(outputs([[0.0, 1.0], [0.0, 1.0]], [0, 0]), None)
