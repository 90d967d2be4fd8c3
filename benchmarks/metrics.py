"""The metrics against pytorch-ood, torch-uncertainty, torchmetrics, netcal and scikit-learn.

A peer's own function gets the same arrays, as it wants them (tensors or arrays, made beforehand),
and must give the same number, up to a convention that is named.

    python -m benchmarks.metrics
"""

from __future__ import annotations

import numpy as np
import sklearn.metrics
import torch
import torchmetrics.functional.classification as torchmetrics
from pytorch_ood.metrics import OODMetrics
from pytorch_ood.metrics import functional as pytorch_ood
from torch_uncertainty.metrics import classification as torch_uncertainty

from benchmarks.comparing import Comparison, agree
from helpers import metrics

IMAGES, CLASSES = 10**6, 100


def unknown_detection(comparison: Comparison) -> None:
    """AURC, AUROC, AUPR and FPR95 of a million images, together and each alone."""
    generator = np.random.default_rng(0)
    known = generator.random(IMAGES) < 0.6
    scores = generator.normal(size=IMAGES) + known
    correct = known & (generator.random(IMAGES) < 0.5 + 0.4 * (scores > 1))
    right, wrong = scores[known], scores[~known]
    size, tensor = f"{IMAGES:,} images", torch.from_numpy
    # there a score is one of being unknown, and the label of an unknown image is negative
    uncertain, labels = tensor(-scores), tensor(np.where(known, 1, -1))
    turned, right_tensor = (tensor(scores), -labels), tensor(correct)
    probability, positive = tensor(1 / (1 + np.exp(-scores))), tensor(known.astype(int))
    found = metrics.detection_metrics(scores, correct, known)

    def one_by_one():
        return (
            1 - pytorch_ood.aurra(tensor(scores), right_tensor),
            pytorch_ood.auroc(uncertain, labels),
            pytorch_ood.aupr(uncertain, labels, positive="id"),
            pytorch_ood.fpr_at_tpr(*turned),
        )

    def together():
        collected = OODMetrics()
        collected.update(*turned)
        return 1 - pytorch_ood.aurra(tensor(scores), right_tensor), collected.compute()

    for ours, theirs, within in zip(found, one_by_one(), (1e-6, 1e-6, 1e-4, 1e-5), strict=True):
        agree(ours, float(theirs), within=within)
    said = together()[1]
    agree(found.auroc, float(said["AUROC"]))
    for peer, theirs in (("its functions", one_by_one), ("its collection and AURRA", together)):
        comparison.add(
            "AURC, AUROC, AUPR, FPR95 together", size, f"pytorch-ood, {peer}",
            lambda: metrics.detection_metrics(scores, correct, known), theirs, wanted=3,
            note="its AURC is not exact with ties, its AUPR a trapezoid",
        )  # fmt: skip

    rejection = torch_uncertainty.FPR95(pos_label=1)

    def once(metric, *arguments):
        metric.reset()
        metric.update(*arguments)
        return metric.compute()

    alone = [
        ("AURC", lambda: metrics.aurc(scores, correct), {
            "pytorch-ood": lambda: 1 - pytorch_ood.aurra(tensor(scores), right_tensor),
        }),
        ("AUROC", lambda: metrics.auroc(right, wrong), {
            "pytorch-ood": lambda: pytorch_ood.auroc(uncertain, labels),
            "scikit-learn": lambda: sklearn.metrics.roc_auc_score(known, scores),
            "torchmetrics": lambda: torchmetrics.binary_auroc(probability, positive),
        }),
        ("AUPR", lambda: metrics.aupr(right, wrong, positive="known"), {
            "pytorch-ood": lambda: pytorch_ood.aupr(uncertain, labels, positive="id"),
            "scikit-learn": lambda: sklearn.metrics.average_precision_score(known, scores),
            "torchmetrics": lambda: torchmetrics.binary_average_precision(probability, positive),
        }),
        ("FPR95", lambda: metrics.fpr_at_tpr(right, wrong), {
            "pytorch-ood": lambda: pytorch_ood.fpr_at_tpr(*turned),
            "torch-uncertainty": lambda: once(rejection, probability, positive),
        }),
    ]  # fmt: skip
    for work, ours, peers in alone:
        for peer, theirs in peers.items():
            agree(ours(), float(theirs()), within=1e-4)
            comparison.add(work, size, peer, ours, theirs, wanted=1)


