"""Who passes what: the checks of `known_unknowns.checks`, run on the peers' functions and on ours.

Each function gets arrays as it wants them, by an adapter of a line or two.  What is asked of it is
in the checks' own sentences; that an error names the argument is this project's custom, so
refusals are counted apart from invariants.

    python -m benchmarks.checks
"""

from __future__ import annotations

import unittest
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pandas as pd
import scipy.special
import torch

import helpers.scores
from benchmarks.comparing import OURS, RESULTS, versions
from helpers import metrics
from known_unknowns.checks import METRIC_CHECKS, SCORE_CHECKS
from known_unknowns.checks.metrics import Subject as Metric
from known_unknowns.checks.scores import Subject as Score

PAIR = {"known": "group", "unknown": "group"}
RANKED = {"confidence": "scores", "correct": "correct"}
CLASSIFIED = {"probabilities": "probabilities", "labels": "labels"}


@dataclass(frozen=True)
class Entry:
    """A function of somebody's, and what the checks have to know of it."""

    peer: str
    name: str
    function: Callable
    takes: dict
    better: str
    range: str = "[0, 1]"


def tensor(values) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(values))


def two_groups(known, unknown) -> tuple[np.ndarray, np.ndarray]:
    """Return the scores of both groups, and which are known."""
    known, unknown = np.asarray(known), np.asarray(unknown)
    return np.concatenate([known, unknown]), np.arange(len(known) + len(unknown)) < len(known)


def of_pytorch_ood() -> Iterator[tuple]:
    functional = import_module("pytorch_ood.metrics.functional")

    def turned(metric, sign=-1, **more):
        def function(known, unknown):
            scores, is_known = two_groups(known, unknown)
            labels = np.where(is_known, 1, -1)
            return float(metric(tensor(sign * scores), tensor(-sign * labels), **more))

        return function

    def aurc(confidence, correct):
        right = np.asarray(correct).astype(bool)
        return 1 - float(functional.aurra(tensor(np.asarray(confidence)), tensor(right)))

    yield "aurc", aurc, RANKED, "lower"
    yield "auroc", turned(functional.auroc), PAIR, "higher"
    yield "aupr", turned(functional.aupr, positive="id"), PAIR, "higher"
    yield "fpr_at_tpr", turned(functional.fpr_at_tpr, 1), PAIR, "lower"


def of_torch_uncertainty() -> Iterator[tuple]:
    classification = import_module("torch_uncertainty.metrics.classification")

    def once(make):
        def function(probabilities, labels):
            probabilities = np.asarray(probabilities)
            metric = make(probabilities.shape[1])
            metric.update(tensor(probabilities), tensor(np.asarray(labels)))
            return float(metric.compute())

        return function

    def fpr(known, unknown):
        scores, is_known = two_groups(known, unknown)
        metric = classification.FPR95(pos_label=1)
        metric.update(tensor(scipy.special.expit(scores)), tensor(is_known.astype(int)))
        return float(metric.compute())

    yield "aurc", once(lambda _: classification.AURC()), CLASSIFIED, "lower"
    yield "brier", once(classification.BrierScore), CLASSIFIED, "lower", "[0, 2]"
    yield "nll", once(lambda _: classification.CategoricalNLL()), CLASSIFIED, "lower", "[0, ∞]"
    yield "fpr_at_tpr", fpr, PAIR, "lower"


def of_torchmetrics() -> Iterator[tuple]:
    functional = import_module("torchmetrics.functional.classification")

    def ranked(metric):
        def function(known, unknown):
            scores, is_known = two_groups(known, unknown)
            return float(metric(tensor(scores), tensor(is_known.astype(int))))

        return function

    def ece(probabilities, labels):
        given = tensor(np.asarray(probabilities)), tensor(np.asarray(labels))
        return float(functional.multiclass_calibration_error(*given, given[0].shape[1], n_bins=15))

    yield "auroc", ranked(functional.binary_auroc), PAIR, "higher"
    yield "aupr", ranked(functional.binary_average_precision), PAIR, "higher"
    yield "ece", ece, CLASSIFIED, ""


def of_scikit_learn() -> Iterator[tuple]:
    theirs = import_module("sklearn.metrics")

    def ranked(metric):
        return lambda known, unknown: float(metric(*two_groups(known, unknown)[::-1]))

    def nll(probabilities, labels):
        classes = np.arange(np.asarray(probabilities).shape[1])
        return float(theirs.log_loss(labels, probabilities, labels=classes))

    yield "auroc", ranked(theirs.roc_auc_score), PAIR, "higher"
    yield "aupr", ranked(theirs.average_precision_score), PAIR, "higher"
    yield "nll", nll, CLASSIFIED, "lower", "[0, ∞]"


def of_netcal() -> Iterator[tuple]:
    theirs = import_module("netcal.metrics")

    def ece(probabilities, labels):
        return float(theirs.ECE(15).measure(np.asarray(probabilities), np.asarray(labels)))

    yield "ece", ece, CLASSIFIED, ""


