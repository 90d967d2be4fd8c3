"""Compare scores and their fits with pytorch-ood and faiss, on outputs of ImageNet's size."""

from __future__ import annotations

from typing import Any, NamedTuple

import faiss
import numpy as np
import torch
from pytorch_ood import detector

import helpers.scores
from benchmarks.comparing import Comparison, check_equal
from helpers.outputs import Head, Outputs
from helpers.scores.knn import NearestNeighbours
from helpers.scores.vim import principal_dimensions

TRAINING = 10_000
FEATURES = 2048
IMAGENET_CLASSES = 1000
FEW_CLASSES = 10
#: Scores of the rows with features of a ResNet-18 and ten classes.
FEW_FEATURES = 512
#: Why rows may be below 1.  The first reason is for all scores without another one.
PRODUCTS = "sums and products in double precision, so that no score depends on the other images"
EXPONENTIALS = "exponentials in double precision, so that few scores are tied"


class Peer(NamedTuple):
    """A detector of pytorch-ood, and how to compare it with a score.

    `reads` names its inputs, `images` is the number of images that it scores.  Its scores times
    `factor` are ours, up to `within` times the spread of our scores.
    """

    detector: Any
    reads: str = "logits"
    images: int = TRAINING
    factor: float = 1
    within: float = 1e-3
    reason: str = PRODUCTS


def draw_outputs(images: int, head: Head, seed: int) -> Outputs:
    """Draw outputs of a model with this head."""
    classes, width = head.weight.shape
    labels = np.arange(images) % classes
    noise = np.random.default_rng(seed).standard_normal((images, width), dtype=np.float32)
    features = np.maximum(noise + 10 * head.weight[labels], 0)  # like the output of a ReLU
    return Outputs(features @ head.weight.T + head.bias, features, labels)


def draw_head(classes: int, width: int) -> Head:
    """Draw the last layer of a model."""
    generator = np.random.default_rng(0)
    weight = generator.normal(size=(classes, width)) / np.sqrt(width)
    return Head(weight.astype(np.float32), np.zeros(classes, np.float32))


def of_logits(classes: int) -> dict[str, Peer]:
    """Return the peers of scores of logits."""
    return {
        "msp": Peer(detector.MaxSoftmax(None), reason=EXPONENTIALS),
        "energy": Peer(detector.EnergyBased(None), reason=EXPONENTIALS),
        "max_logit": Peer(detector.MaxLogit(None)),
        # the peer clips probabilities to 1e-7
        "entropy": Peer(detector.Entropy(None), within=0.01, reason=EXPONENTIALS),
        # the peer rounds the complement of a large probability to single precision
        "gen": Peer(detector.GEN(None, M=100), factor=min(classes, 100), within=0.5),
    }


def of_features(head: Head) -> dict[str, Peer]:
    """Return the peers of scores of features, and of those that need a fit."""
    classes, width = head.weight.shape
    linear = torch.nn.Linear(width, classes)
    linear.load_state_dict({name: torch.from_numpy(array) for name, array in vars(head).items()})
    linear.requires_grad_(False)
    weight = linear.weight.data
    bias = linear.bias.data
    few = 64 if classes > FEW_CLASSES else 2000
    return {
        "kl_matching": Peer(detector.KLMatching(None)),
        "knn": Peer(detector.KNN(None), "features", 256),
        "vim": Peer(
            detector.ViM(None, principal_dimensions(width), weight, bias), "features", 4096, 1, 0.2
        ),
        "mahalanobis": Peer(detector.Mahalanobis(None), "features", few, 2 * TRAINING),
        "rmds": Peer(detector.RMD(None), "features", few, TRAINING, 0.05),
        "dice": Peer(detector.DICE(None, weight, bias, 0.9), "features", few),
        "she": Peer(detector.SHE(None, linear), "features", 4096),
        "nci": Peer(detector.NCI(None, linear, 1e-4), "features", 4096),
    }


def compare_scores(comparison: Comparison) -> None:
    """Time fitting and scoring with outputs of ImageNet's size, and of ten classes."""
    for classes, width in ((IMAGENET_CLASSES, FEATURES), (FEW_CLASSES, FEW_FEATURES)):
        head = draw_head(classes, width)
        images = TRAINING if classes > FEW_CLASSES else 10**6
        many = draw_outputs(images, draw_head(classes, 16), 3)
        for name, peer in of_logits(classes).items():
            compare_score(comparison, name, peer._replace(images=images), many, many, head)
        del many
        train = draw_outputs(TRAINING, head, 1)
        test = draw_outputs(TRAINING, head, 2)
        for name, peer in of_features(head).items():
            compare_score(comparison, name, peer, train, test, head)
        compare_faiss(comparison, train, test)


def compare_score(
    comparison: Comparison, name: str, peer: Peer, train: Outputs, test: Outputs, head: Head
) -> None:
    """Time the fit, if there is one, and the scores."""
    score = helpers.scores.create(name)
    shown = torch.from_numpy(getattr(train, peer.reads))
    labels = torch.from_numpy(train.labels)
    fit = getattr(peer.detector, f"fit_{peer.reads}", None)
    score.fit(train, head)
    if fit is not None and "training outputs" in score.info.needs:
        comparison.add(
            f"{name}, fit",
            f"{len(train):,} × {shown.shape[1]:,}",
            "pytorch-ood",
            # a subset does not keep moments of the previous fit
            lambda: helpers.scores.create(name).fit(train.subset(slice(None)), head),
            lambda: fit(shown, labels),
            given=shown.nbytes,
            rounds=2,
            reason=peer.reason,
        )
    predict = getattr(peer.detector, f"predict_{peer.reads}", None) or peer.detector.predict
    few = test.subset(slice(0, peer.images))
    asked = torch.from_numpy(getattr(few, peer.reads))
    values = score.score_samples(few)
    expected = -peer.factor * predict(asked).double().numpy()
    check_equal(values, expected, within=peer.within * values.std())
    comparison.add(
        f"{name}, score",
        f"{peer.images:,} × {shown.shape[1]:,}",
        "pytorch-ood",
        # a subset does not keep probabilities of the previous call
        lambda: score.score_samples(test.subset(slice(0, peer.images))),
        lambda: predict(asked),
        given=asked.nbytes,
        reason=peer.reason,
    )


def compare_faiss(comparison: Comparison, train: Outputs, test: Outputs) -> None:
    """Time the nearest neighbours of all test images."""
    faiss.omp_set_num_threads(1)
    score = NearestNeighbours()
    score.fit(train, None)
    width = train.features.shape[1]
    index = faiss.IndexFlatL2(width)

    def unit(outputs: Outputs) -> np.ndarray:
        features = outputs.features.copy()
        faiss.normalize_L2(features)
        return features

    index.add(unit(train))

    def by_faiss() -> np.ndarray:
        return -np.sqrt(index.search(unit(test), score.k)[0][:, -1])

    values = score.score_samples(test)
    check_equal(values, by_faiss(), within=1e-3 * values.std())
    comparison.add(
        "knn, score",
        f"{len(test):,} × {width:,}",
        "faiss",
        lambda: score.score_samples(test),
        by_faiss,
        given=test.features.nbytes,
        reason="the nearest images again in double precision, so that ties are exact",
    )