def bootstrap(comparison: Comparison) -> None:
    """Intervals of AURC and AUROC over a thousand resampled test sets of 50,000 images."""
    generator, images, replicates = np.random.default_rng(1), 50_000, 1000
    known = generator.random(images) < 0.6
    scores = generator.normal(size=images) + known
    correct = known & (generator.random(images) < 0.7)
    weights = metrics.resample_weights(images, replicates=replicates, seed=0)
    some = 20  # of the thousand; each costs as much as the next
    rows = weights[:some].copy(order="C")  # as is best for one after the other

    def again(metric):
        for row in rows:
            metric(np.repeat(np.arange(images), row))

    def area(chosen):
        return metrics.aurc(scores[chosen], correct[chosen])

    def separation(chosen):
        own, part = scores[chosen], known[chosen]
        return metrics.auroc(own[part], own[~part])

    right, wrong = np.flatnonzero(known), np.flatnonzero(~known)
    ways = {
        "AURC, bootstrap": (lambda: metrics.weighted_aurc(scores, correct, weights), area),
        "AUROC, bootstrap": (
            lambda: metrics.weighted_auroc(
                scores[right], scores[wrong], weights[:, right], weights[:, wrong]
            ),
            separation,
        ),
    }
    for work, (ours, metric) in ways.items():
        chosen = np.repeat(np.arange(images), weights[0])
        agree(ours()[0], metric(chosen), within=1e-9)
        comparison.add(
            work, f"{replicates:,} × {images:,}", "its own metric, one by one", ours,
            lambda metric=metric: again(metric), wanted=20, rounds=5, share=some / replicates,
            limit="each replicate needs a cumulative sum of its weights, and there is little "
            "beside it; the metric that is evaluated again is the fastest one above",
        )  # fmt: skip


def calibration(comparison: Comparison) -> None:
    """ECE, Brier score and NLL of a million images and a hundred classes."""
    from netcal.metrics import ECE

    generator = np.random.default_rng(2)
    logits = generator.normal(size=(IMAGES, CLASSES)).astype(np.float32) * 2
    labels = generator.integers(CLASSES, size=IMAGES)
    logits[np.arange(IMAGES), labels] += 3
    tensor, truth = torch.from_numpy(logits).softmax(dim=1), torch.from_numpy(labels)
    probabilities, size = tensor.numpy(), f"{IMAGES:,} × {CLASSES}"
    brier = torch_uncertainty.BrierScore(CLASSES)
    nll = torch_uncertainty.CategoricalNLL()

    def once(metric):
        metric.reset()
        metric.update(tensor, truth)
        return metric.compute()

    def calibration_error():
        return torchmetrics.multiclass_calibration_error(tensor, truth, CLASSES, n_bins=15)

    works = [
        ("ECE", lambda: metrics.ece(probabilities, labels), {
            "torchmetrics": calibration_error,
            "netcal": lambda: ECE(15).measure(probabilities, labels),
        }),
        ("Brier score", lambda: metrics.brier(probabilities, labels), {
            "torch-uncertainty": lambda: once(brier),
        }),
        ("NLL", lambda: metrics.nll(probabilities, labels), {
            "torch-uncertainty": lambda: once(nll),
            "scikit-learn": lambda: sklearn.metrics.log_loss(
                labels, probabilities, labels=np.arange(CLASSES)
            ),
        }),
    ]  # fmt: skip
    for work, ours, peers in works:
        for peer, theirs in peers.items():
            agree(ours(), float(theirs()), within=1e-4)
            comparison.add(work, size, peer, ours, theirs, wanted=1, rounds=3)


def main() -> None:
    """Measure everything, and keep it."""
    comparison = Comparison("metrics")
    unknown_detection(comparison)
    bootstrap(comparison)
    calibration(comparison)
    comparison.write()


if __name__ == "__main__":
    main()
