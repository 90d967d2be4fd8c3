"""Scores of outputs: hand-worked numbers, formulas, and the scores of pytorch-ood."""

import numpy as np
import pytest
import torch
from pytorch_ood import detector

import helpers.scores
from helpers.outputs import Head, Outputs
from helpers.scores import neighbours
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


def values(name, train, test, head=EYE, **arguments):
    return helpers.scores.create(name, **arguments).fit(train, head).score_samples(test)


def energy(logits):
    return np.log(np.exp(logits).sum(axis=1))


ALONG = np.array([0.6, 0.8])
RELATED = [[2, 0], [0, 5], [-1, 0], 0.05 * ALONG + np.sqrt(1 - 0.05**2) * ALONG[::-1] * [1, -1]]
CIRCLE = np.array([[5], [10], [1], [20]]) * [[0.6, 0.8], [0.8, 0.6], [0.6, -0.8], [0.8, -0.6]]
ROUND = [[3, 4], [60, 80], [10, 0], [0, 0]]
EIGHTHS = np.log([[4, 2, 1, 1], [1, 1, 1, 1]])
SMALL = np.exp(-40)
BY_HAND = [  # name, arguments, head, training features, labels, features, scores
    # no positive features: the factor is e
    *[(name, {"percentile": 70}, BIASED, [[0] * 3], None, [[0] * 3, [-1] * 3],
       energy(BIASED.bias - [[0] * 3, [np.e] * 3])) for name in ("ash", "scale")],
    # class 2 has no pattern, and the third image is classified incorrectly
    ("she", {}, THREE, [[1, 0, 0], [0, 2, 0], [9, 0, 0]], [0, 1, 2],
     [[1, 3, 5], [4, 3, 5], [4, 3, 0]], [6, 4, 4]),
    # 5 from the mean (1, 1); no direction at the mean; at right angles to the weights
    ("nci", {"alpha": 0.1}, DOUBLE, [[0, 0], [2, 2]], None, [[4, 5], [1, 1], [-3, 1]],
     [8 / 5 + 0.9, 0.2, 0.4]),
    # thresholds 1 and 2 of the first feature, 4 and 6 of the second
    ("vra", {"low": 50, "high": 75}, SQUARE, [[0, 8], [1, 2], [3, 4], [2, 6]], None,
     [[0.5, 7], [1, 3], [5, 5]], energy(outputs([[0, 6], [1, 0], [2, 5]], SQUARE).logits)),
    # no variance along the second axis
    ("mahalanobis", {}, EYE, [[-1, 7], [1, 7], [3, 7], [5, 7]], [0, 0, 1, 1], [[0, 99]], [0]),
    # means (0.7, ±0.7), variances 0.01
    ("mahalanobis_pp", {}, EYE, CIRCLE, [0, 0, 1, 1], ROUND, [-2, -2, -58, -98]),
    # the mean of all is (0.7, 0), its variance along the second axis 0.5
    ("rmds_pp", {}, EYE, CIRCLE, [0, 0, 1, 1], ROUND, [0.28, 0.28, 9 - 58, 49 - 98]),
    ("knn", {"k": 1}, EYE, [[3, 4]], None, [[0, 0]], [-1]),
    ("knn", {"k": 1}, EYE, [[0, 0]], None, [[3, 4], [0, 0]], [-1, 0]),
    # cosines 0.6, 0.8, −0.6 and 0.05 at agreements of 1/2; a relation of 0.025 counts as 0
    ("relation", {}, EVEN, RELATED, None, [[3, 4]], [0.3 + 0.4]),
    ("relation", {"power": 2}, EVEN, RELATED, None, [[3, 4]], [0.09 + 0.16]),
    # logits alone
    ("entropy", {}, FOUR, [[0] * 4], None, EIGHTHS, -np.log(2) * np.array([1.75, 2])),
    ("entropy", {}, THREE, [[0] * 3], None, [[0, -2000, -2000]], [0]),
    ("gap", {}, FOUR, [[0] * 4], None, EIGHTHS, [0.25, 0]),
    ("gen", {"gamma": 1, "top": 2}, FOUR, [[0] * 4], None, EIGHTHS[:1], [-(1 / 4 + 3 / 16)]),
    # class 1 is never predicted, and probabilities underflow
    ("kl_matching", {}, EYE, [[0, -3000]], None, [[0, -3000], [-3000, 0]],
     [0, np.log(np.finfo(float).tiny)]),
    # 1 − p = 2 exp(−40), which is 0 once p is rounded
    ("gen", {"gamma": 0.5}, THREE, [[0] * 3], None, [[0, -40, -40]],
     [-(np.sqrt(2 * SMALL) + 2 * np.sqrt(SMALL))]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "arguments", "head", "train", "labels", "test", "expected"),
                         BY_HAND)  # fmt: skip
