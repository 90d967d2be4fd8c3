"""Compare metrics, scores and thresholds with the functions of other libraries.

Both sides get equal arrays, each side in its format, and must agree up to the convention in the
row.  Only the thresholds for a risk differ, and `benchmarks.guarantees` compares these.

    make bench      installs the libraries in .venv/peers
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np
import osr_metrics
import sklearn.metrics
import torch
import torch_uncertainty.metrics as torch_uncertainty
from pytorch_ood import detector
from pytorch_ood.metrics import functional as pytorch_ood
from scipy.special import expit
from sklearn.mixture import GaussianMixture

import helpers.scores
from benchmarks import guarantees
from benchmarks.comparing import Comparison, check_equal
from helpers import labelfree, metrics
from helpers.outputs import Head, Outputs
from helpers.scores.vim import principal_dimensions

PEERS = "pytorch-ood torch-uncertainty osr-metrics mapie zugzwang scikit-learn".split()
IMAGES = 10**6
CLASSES = 100
TRAINING = 10_000
FEATURES = 2048
IMAGENET_CLASSES = 1000


def compare_ranking(comparison: Comparison) -> None:
    """Time AURC, AUROC and FPR95 of a million images."""
    generator = np.random.default_rng(0)
    known = generator.random(IMAGES) < 0.6
    scores = generator.normal(size=IMAGES) + known
    correct = known & (generator.random(IMAGES) < 0.5 + 0.4 * (scores > 1))
    inside = scores[known]
    outside = scores[~known]
    tensor = torch.from_numpy
    # pytorch-ood scores how unknown an image is, and labels an unknown image with −1
    unknown_scores = tensor(-scores)
    labels = tensor(np.where(known, 1, -1))
    # confidences in one of two classes, for the errors of torch-uncertainty
    sure = tensor(expit(scores) / 2 + 0.5)
    right = tensor(correct.astype(int))
    peers = [
        ("AURC", "pytorch-ood", lambda: metrics.aurc(scores, correct),
         lambda: 1 - pytorch_ood.aurra(tensor(scores), tensor(correct))),
        ("AURC", "osr-metrics", lambda: metrics.aurc(scores, correct),
         lambda: osr_metrics.aurc(-scores, ~correct)),
        ("AURC", "torch-uncertainty", lambda: metrics.aurc(scores, correct),
         lambda: torch_uncertainty.AURC()(sure, right)),
        ("AUROC", "pytorch-ood", lambda: metrics.auroc(inside, outside),
         lambda: pytorch_ood.auroc(unknown_scores, labels)),
        ("AUROC", "scikit-learn", lambda: metrics.auroc(inside, outside),
         lambda: sklearn.metrics.roc_auc_score(known, scores)),
        ("AUROC", "osr-metrics", lambda: metrics.auroc(inside, outside),
         lambda: osr_metrics.auroc(-scores, ~known)),
        ("FPR95", "pytorch-ood", lambda: metrics.fpr_at_tpr(inside, outside),
         lambda: pytorch_ood.fpr_at_tpr(tensor(scores), -labels)),
        ("FPR95", "osr-metrics", lambda: metrics.fpr_at_tpr(inside, outside),
         lambda: osr_metrics.fpr_at_tpr(scores, known)),
        ("FPR95", "torch-uncertainty", lambda: metrics.fpr_at_tpr(inside, outside),
         lambda: torch_uncertainty.FPR95(pos_label=1)(tensor(scores), tensor(known))),
    ]  # fmt: skip
    compare_metrics(comparison, f"{IMAGES:,} images", peers)


def compare_metrics(comparison: Comparison, size: str, peers: Iterable[tuple]) -> None:
    """Time peers (work, peer, ours, theirs) that give equal numbers."""
    for work, peer, ours, theirs in peers:
        check_equal(ours(), float(theirs()), within=1e-4)
        comparison.add(work, size, peer, ours, theirs)


def compare_bootstrap(comparison: Comparison) -> None:
    """Time AURCs of a thousand resampled test sets of 50,000 images."""
    generator = np.random.default_rng(1)
    images = 50_000
    replicates = 1000
    some = 20
    scores = generator.normal(size=images)
    correct = generator.random(images) < 0.5 + 0.4 * (scores > 0)
    weights = metrics.resample_weights(images, replicates=replicates, seed=0)
    ours = partial(metrics.weighted_aurc, scores, correct, weights)

    def one_by_one():
        drawn = [np.repeat(np.arange(images), row) for row in weights[:some]]
        return [metrics.aurc(scores[chosen], correct[chosen]) for chosen in drawn]

    check_equal(ours()[:some], one_by_one())
    size = f"{replicates:,} × {images:,} images"
    share = some / replicates
    comparison.add("AURC, bootstrap", size, "metric, one by one", ours, one_by_one, share=share)


def compare_calibration(comparison: Comparison) -> None:
    """Time the ECE of a million images and a hundred classes."""
    generator = np.random.default_rng(2)
    logits = generator.normal(size=(IMAGES, CLASSES)).astype(np.float32) * 2
    labels = generator.integers(CLASSES, size=IMAGES)
    logits[np.arange(IMAGES), labels] += 3
    tensor = torch.from_numpy(logits).softmax(dim=1)
    truth = torch.from_numpy(labels)
    options = {"task": "multiclass", "num_bins": 15, "num_classes": CLASSES}
    peers = [
        (
            "ECE",
            "torch-uncertainty",
            lambda: metrics.ece(tensor.numpy(), labels),
            lambda: torch_uncertainty.CalibrationError(**options)(tensor, truth),
        )
    ]
    compare_metrics(comparison, f"{IMAGES:,} × {CLASSES}", peers)


def compare_thresholds(comparison: Comparison) -> None:
    """Time the threshold for a risk of 0.1; the answers differ."""
    scores, drawn = np.random.default_rng(0).random((2, 10_000))
    given = (scores, drawn < scores, 0.1)
    work = "threshold for a risk"
    for peer in (guarantees.mapie, guarantees.zugzwang):
        both = partial(guarantees.ours, *given), partial(peer, *given)
        comparison.add(work, "10,000 images", peer.__name__, *both)


def draw_outputs(images: int, seed: int) -> tuple[Outputs, Head]:
    """Draw outputs with the size of a ResNet-50's outputs on ImageNet, and the head."""
    generator = np.random.default_rng(0)
    weight = generator.normal(size=(IMAGENET_CLASSES, FEATURES)) / np.sqrt(FEATURES)
    bias = generator.normal(size=IMAGENET_CLASSES) / 10
    head = Head(weight.astype(np.float32), bias.astype(np.float32))
    labels = np.arange(images) % IMAGENET_CLASSES
    noise = np.random.default_rng(seed).standard_normal((images, FEATURES), dtype=np.float32)
    features = np.maximum(noise + 10 * head.weight[labels], 0)  # like the output of a ReLU
    return Outputs(features @ head.weight.T + head.bias, features, labels), head


