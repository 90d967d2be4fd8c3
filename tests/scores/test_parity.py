"""Against pytorch-ood, whose scores are higher for unknown images."""

import numpy as np
import pytest
import torch
from pytorch_ood import detector

import helpers.scores
from helpers.outputs import Head, Outputs


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
    # its covariances are sums over the 400 images, and one distance is halved
    "mahalanobis": lambda: 2 * 400 * of_features(detector.Mahalanobis(None)),
    "rmds": lambda: 400 * of_features(detector.RMD(None)),
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
    # its threshold of ReAct lies between two training features, ours is one of them, and its
    # distances come from single precision
    tolerance = 1e-3 if name in ("react", "mahalanobis", "rmds") else 1e-4
    np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)