PEERS = {
    "pytorch-ood": of_pytorch_ood, "torch-uncertainty": of_torch_uncertainty,
    "torchmetrics": of_torchmetrics, "scikit-learn": of_scikit_learn, "netcal": of_netcal,
}  # fmt: skip


def entries() -> list[Entry]:
    """Return the metrics of all peers that are installed."""
    found = []
    for peer, offer in PEERS.items():
        try:
            found += [Entry(peer, *one) for one in offer()]
        except ImportError as error:
            print(f"{peer} is left out: {error}", flush=True)
    return found


class Detector:
    """A detector of pytorch-ood with the words of a score here."""

    def __init__(self, name: str, make: Callable, reads: str, needs: tuple[str, ...]):
        self.info = SimpleNamespace(name=name, needs=needs)
        self.make, self.reads = make, reads

    def fit(self, train, head):
        self.detector = self.make(head)
        if "training outputs" in self.info.needs:
            learn = getattr(self.detector, f"fit_{self.reads}")
            learn(tensor(getattr(train, self.reads)), tensor(train.labels))
        return self

    def score_samples(self, outputs):
        if not hasattr(self, "detector"):
            self.detector = self.make(None)
        with torch.no_grad():
            found = getattr(self.detector, f"predict_{self.reads}")(
                tensor(getattr(outputs, self.reads))
            )
        return -found.double().numpy()


def detectors() -> list[Detector]:
    """Return the detectors of pytorch-ood that are computed from logits or features."""
    theirs = import_module("pytorch_ood.detector")
    level, fitted = "level of the logits", ("labels", "training outputs")

    def vim(head):
        return theirs.ViM(None, 20, tensor(head.weight), tensor(head.bias))

    return [
        Detector("msp", lambda _: theirs.MaxSoftmax(None), "logits", ("logits",)),
        Detector("max_logit", lambda _: theirs.MaxLogit(None), "logits", ("logits", level)),
        Detector("energy", lambda _: theirs.EnergyBased(None), "logits", ("logits", level)),
        Detector("entropy", lambda _: theirs.Entropy(None), "logits", ("logits",)),
        Detector("kl_matching", lambda _: theirs.KLMatching(None), "logits", ("logits", *fitted)),
        Detector("openmax", lambda _: theirs.OpenMax(None, tailsize=10, alpha=10), "logits",
                 ("logits", level, *fitted)),
        Detector("knn", lambda _: theirs.KNN(None), "features", ("features", "training outputs")),
        Detector("mahalanobis", lambda _: theirs.Mahalanobis(None), "features",
                 ("features", *fitted)),
        Detector("rmds", lambda _: theirs.RMD(None), "features", ("features", *fitted)),
        Detector("vim", vim, "features", ("features", "head", "training outputs")),
    ]  # fmt: skip


def rows_of(peer: str, kind: str, name: str, checks, subject) -> Iterator[dict]:
    """Yield a row for each check of one function."""
    for check in checks:
        try:
            checks.run(check, subject, checks.case)
            outcome, words = "holds", ""
        except unittest.SkipTest as reason:
            outcome, words = "does not apply", str(reason)
        except AssertionError as error:
            outcome, words = "fails", str(error).partition("failed: ")[2].partition("\n")[0]
        refuses = checks[check].__module__.endswith(("_refuse", "_given"))
        yield {"peer": peer, "kind": kind, "name": name, "check": check,
               "sort": "what it is given" if refuses else "invariant",
               "outcome": outcome, "words": words[:300]}  # fmt: skip


def main() -> None:
    """Check everything, and keep what came of it."""
    found = []

    def add(*arguments):
        found.extend(new := list(rows_of(*arguments)))
        failed = ", ".join(row["check"] for row in new if row["outcome"] == "fails")
        print(f"{arguments[0]}, {arguments[2]}: {failed or 'all hold'}", flush=True)

    theirs = entries()
    for one in theirs:
        subject = Metric(one.function, one.takes, one.better, one.range)
        add(one.peer, "metric", one.name, METRIC_CHECKS, subject)
    for name in dict.fromkeys(one.name for one in theirs):
        function = getattr(metrics, name)
        if name == "aupr":
            function = partial(function, positive="known")
        add(OURS, "metric", name, METRIC_CHECKS, Metric(function))
    for one in detectors():
        add("pytorch-ood", "score", one.info.name, SCORE_CHECKS, Score(one))
        ours = helpers.scores.create(one.info.name)
        add(OURS, "score", one.info.name, SCORE_CHECKS, Score(ours))
    RESULTS.mkdir(exist_ok=True)
    table = pd.DataFrame(found).assign(versions=versions())
    table.to_parquet(RESULTS / "checks.parquet", index=False)


if __name__ == "__main__":
    main()
