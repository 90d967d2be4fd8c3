"""Scores of outputs: hand-worked numbers, formulas, and refused input."""

import numpy as np
import pytest
import scipy.stats

import helpers.scores
from helpers.outputs import Head, Outputs
from helpers.scores import neighbours
from helpers.scores.gaussians import moments
from helpers.scores.neighbours import Bank, draw
from helpers.scores.shaping import percentiles_by_feature

EYE, THREE, FOUR = (Head(np.eye(n), np.zeros(n)) for n in (2, 3, 4))
EVEN = Head(np.zeros((2, 2)), np.zeros(2))  # both probabilities are 1/2
SQUARE = Head(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([0.5, -0.5]))
BIASED = Head(np.eye(3), np.array([1.0, 2.0, 3.0]))
DOUBLE = Head(np.array([[1.0, 0.0], [0.0, 2.0]]), np.zeros(2))


def outputs(features, head=EYE, labels=None):
    features = np.asarray(features, float)
    labels = np.full(len(features), -1) if labels is None else np.asarray(labels)
    return Outputs(features @ head.weight.T + head.bias, features, labels)


def of_logits(logits):
    logits = np.asarray(logits, float)
    return Outputs(logits, np.zeros((len(logits), 1)), np.full(len(logits), -1))


def values(name, train, test, head=EYE, **arguments):
    return helpers.scores.create(name, **arguments).fit(train, head).score_samples(test)


def energy(logits):
    return np.log(np.exp(logits).sum(axis=1))


ALONG = np.array([0.6, 0.8])
RELATED = [[2, 0], [0, 5], [-1, 0], 0.05 * ALONG + np.sqrt(1 - 0.05**2) * ALONG[::-1] * [1, -1]]
CROSS = [[-1, -2], [-1, 2], [1, -2], [1, 2], [3, -2], [3, 2], [5, -2], [5, 2]]
CIRCLE = np.array([[5], [10], [1], [20]]) * [[0.6, 0.8], [0.8, 0.6], [0.6, -0.8], [0.8, -0.6]]
ROUND = [[3, 4], [60, 80], [10, 0], [0, 0]]
FACTOR = np.exp(8 / 7)  # the sum of all features is 8, that of the larger half 7
BY_HAND = [  # name, arguments, head, training features, labels, features, scores
    ("react", {"percentile": 50}, SQUARE, [[1, 2], [3, 0], [2, 4]], None, [[-5, 9]],
     energy([[-5 + 4 + 0.5, -15 + 8 - 0.5]])),  # clipped at 2
    # contributions 1, 20, 3 and 40, of which 20 and 40 are kept
    ("dice", {"percentile": 50}, SQUARE, [[0, 5], [2, 15]], None, [[7, 3]],
     energy([[2 * 3 + 0.5, 4 * 3 - 0.5]])),
    ("ash", {"percentile": 50}, FOUR, [[0] * 4], None, [[1, 0, 3, 4]],
     energy(FACTOR * np.array([[0, 0, 3, 4]]))),
    ("scale", {"percentile": 50}, FOUR, [[0] * 4], None, [[1, 0, 3, 4]],
     energy(FACTOR * np.array([[1, 0, 3, 4]]))),
    # no positive features: the factor is e
    *[(name, {"percentile": 70}, BIASED, [[0] * 3], None, [[0] * 3, [-1] * 3],
       energy(BIASED.bias - [[0] * 3, [np.e] * 3])) for name in ("ash", "scale")],
    # the third image is classified incorrectly; patterns (2, 1) and (0, 4)
    ("she", {}, EYE, [[1, 0], [3, 2], [9, 0], [0, 4]], [0, 0, 1, 1], [[5, 1], [1, 5]], [11, 20]),
    # class 2 has no pattern
    ("she", {}, THREE, [[1, 0, 0], [0, 2, 0], [9, 0, 0]], [0, 1, 2],
     [[1, 3, 5], [4, 3, 5], [4, 3, 0]], [6, 4, 4]),
    # 5 from the mean (1, 1); no direction at the mean; at right angles to the weights
    ("nci", {"alpha": 0.1}, DOUBLE, [[0, 0], [2, 2]], None, [[4, 5], [1, 1], [-3, 1]],
     [8 / 5 + 0.9, 0.2, 0.4]),
    # thresholds 1 and 2 of the first feature, 4 and 6 of the second
    ("vra", {"low": 50, "high": 75}, SQUARE, [[0, 8], [1, 2], [3, 4], [2, 6]], None,
     [[0.5, 7], [1, 3], [5, 5]], energy(outputs([[0, 6], [1, 0], [2, 5]], SQUARE).logits)),
    # √2 from the boundary, √5 from the mean (1, 0)
    ("fdbd", {}, EYE, [[0, -1], [2, 1]], None, [[3, 1]], [np.sqrt(2 / 5)]),
    # means (0, 0) and (4, 0), variances 1 and 4
    ("mahalanobis", {}, EYE, CROSS, [0] * 4 + [1] * 4, [[0, 0], [0, 2], [4, 4], [2, 0], [7, 0]],
     [0, -1, -4, -4, -9]),
    # no variance along the second axis
    ("mahalanobis", {}, EYE, [[-1, 7], [1, 7], [3, 7], [5, 7]], [0, 0, 1, 1], [[0, 99]], [0]),
    # means (0.7, ±0.7), variances 0.01
    ("mahalanobis_pp", {}, EYE, CIRCLE, [0, 0, 1, 1], ROUND, [-2, -2, -58, -98]),
    # the mean of all is (0.7, 0), its variance along the second axis 0.5
    ("rmds_pp", {}, EYE, CIRCLE, [0, 0, 1, 1], ROUND, [0.28, 0.28, 9 - 58, 49 - 98]),
    # the residual is |y|, alpha 1
    ("vim", {"dim": 1}, EYE, [[2, 1], [-2, 1], [2, -1], [-2, -1]], None, [[0, 3], [5, 0]],
     energy(np.array([[0, 3], [5, 0]])) - [3, 0]),
    *[("knn", {"k": k}, EYE, [[2, 0], [0, 5], [-1, 0]], None, [[7, 0]], [-distance])
      for k, distance in ((1, 0), (2, np.sqrt(2)), (3, 2))],
    ("knn", {"k": 1}, EYE, [[3, 4]], None, [[0, 0]], [-1]),
    ("knn", {"k": 1}, EYE, [[0, 0]], None, [[3, 4], [0, 0]], [-1, 0]),
    # cosines 0.6, 0.8, −0.6 and 0.05 at agreements of 1/2; a relation of 0.025 counts as 0
    ("relation", {}, EVEN, RELATED, None, [[3, 4]], [0.3 + 0.4]),
    ("relation", {"power": 2}, EVEN, RELATED, None, [[3, 4]], [0.09 + 0.16]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "arguments", "head", "train", "labels", "test", "expected"),
                         BY_HAND)  # fmt: skip
