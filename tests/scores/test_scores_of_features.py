"""Scores of features and head: react, vra, dice, ash, scale, gradnorm, she, fdbd, nci."""

import numpy as np
import pytest

import helpers.scores
from helpers.outputs import Head, Outputs
from helpers.scores.shaping import percentiles_by_feature


def outputs(features, head, labels=None):
    features = np.asarray(features, float)
    labels = np.full(len(features), -1) if labels is None else np.asarray(labels)
    return Outputs(features @ head.weight.T + head.bias, features, labels)


def energy(logits):
    return np.log(np.exp(logits).sum(axis=1))


SQUARE = Head(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([0.5, -0.5]))
DIAGONAL = Head(np.eye(4), np.zeros(4))


def test_react_by_hand():
    """Half of the training features are at most 2: the upper side is clipped there."""
    train = outputs([[1.0, 2.0], [3.0, 0.0], [2.0, 4.0]], SQUARE)
    score = helpers.scores.create("react", percentile=50).fit(train, SQUARE)
    assert score.threshold == 2
    expected = energy(np.array([[-5 + 4 + 0.5, -15 + 8 - 0.5]]))
    assert score.score_samples(outputs([[-5.0, 9.0]], SQUARE)) == pytest.approx(expected)


def test_dice_by_hand():
    """Mean features 1 and 10: contributions 1, 20, 3, 40, of which 20 and 40 are kept."""
    train = outputs([[0.0, 5.0], [2.0, 15.0]], SQUARE)
    score = helpers.scores.create("dice", percentile=50).fit(train, SQUARE)
    expected = energy(np.array([[2 * 3 + 0.5, 4 * 3 - 0.5]]))
    assert score.score_samples(outputs([[7.0, 3.0]], SQUARE)) == pytest.approx(expected)


def test_ash_and_scale_by_hand():
    """Sum 8, of which 7 in the larger half: the factor is exp(8/7); only ASH drops the rest."""
    test = outputs([[1.0, 0.0, 3.0, 4.0]], DIAGONAL)
    factor = np.exp(8 / 7)
    ash = helpers.scores.create("ash", percentile=50).fit(None, DIAGONAL)
    assert ash.score_samples(test) == pytest.approx(energy(factor * np.array([[0, 0, 3, 4]])))
    scale = helpers.scores.create("scale", percentile=50).fit(None, DIAGONAL)
    assert scale.score_samples(test) == pytest.approx(energy(factor * np.array([[1, 0, 3, 4]])))


@pytest.mark.parametrize("name", ["ash", "scale"])
def test_features_without_positive_ones_have_a_score_all_the_same(name):
    """All 0: the logits are the bias.  All negative: the factor is e, whatever they are."""
    head = Head(np.eye(3), np.array([1.0, 2.0, 3.0]))
    score = helpers.scores.create(name, percentile=70).fit(None, head)
    zero, negative = score.score_samples(outputs([[0, 0, 0], [-1, -1, -1]], head))
    assert zero == pytest.approx(energy(head.bias[None])[0])
    assert negative == pytest.approx(energy(head.bias[None] - np.e)[0])


def test_she_by_hand():
    """The third image is classified wrongly and belongs to no pattern: these are (2, 1), (0, 4)."""
    head = Head(np.eye(2), np.zeros(2))
    train = outputs([[1.0, 0.0], [3.0, 2.0], [9.0, 0.0], [0.0, 4.0]], head, [0, 0, 1, 1])
    score = helpers.scores.create("she").fit(train, head)
    test = outputs([[5.0, 1.0], [1.0, 5.0]], head)
    assert score.score_samples(test) == pytest.approx([5 * 2 + 1 * 1, 5 * 4])


def test_a_class_without_correct_images_is_left_out_of_she():
    """Class 2 has an image, but a wrong one; images predicted as it have the next one's pattern."""
    head = Head(np.eye(3), np.zeros(3))
    features = [[1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [9.0, 0.0, 0.0]]
    score = helpers.scores.create("she").fit(outputs(features, head, [0, 1, 2]), head)
    test = outputs([[1.0, 3.0, 5.0], [4.0, 3.0, 5.0], [4.0, 3.0, 0.0]], head)
    assert score.score_samples(test) == pytest.approx([3 * 2, 4 * 1, 4 * 1])
    with pytest.raises(ValueError, match="a correctly classified image expected, got none"):
        helpers.scores.create("she").fit(outputs(features, head, [1, 2, 2]), head)


def test_nci_by_hand():
    """Mean (1, 1); (4, 5) is class 1's, 5 from it, with weights (0, 2): 8/5, and 9 times alpha."""
    head = Head(np.array([[1.0, 0.0], [0.0, 2.0]]), np.zeros(2))
    score = helpers.scores.create("nci", alpha=0.1)
    score.fit(outputs([[0.0, 0.0], [2.0, 2.0]], head), head)
    test = outputs([[4.0, 5.0], [1.0, 1.0], [-3.0, 1.0]], head)
    # at the mean there is no direction; (−4, 0) is at right angles to (0, 2), and |−3| + |1| = 4
    assert score.score_samples(test) == pytest.approx([8 / 5 + 0.9, 0.2, 0.4])


def test_vra_by_hand():
    """Thresholds 1 and 2 of the first feature, 4 and 6 of the second."""
    train = outputs([[0.0, 8.0], [1.0, 2.0], [3.0, 4.0], [2.0, 6.0]], SQUARE)
    score = helpers.scores.create("vra", low=50, high=75).fit(train, SQUARE)
    assert score.thresholds.tolist() == [[1, 4], [2, 6]]
    found = score.score_samples(outputs([[0.5, 7.0], [1.0, 3.0], [5.0, 5.0]], SQUARE))
    same = [[0.0, 6.0], [1.0, 0.0], [2.0, 5.0]]
    assert found == pytest.approx(energy(outputs(same, SQUARE).logits))


@pytest.mark.parametrize("images", [1, 7, 5000])
def test_percentiles_by_feature_are_exact_over_several_blocks(images):
    """Of both signs, with many zeros, small and large ones; numpy sorts a copy of them all."""
    features = np.random.default_rng(1).normal(size=(images, 7)) ** 9
    features[::3] = np.maximum(features[::3], 0)
    test = Outputs(np.zeros((images, 2)), features, np.zeros(images, int))
    shares = [0, 0.001, 33.3, 50, 95, 100]
    expected = np.percentile(test.features, shares, axis=0, method="inverted_cdf")
    assert (percentiles_by_feature(test, shares) == expected).all()


def test_fdbd_by_hand():
    """(3, 1) is √2 from where both features are equal, and √5 from the mean (1, 0)."""
    head = Head(np.eye(2), np.zeros(2))
    train = outputs([[0.0, -1.0], [2.0, 1.0]], head)
    score = helpers.scores.create("fdbd").fit(train, head)
    test = outputs([[3.0, 1.0], [1.0, 0.0]], head)
    assert score.score_samples(test)[0] == pytest.approx(np.sqrt(2 / 5))
    assert score.score_samples(test)[1] > 1e6  # at the mean itself: large, but a number


def test_fdbd_needs_boundaries():
    """Classes with the same weights have none between them."""
    head = Head(np.ones((2, 3)), np.array([0.0, 1.0]))
    with pytest.raises(ValueError, match="two or more classes, each with weights of its own"):
        helpers.scores.create("fdbd").fit(outputs(np.ones((4, 3)), head), head)
