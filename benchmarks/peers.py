"""Compare metrics and scores with the functions of other libraries.

Both sides get equal arrays, each side in its format, and must agree up to the convention in the
row.  `benchmarks.guarantees` compares thresholds for a risk, which differ.

    make bench      installs the libraries in .venv/peers
"""

from __future__ import annotations

from functools import partial

import numpy as np
import osr_metrics
import sklearn.metrics
import torch
import torch_uncertainty.metrics as torch_uncertainty
import torchmetrics.functional.classification as torchmetrics
from pytorch_ood.metrics import functional as pytorch_ood
from scipy.special import expit
from sklearn.mixture import GaussianMixture

from benchmarks.comparing import Comparison, check_equal
from benchmarks.scoring import compare_scores
from helpers import labelfree, metrics

PEERS = "pytorch-ood torch-uncertainty torchmetrics osr-metrics scikit-learn faiss-cpu".split()
IMAGES = 10**6
#: Why rows may be below 1.
CHECKED = "all numbers are checked: no NaN; probabilities in range, with sums of 1"
CLASSES = ((10**6, 10), (10**6, 100), (10**5, 1000))


def compare_ranking(comparison: Comparison) -> None:
    """Time metrics of the ranking of a million images."""
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
    truth = tensor(known.astype(int))
    probability = tensor(expit(scores))  # torchmetrics takes logits for probabilities
    aupr = partial(metrics.aupr, positive="known")
    auroc = metrics.auroc
    fpr = metrics.fpr_at_tpr
    # torch-uncertainty integrates by trapezoids from coverage 0, and divides by the rest
    half = (~correct).mean() / IMAGES / 2
    selective = [
        ("AURC", "pytorch-ood", metrics.aurc,
         lambda: 1 - pytorch_ood.aurra(tensor(scores), tensor(correct))),
        ("AURC", "osr-metrics", metrics.aurc, lambda: osr_metrics.aurc(-scores, ~correct)),
        ("AURC", "torch-uncertainty", metrics.aurc, lambda: torch_uncertainty.AURC()(sure, right)),
        ("AUGRC", "torch-uncertainty", metrics.augrc,
         lambda: torch_uncertainty.AUGRC()(sure, right) + half),
    ]  # fmt: skip
    detection = [
        ("AUROC", "pytorch-ood", auroc, lambda: pytorch_ood.auroc(unknown_scores, labels)),
        ("AUROC", "torchmetrics", auroc, lambda: torchmetrics.binary_auroc(probability, truth)),
        ("AUROC", "scikit-learn", auroc, lambda: sklearn.metrics.roc_auc_score(known, scores)),
        ("AUROC", "osr-metrics", auroc, lambda: osr_metrics.auroc(-scores, ~known)),
        ("AUPR", "pytorch-ood", aupr,
         lambda: pytorch_ood.aupr(unknown_scores, labels, positive="id")),
        ("AUPR", "torchmetrics", aupr,
         lambda: torchmetrics.binary_average_precision(probability, truth)),
        ("AUPR", "scikit-learn", aupr,
         lambda: sklearn.metrics.average_precision_score(known, scores)),
        ("AUPR", "osr-metrics", aupr, lambda: osr_metrics.aupr_in(-scores, ~known)),
        ("FPR95", "pytorch-ood", fpr, lambda: pytorch_ood.fpr_at_tpr(tensor(scores), -labels)),
        ("FPR95", "osr-metrics", fpr, lambda: osr_metrics.fpr_at_tpr(scores, known)),
        ("FPR95", "torch-uncertainty", fpr,
         lambda: torch_uncertainty.FPR95(pos_label=1)(tensor(scores), tensor(known))),
    ]  # fmt: skip
    compare_metrics(comparison, f"{IMAGES:,} images", selective, scores, correct)
    compare_metrics(comparison, f"{IMAGES:,} images", detection, inside, outside)


def compare_metrics(comparison: Comparison, size: str, peers: list, *given) -> None:
    """Time peers (work, peer, metric, theirs) that give the same number as our metric of arrays."""
    for work, peer, metric, theirs in peers:
        ours = partial(metric, *given)
        check_equal(ours(), float(theirs()), within=1e-4)
        size_given = sum(part.nbytes for part in given)
        comparison.add(work, size, peer, ours, theirs, given=size_given, reason=CHECKED)


def compare_size(comparison: Comparison, images: int, classes: int) -> None:
    """Time metrics of probabilities in single precision, for numbers of images and of classes."""
    generator = np.random.default_rng(2)
    logits = generator.standard_normal((images, classes), dtype=np.float32) * 2
    labels = generator.integers(classes, size=images)
    logits[np.arange(images), labels] += 3
    tensor = torch.from_numpy(logits).softmax(dim=1)
    del logits
    given = tensor.numpy()
    truth = torch.from_numpy(labels)
    of_classes = {"task": "multiclass", "num_bins": 15, "num_classes": classes}
    peers = [
        ("ECE", "torch-uncertainty", metrics.ece,
         lambda: torch_uncertainty.CalibrationError(**of_classes)(tensor, truth)),
        ("ECE", "torchmetrics", metrics.ece,
         lambda: torchmetrics.multiclass_calibration_error(tensor, truth, classes, n_bins=15)),
        ("ECE", "osr-metrics", metrics.ece,
         lambda: osr_metrics.expected_calibration_error_multiclass(given, labels)),
        ("Brier score", "torch-uncertainty", metrics.brier,
         lambda: torch_uncertainty.BrierScore(num_classes=classes)(tensor, truth)),
        ("Brier score", "osr-metrics", metrics.brier,
         lambda: osr_metrics.brier_score_multiclass(given, labels)),
        ("NLL", "torch-uncertainty", metrics.nll,
         lambda: torch_uncertainty.CategoricalNLL()(tensor, truth)),
        ("accuracy", "torchmetrics", metrics.accuracy,
         lambda: torchmetrics.multiclass_accuracy(tensor, truth, classes, average="micro")),
    ]  # fmt: skip
    compare_metrics(comparison, f"{images:,} × {classes:,}", peers, given, labels)


def compare_mixture(comparison: Comparison) -> None:
    """Time the fit of two Gaussians to 20,000 scores, as exactly as scikit-learn does it."""
    generator = np.random.default_rng(0)
    parts = 8 + 2 * generator.normal(size=10_000), generator.gamma(3, 0.8, 10_000)
    scores = np.concatenate(parts)
    ours = partial(labelfree.fit_mixture, scores)
    fitted = GaussianMixture(2, tol=1e-14, max_iter=2000, reg_covar=1e-6 * scores.var())
    theirs = partial(fitted.fit, scores[:, None])
    check_equal(ours().means, np.sort(theirs().means_[:, 0])[::-1], within=1e-6 * scores.std())
    size = "20,000 scores"
    comparison.add("two Gaussians", size, "scikit-learn", ours, theirs, given=scores.nbytes)


def main() -> None:
    """Run all comparisons, and store the results."""
    comparison = Comparison("peers", *PEERS)
    compare_ranking(comparison)
    for images, classes in CLASSES:
        compare_size(comparison, images, classes)
    compare_mixture(comparison)
    compare_scores(comparison)
    comparison.write()


if __name__ == "__main__":
    main()