def test_scores_by_hand(name, arguments, head, train, labels, test, expected):
    found = values(name, outputs(train, head, labels), outputs(test, head), head, **arguments)
    assert found == pytest.approx(expected, rel=1e-4, abs=1e-7)


EIGHTHS = np.log([[4, 2, 1, 1], [1, 1, 1, 1]])
SMALL = np.exp(-40)


@pytest.mark.parametrize(
    ("name", "arguments", "logits", "expected"),
    [
        ("max_logit", {}, [[1, 3, 2], [-4, -7, -5]], [3, -4]),
        ("energy", {}, EIGHTHS, np.log([8, 4])),
        ("entropy", {}, EIGHTHS, -np.log(2) * np.array([1.75, 2])),
        ("entropy", {}, [[0, -2000, -2000]], [0]),
        ("gap", {}, EIGHTHS, [0.25, 0]),
        ("gen", {"gamma": 1, "top": 2}, EIGHTHS[:1], [-(1 / 4 + 3 / 16)]),
        # 1 − p = 2 exp(−40), which is 0 once p is rounded
        ("gen", {"gamma": 0.5}, [[0, -40, -40]], [-(np.sqrt(2 * SMALL) + 2 * np.sqrt(SMALL))]),
    ],
)
def test_scores_of_logits_by_hand(name, arguments, logits, expected):
    found = values(name, None, of_logits(logits), **arguments)
    assert found == pytest.approx(expected, rel=1e-7, abs=1e-9)