def test_scores_by_hand(name, arguments, head, train, labels, test, expected):
    found = values(name, outputs(train, head, labels), outputs(test, head), head, **arguments)
    assert found == pytest.approx(expected, rel=1e-4, abs=1e-7)


def test_members_are_averaged_first():
    """Two members that are certain of different classes: the entropy of (1/2, 1/2), no gap."""
    members = np.array([[[1.0, 0.0]], [[0.0, 1.0]]])
    test = Outputs(np.zeros((1, 2)), np.zeros((1, 1)), np.array([-1]), members=members)
    for name, expected in (("entropy", -np.log(2)), ("gap", 0), ("gen", -2 * 0.25**0.1)):
        assert values(name, None, test) == pytest.approx([expected])


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
    plain = np.linalg.norm(test.features[:, None] - train.features, axis=2)
    expected = -np.sort(plain, axis=1)[:, k - 1]
    assert values("knn", train, test, k=k, normalise=False) == pytest.approx(expected)
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


def problem(n, seed=0, width=12, classes=5):
    """Return outputs and their head, with features as a ReLU leaves them."""
    generator = np.random.default_rng(seed)
    weight = np.random.default_rng(1).normal(size=(classes, width)).astype(np.float32) / 2
    head = Head(weight, np.linspace(-1, 1, classes).astype(np.float32))
    labels = np.arange(n) % classes
    features = np.maximum(generator.normal(size=(n, width)) + weight[labels], 0)
    return Outputs(features @ weight.T + head.bias, features, labels), head


TRAIN, HEAD = problem(400)
TEST, _ = problem(60, seed=2)
WEIGHT, BIAS = torch.from_numpy(HEAD.weight), torch.from_numpy(HEAD.bias)
FEATURES, LABELS = torch.from_numpy(TRAIN.features), torch.from_numpy(TRAIN.labels)
LINEAR = torch.nn.Linear(12, 5)
LINEAR.load_state_dict({"weight": WEIGHT, "bias": BIAS})


def linear(features):
    return LINEAR(features.flatten(1))


def of_logits(peer):
    peer.fit_logits(torch.from_numpy(TRAIN.logits), LABELS)
    return peer.predict_logits(torch.from_numpy(TEST.logits))


def of_features(peer):
    peer.fit_features(FEATURES, LABELS)
    return peer.predict_features(torch.from_numpy(TEST.features))


def of_maps(peer):
    """Feature maps of one pixel."""
    if hasattr(peer, "fit_feature_maps"):
        peer.fit_feature_maps(FEATURES[:, :, None, None], LABELS)
    return peer.predict_feature_maps(torch.from_numpy(TEST.features[:, :, None, None]))


PEERS = {
    "max_logit": lambda: of_logits(detector.MaxLogit(None)),
    "energy": lambda: of_logits(detector.EnergyBased(None)),
    "entropy": lambda: of_logits(detector.Entropy(None)),
    # the mean over the 5 classes, and no probability below 1e-7, which none is here
    "gen": lambda: 5 * of_logits(detector.GEN(None)),
    "kl_matching": lambda: of_logits(detector.KLMatching(None)),
    "react": lambda: of_maps(detector.ReAct(None, linear)),
    "gradnorm": lambda: detector.GradNorm(LINEAR, lambda name: name == "weight").predict(
        torch.from_numpy(TEST.features)
    ),
    "dice": lambda: of_features(detector.DICE(None, WEIGHT, BIAS, p=0.9)),
    "ash": lambda: of_maps(detector.ASH(None, linear, percentile=0.9)),
    "scale": lambda: of_maps(detector.SCALE(None, linear, percentile=0.85)),
    "knn": lambda: of_features(detector.KNN(None)),
    "vim": lambda: of_features(detector.ViM(None, 6, WEIGHT, BIAS)),
    "she": lambda: of_features(detector.SHE(None, linear)),
    "fdbd": lambda: of_features(detector.fDBD(None, LINEAR)),
    "nnguide": lambda: of_features(detector.NNGuide(None, linear)),
}


@pytest.mark.parametrize("name", PEERS)
def test_the_same_scores_with_the_sign_turned(name):
    """And, where noted above, times a number."""
    ours = helpers.scores.create(name).fit(TRAIN, HEAD).score_samples(TEST)
    theirs = -PEERS[name]().detach().double().numpy()
    # its threshold of ReAct lies between two training features, ours is one of them
    tolerance = 1e-3 if name == "react" else 1e-4
    np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)
