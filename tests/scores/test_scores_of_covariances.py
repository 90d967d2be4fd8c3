"""Scores of the covariance of the features: mahalanobis, rmds, both of normalised ones, vim."""

import numpy as np
import pytest

import helpers.scores
from helpers.outputs import Head, Outputs


def outputs(features, labels=None, classes=2):
    labels = np.full(len(features), -1) if labels is None else np.asarray(labels)
    return Outputs(np.zeros((len(features), classes)), np.asarray(features, float), labels)


def found(name, train, test, head=None, **arguments):
    """Return the scores of a test set."""
    return helpers.scores.create(name, **arguments).fit(train, head).score_samples(test)


def clouds(n=6000, seed=0):
    """Return outputs of classes of different sizes, with features that go together."""
    generator = np.random.default_rng(seed)
    labels = generator.choice(3, n, p=[0.5, 0.3, 0.2])
    mixing = np.random.default_rng(1).normal(size=(5, 5))
    features = generator.normal(size=(n, 5)) @ mixing + 2 * np.eye(5)[labels]
    return outputs(features, labels, classes=3)


def squared(gaps, covariance):
    return np.einsum("nd,de,ne->n", gaps, np.linalg.inv(covariance), gaps)


def test_mahalanobis_by_hand():
    """Means (0, 0) and (4, 0); within the classes variance 1 along x and 4 along y."""
    features = [[-1, -2], [-1, 2], [1, -2], [1, 2], [3, -2], [3, 2], [5, -2], [5, 2]]
    test = outputs([[0, 0], [0, 2], [4, 4], [2, 0], [7, 0]])
    scores = found("mahalanobis", outputs(features, [0, 0, 0, 0, 1, 1, 1, 1]), test)
    assert scores == pytest.approx([0, -1, -4, -4, -9], abs=1e-9)


def test_directions_without_variance_do_not_count():
    """But where all are without, nothing is left."""
    train = outputs([[-1, 7], [1, 7], [3, 7], [5, 7]], [0, 0, 1, 1])
    assert found("mahalanobis", train, outputs([[0, 99]])) == pytest.approx([0], abs=1e-9)
    with pytest.raises(ValueError, match="features that vary within a class"):
        found("mahalanobis", outputs([[0, 1], [0, 1]], [0, 0]), train)


@pytest.mark.parametrize("name", ["mahalanobis", "rmds"])
def test_directions_of_little_variance_count_as_all_others(name):
    """Whose spread is a hundred thousandth of the largest, far from 0; but not rounding errors.

    The features along the third axis are those along the first, so that the difference of the two
    varies by nothing but rounding, and says nothing, however large it is.
    """
    generator = np.random.default_rng(0)
    labels = np.arange(2000) % 2
    values = generator.normal(size=(2000, 2)) * [1000, 0.01] + [0, 7] + np.outer(labels, [5000, 0])
    pair = outputs(values[:, [0, 1, 0]], labels), outputs([[0, 7, 0], [0, 7.1, 0], [0, 7, 30]])
    usual, small, none = found(name, *pair)
    if name == "mahalanobis":
        assert usual - small == pytest.approx(10**2, rel=0.1)
        assert none == pytest.approx(usual, abs=0.1)
    else:  # the classes are alike along it, so that both distances contain it
        assert abs(usual - small) < 10


def test_normalised_features_by_hand():
    """On the circle both classes have variances of 0.01, about (0.7, 0.7) and (0.7, −0.7).

    Seen from all, about (0.7, 0), it is 0.5 along y.
    """
    lengths = np.array([[5], [10], [1], [20]])
    features = lengths * [[0.6, 0.8], [0.8, 0.6], [0.6, -0.8], [0.8, -0.6]]
    train = outputs(features, [0, 0, 1, 1])
    test = outputs([[3, 4], [60, 80], [10, 0], [0, 0]])
    scores = found("mahalanobis_pp", train, test)
    assert scores == pytest.approx([-2, -2, -58, -98], rel=1e-4)
    scores = found("rmds_pp", train, test)
    assert scores == pytest.approx([2.28 - 2, 2.28 - 2, 9 - 58, 49 - 98], rel=1e-4)
    # not normalised, the length counts
    near, far = found("mahalanobis", train, test)[:2]
    assert abs(near - far) > 1


def test_both_distances_against_explicit_inverses_over_several_blocks():
    """For classes of different sizes."""
    train, test = clouds(), clouds(50, seed=2)
    features = train.features.astype(float)
    means = np.array([features[train.labels == k].mean(axis=0) for k in range(3)])
    within = np.cov((features - means[train.labels]).T, bias=True)
    nearest = np.min([squared(test.features - mean, within) for mean in means], axis=0)
    background = squared(test.features - features.mean(axis=0), np.cov(features.T, bias=True))
    assert found("rmds", train, test) == pytest.approx(background - nearest, rel=1e-6)
    assert found("mahalanobis", train, test) == pytest.approx(-nearest, rel=1e-6)


def test_vim_by_hand():
    """Training features (±2, ±1), W = I, b = 0: the residual is |y|, and alpha 1/2 over 1."""
    head = Head(np.eye(2), np.zeros(2))
    features = np.array([[2, 1], [-2, 1], [2, -1], [-2, -1]])
    train = Outputs(features, features, np.full(4, -1))
    score = helpers.scores.create("vim", dim=1).fit(train, head)
    assert score.alpha == pytest.approx((2 + 1 + 2 - 1) / 4)
    test = np.array([[0, 3], [5, 0]])
    expected = np.log(np.exp(test).sum(axis=1)) - [3, 0]
    assert score.score_samples(Outputs(test, test, [-1, -1])) == pytest.approx(expected)


def test_dimensions_that_leave_no_subspace_are_refused():
    """As many as there are features, or as many as the training features vary in."""
    head, flat = Head(np.eye(3), np.zeros(3)), np.random.default_rng(0).normal(size=(50, 3))
    train = outputs(flat * [1, 1, 0], classes=3)
    with pytest.raises(ValueError, match=r"dim: below 3 \(the features\) expected, got 3"):
        found("vim", train, train, head, dim=3)
    with pytest.raises(ValueError, match="do not leave a subspace of 2 dimensions"):
        found("vim", train, train, head, dim=2)