def test_members_are_averaged_first():
    """Two members that are certain of different classes: the entropy of (1/2, 1/2), no gap."""
    members = np.array([[[1.0, 0.0]], [[0.0, 1.0]]])
    test = Outputs(np.zeros((1, 2)), np.zeros((1, 1)), np.array([-1]), members=members)
    for name, expected in (("entropy", -np.log(2)), ("gap", 0), ("gen", -2 * 0.25**0.1)):
        assert values(name, None, test) == pytest.approx([expected])


def test_kl_matching_is_the_smallest_divergence_from_means_by_prediction():
    """Compared with loops; class 3 is never predicted; probabilities may underflow."""
    generator = np.random.default_rng(0)
    train, test = (of_logits(generator.normal(size=(n, 5)) * 3) for n in (300, 20))
    train.logits[:, 3] = -20
    p = train.probabilities
    templates = [p[p.argmax(axis=1) == k].mean(axis=0) for k in (0, 1, 2, 4)]
    expected = [-min(scipy.stats.entropy(row, one) for one in templates)
                for row in test.probabilities]  # fmt: skip
    assert values("kl_matching", train, test) == pytest.approx(expected)
    found = values("kl_matching", of_logits([[0, -3000]]), of_logits([[0, -3000], [-3000, 0]]))
    assert found == pytest.approx([0, np.log(np.finfo(float).tiny)])


def random_outputs(n, seed):
    generator = np.random.default_rng(seed)
    features, logits = generator.normal(size=(n, 5)), generator.normal(size=(n, 3))
    return Outputs(logits, features, np.full(n, -1))


def unit(features):
    return features / np.linalg.norm(features.astype(float), axis=1, keepdims=True)


@pytest.mark.parametrize("k", [1, 50, 123])
def test_knn_and_relation_are_their_formulas_whatever_the_blocks(k, monkeypatch):
    monkeypatch.setattr(neighbours, "_ROWS", 50)
    train, test = random_outputs(123, 0), random_outputs(20, 1)
    distances = np.linalg.norm(unit(test.features)[:, None] - unit(train.features), axis=2)
    expected = -np.sort(distances, axis=1)[:, k - 1]
    assert values("knn", train, test, k=k) == pytest.approx(expected)
    relations = np.maximum(unit(test.features) @ unit(train.features).T, 0)
    relations *= test.probabilities @ train.probabilities.T
    expected = (np.where(relations > 0.03, relations, 0) ** 4).sum(axis=1)
    assert values("relation", train, test, power=4) == pytest.approx(expected)


@pytest.mark.parametrize(("name", "arguments"), [("knn", {"k": 3}), ("relation", {})])
def test_a_bank_is_the_drawn_images(name, arguments):
    train, test = random_outputs(60, 0), random_outputs(20, 1)
    alone = values(name, draw(train, 25), test, **arguments)
    assert (values(name, train, test, bank=25, **arguments) == alone).all()


@pytest.mark.parametrize("k", [1, 5, 90, 300])
def test_the_bank_is_exact_where_single_precision_is_not(k):
    """Products that single precision cannot separate, many of them equal."""
    generator = np.random.default_rng(0)
    rows = 1 + 1e-7 * generator.integers(0, 50, size=(300, 20)).astype(np.float64)
    queries = generator.normal(size=(7, 20))
    bank = Bank(rows, np.ones(300), np.zeros(300), np.linalg.norm(rows, axis=1).max())
    expected = np.sort(queries @ rows.T, axis=1)[:, -k:]
    np.testing.assert_allclose(bank.largest(queries, k), expected, rtol=1e-12, atol=1e-13)
    found = bank.kth_largest(queries, k)
    np.testing.assert_allclose(found, expected[:, 0], rtol=1e-12, atol=1e-13)


def clouds(n=6000, seed=0):
    """Return outputs of classes of different sizes, with correlated features."""
    generator = np.random.default_rng(seed)
    labels = generator.choice(3, n, p=[0.5, 0.3, 0.2])
    mixing = np.random.default_rng(1).normal(size=(5, 5))
    features = generator.normal(size=(n, 5)) @ mixing + 2 * np.eye(5)[labels]
    return Outputs(np.zeros((n, 3)), features, labels)


def squared(gaps, covariance):
    return np.einsum("nd,de,ne->n", gaps, np.linalg.inv(covariance), gaps)


