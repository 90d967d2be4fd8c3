"""Scores of outputs: hand-worked numbers, formulas, and the scores of pytorch-ood."""

import numpy as np
import pytest
import torch
from pytorch_ood import detector

import helpers.scores
from helpers.outputs import Head, Outputs
from helpers.scores import bank, relation
from helpers.scores.bank import Bank, draw
from helpers.scores.vim import principal_dimensions
from tests.mistakes import beside

BY_HAND = beside(__file__, "by_hand.yaml")
HEADS = {
    name: Head(np.array(weight, float), np.array(bias, float))
    for name, (weight, bias) in BY_HAND["heads"].items()
}


def outputs(features, head=HEADS["two"], labels=None):
    features = np.asarray(features, float)
    labels = np.full(len(features), -1) if labels is None else np.asarray(labels)
    return Outputs(features @ head.weight.T + head.bias, features, labels)


def values(name, train, test, head=HEADS["two"], **arguments):
    return helpers.scores.create(name, **arguments).fit(train, head).score_samples(test)


@pytest.mark.parametrize("case", BY_HAND["scores"])
def test_scores_by_hand(case):
    name, arguments, head, train, labels, test, expected = case
    head = HEADS[head]
    scored = values(name, outputs(train, head, labels), outputs(test, head), head, **arguments)
    assert scored == pytest.approx(expected, rel=1e-4, abs=1e-7)


def test_dimensions_of_the_principal_subspace():
    dimensions = map(principal_dimensions, (2048, 2047, 768, 767))
    assert [*dimensions] == [1000, 512, 512, 383]


def test_members_are_averaged_first():
    """Two members that are certain of different classes: the entropy of (1/2, 1/2), no gap."""
    members = np.array([[[1.0, 0.0]], [[0.0, 1.0]]])
    test = Outputs(np.zeros((1, 2)), np.zeros((1, 1)), np.array([-1]), members=members)
    for name, expected in (("entropy", -np.log(2)), ("gap", 0), ("gen", -2 * 0.25**0.1)):
        assert values(name, None, test) == pytest.approx([expected])


@pytest.mark.parametrize("name", ["vim", "nnguide"])
def test_a_level_of_the_logits_that_turns_a_score_round_is_refused(name):
    """A constant for all logits changes no prediction; these scores would multiply by it."""
    generator = np.random.default_rng(0)
    features = generator.normal(size=(60, 5))
    head = Head(generator.normal(size=(4, 5)), np.zeros(4))
    assert values(name, outputs(features, head), outputs(features, head), head).shape == (60,)
    lower = Head(head.weight, head.bias - 8)
    with pytest.raises(ValueError, match=f"^train_outputs: logits at a higher level .*'{name}'"):
        values(name, outputs(features, lower), outputs(features, lower), lower)


def random_outputs(n, seed):
    generator = np.random.default_rng(seed)
    features = generator.normal(size=(n, 5))
    logits = generator.normal(size=(n, 3))
    return Outputs(logits, features, np.full(n, -1))


def unit(features):
    return features / np.linalg.norm(features.astype(float), axis=1, keepdims=True)


@pytest.mark.parametrize("k", [1, 50, 123])
def test_knn_and_relation_equal_their_formulas_for_any_blocks(k, monkeypatch):
    monkeypatch.setattr(bank, "ROWS", 50)
    monkeypatch.setattr(relation, "ROWS", 50)
    train = random_outputs(123, 0)
    test = random_outputs(20, 1)
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
    train = random_outputs(60, 0)
    test = random_outputs(20, 1)
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
    np.testing.assert_allclose(bank.kth_largest(queries, k), expected[:, 0], rtol=1e-12, atol=1e-13)


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
    train = clouds()
    test = clouds(50, seed=2)
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
WEIGHT = torch.from_numpy(HEAD.weight)
BIAS = torch.from_numpy(HEAD.bias)
FEATURES = torch.tensor(TRAIN.features)
LABELS = torch.tensor(TRAIN.labels)
LINEAR = torch.nn.Linear(12, 5)
LINEAR.load_state_dict({"weight": WEIGHT, "bias": BIAS})


GIVEN = {  # feature maps are of one pixel
    "logits": (torch.tensor(TRAIN.logits), torch.tensor(TEST.logits)),
    "features": (FEATURES, torch.tensor(TEST.features)),
    "feature_maps": (FEATURES[..., None, None], torch.tensor(TEST.features)[..., None, None]),
}


def linear(features):
    return LINEAR(features.flatten(1))


#: By score: the input of the detector of pytorch-ood, and the detector.
PEERS = {
    "max_logit": ("logits", detector.MaxLogit(None)),
    "energy": ("logits", detector.EnergyBased(None)),
    "entropy": ("logits", detector.Entropy(None)),
    "gen": ("logits", detector.GEN(None)),
    "kl_matching": ("logits", detector.KLMatching(None)),
    "react": ("feature_maps", detector.ReAct(None, linear)),
    "gradnorm": ("features", detector.GradNorm(LINEAR, lambda name: name == "weight")),
    "dice": ("features", detector.DICE(None, WEIGHT, BIAS, p=0.9)),
    "ash": ("feature_maps", detector.ASH(None, linear, percentile=0.9)),
    "scale": ("feature_maps", detector.SCALE(None, linear, percentile=0.85)),
    "knn": ("features", detector.KNN(None)),
    "vim": ("features", detector.ViM(None, 6, WEIGHT, BIAS)),
    "she": ("features", detector.SHE(None, linear)),
    "fdbd": ("features", detector.fDBD(None, LINEAR)),
    "nnguide": ("features", detector.NNGuide(None, linear)),
}
#: GEN of pytorch-ood is the mean over the 5 classes, not the sum.
FACTORS = {"gen": 5}
#: The threshold of its ReAct is between two training features; our threshold is one of them.
TOLERANCES = {"react": 1e-3}


@pytest.mark.parametrize("name", PEERS)
def test_scores_equal_the_negative_scores_of_pytorch_ood(name):
    ours = helpers.scores.create(name).fit(TRAIN, HEAD).score_samples(TEST)
    kind, peer = PEERS[name]
    factor = FACTORS.get(name, 1)
    tolerance = TOLERANCES.get(name, 1e-4)
    train, test = GIVEN[kind]
    getattr(peer, f"fit_{kind}", lambda *_: None)(train, LABELS)
    peers = getattr(peer, f"predict_{kind}", peer.predict)(test).detach().double().numpy()
    np.testing.assert_allclose(ours, -factor * peers, rtol=tolerance, atol=tolerance)