def detectors(head: Head) -> dict[str, tuple[Any, str, int, float, float]]:
    """Return the detector of pytorch-ood for each score.

    Each value has the detector, its inputs, the number of images that it scores, the factor between
    its scores and our scores, and the tolerance as a share of the spread of our scores.
    """
    linear = torch.nn.Linear(FEATURES, IMAGENET_CLASSES)
    linear.load_state_dict({name: torch.from_numpy(array) for name, array in vars(head).items()})
    weight = linear.weight.data
    bias = linear.bias.data
    dimensions = principal_dimensions(FEATURES)
    return {
        "energy": (detector.EnergyBased(None), "logits", TRAINING, 1, 1e-3),
        "gen": (detector.GEN(None, M=100), "logits", TRAINING, 100, 1e-3),
        "kl_matching": (detector.KLMatching(None), "logits", TRAINING, 1, 1e-3),
        "knn": (detector.KNN(None), "features", 256, 1, 1e-3),
        "vim": (detector.ViM(None, dimensions, weight, bias), "features", 4096, 1, 0.2),
        "mahalanobis": (detector.Mahalanobis(None), "features", 64, 2 * TRAINING, 1e-3),
    }


def compare_scores(comparison: Comparison) -> None:
    """Time fitting and scoring with outputs of ImageNet's size."""
    train, head = draw_outputs(TRAINING, 1)
    test, _ = draw_outputs(TRAINING, 2)
    for name, (peer, reads, images, factor, within) in detectors(head).items():
        score = helpers.scores.create(name)
        shown, asked = (torch.from_numpy(getattr(one, reads)) for one in (train, test))
        labels = torch.from_numpy(train.labels)
        fit = getattr(peer, f"fit_{reads}", None)
        score.fit(train, head)
        if fit is not None and "training outputs" in score.info.needs:
            comparison.add(
                f"{name}, fit",
                f"{TRAINING:,} × {shown.shape[1]:,}",
                "pytorch-ood",
                # a subset does not keep moments of the previous fit
                lambda name=name: helpers.scores.create(name).fit(train.subset(slice(None)), head),
                lambda fit=fit, shown=shown, labels=labels: fit(shown, labels),
                rounds=1,
            )
        predict = getattr(peer, f"predict_{reads}", None) or peer.predict
        few = test.subset(slice(0, images))
        asked = asked[:images]
        values = score.score_samples(few)
        check_equal(values, -factor * predict(asked).double().numpy(), within=within * values.std())
        comparison.add(
            f"{name}, score",
            f"{images:,} × {shown.shape[1]:,}",
            "pytorch-ood",
            lambda score=score, few=few: score.score_samples(few),
            lambda predict=predict, asked=asked: predict(asked),
        )


def compare_mixture(comparison: Comparison) -> None:
    """Time the fit of two Gaussians to 20,000 scores, as exactly as scikit-learn does it."""
    generator = np.random.default_rng(0)
    parts = 8 + 2 * generator.normal(size=10_000), generator.gamma(3, 0.8, 10_000)
    scores = np.concatenate(parts)
    start = labelfree.two_means(scores)
    floor = 1e-6 * scores.var()

    def theirs() -> GaussianMixture:
        return GaussianMixture(
            2,
            tol=1e-14,
            max_iter=2000,
            reg_covar=floor,
            weights_init=start.counts / len(scores),
            means_init=start.means[:, None],
            precisions_init=(1 / (start.deviations**2 + floor))[:, None, None],
        ).fit(scores[:, None])

    ours = partial(labelfree.fit_mixture, scores)
    check_equal(ours().means, np.sort(theirs().means_[:, 0])[::-1], within=1e-6 * scores.std())
    comparison.add("two Gaussians", f"{len(scores):,} scores", "scikit-learn", ours, theirs)


def main() -> None:
    """Run all comparisons, and store the results."""
    comparison = Comparison("peers", *PEERS)
    of_metrics = compare_ranking, compare_bootstrap, compare_calibration, compare_thresholds
    for compare in (*of_metrics, compare_mixture, compare_scores):
        compare(comparison)
    comparison.write()


if __name__ == "__main__":
    main()