def test_both_mahalanobis_scores_against_explicit_inverses_over_several_blocks():
    train, test = clouds(), clouds(50, seed=2)
    features = train.features.astype(float)
    means = np.array([features[train.labels == k].mean(axis=0) for k in range(3)])
    within = np.cov((features - means[train.labels]).T, bias=True)
    nearest = np.min([squared(test.features - mean, within) for mean in means], axis=0)
    background = squared(test.features - features.mean(axis=0), np.cov(features.T, bias=True))
    assert values("rmds", train, test) == pytest.approx(background - nearest, rel=1e-6)
    assert values("mahalanobis", train, test) == pytest.approx(-nearest, rel=1e-6)


def test_directions_of_little_variance_count_but_not_rounding_errors():
    """The spread is 1e-5 of the largest; the third feature equals the first up to rounding."""
    generator = np.random.default_rng(0)
    labels = np.arange(2000) % 2
    spread = generator.normal(size=(2000, 2)) * [1000, 0.01] + [0, 7]
    features = (spread + np.outer(labels, [5000, 0]))[:, [0, 1, 0]]
    head = Head(np.zeros((2, 3)), np.zeros(2))
    test = outputs([[0, 7, 0], [0, 7.1, 0], [0, 7, 30]], head)
    usual, small, none = values("mahalanobis", outputs(features, head, labels), test)
    assert usual - small == pytest.approx(10**2, rel=0.1)
    assert none == pytest.approx(usual, abs=0.1)


def test_moments_against_their_definition():
    """Over several blocks, with images without label, about any point."""
    generator = np.random.default_rng(0)
    features = generator.normal(size=(5000, 4)).astype(np.float32) + 100
    labels = generator.integers(-1, 3, 5000)
    found = moments(Outputs(np.zeros((5000, 3)), features, labels))
    exact = features.astype(float)
    assert found.counts.tolist() == np.roll(np.bincount(labels + 1), -1).tolist()
    np.testing.assert_allclose(found.mean, exact.mean(axis=0), rtol=1e-12)
    point = np.array([1.0, 2.0, 3.0, 4.0])
    np.testing.assert_allclose(found.about(point), (exact - point).T @ (exact - point), rtol=1e-12)
    centred = exact - found.means[labels]
    np.testing.assert_allclose(found.within, centred.T @ centred, rtol=1e-9)


@pytest.mark.parametrize("pooled", [False, True])
@pytest.mark.parametrize("images", [1, 7, 5000])
def test_percentiles_are_exact_over_several_blocks(images, pooled):
    """Of both signs, with many zeros, small and large values; NumPy sorts a copy of them all."""
    features = np.random.default_rng(1).normal(size=(images, 7)) ** 9
    features[::3] = np.maximum(features[::3], 0)
    test = Outputs(np.zeros((images, 2)), features, np.zeros(images, int))
    shares, axis = [0, 0.001, 33.3, 50, 95, 100], None if pooled else 0
    expected = np.percentile(test.features, shares, axis=axis, method="inverted_cdf")
    found = percentiles_by_feature(test, shares, pooled=pooled)
    assert (found == expected.reshape(found.shape)).all()


@pytest.mark.parametrize(
    ("name", "arguments", "head", "train", "labels", "message"),
    [
        ("fdbd", {}, Head(np.ones((2, 3)), np.zeros(2)), np.ones((4, 3)), None,
         "two or more classes, each with weights of its own"),
        ("mahalanobis", {}, EYE, [[0, 1], [0, 1]], [0, 0], "features that vary within a class"),
        ("she", {}, EYE, [[1, 0], [0, 1]], [1, 0], "a correctly classified image expected"),
        ("vim", {"dim": 3}, THREE, np.eye(3), None, r"dim: below 3 \(the features\) expected"),
        ("vim", {"dim": 2}, THREE, np.diag([1, 1, 0]), None, "do not leave a subspace of 2 dim"),
        ("knn", {"k": 10}, EYE, [[1, 2]] * 9, None, r"k: at most 9 \(the .*\) expected, got 10"),
        ("nnguide", {"bank": 7}, EYE, [[1, 2]] * 9, None, r"k: at most 7 \(the .*\) .* got 10"),
    ],
)  # fmt: skip
def test_training_images_that_a_score_cannot_use_are_refused(
    name, arguments, head, train, labels, message
):
    with pytest.raises(ValueError, match=message):
        helpers.scores.create(name, **arguments).fit(outputs(train, head, labels), head)
