"""The claims of *A Unified Benchmark for the Unknown Detection Capability of DNNs* (Kim et al.)."""

from __future__ import annotations

import pandas as pd

from helpers.papers.unknown_detection.parameters import METHODS
from helpers.report.claims import Claim, Effect, Term
from helpers.report.paper_claims import Claims

_TABLES = "Tables 5 and 6"
_CONFIDENCE = "mean confidence of {}, near minus far OOD"
_ALIASED = "AUROC of Mahalanobis, resized without minus with antialiasing"
_ANTIALIASED = "AUROC of Mahalanobis, resized with antialiasing"
_FIXED = (Term(1, "mahalanobis", "auroc", test_set="fixed"),)


def _versus(
    what: str, metric: str, test_set: str, first: str, second: str, relation=">", margin=0.0
) -> Effect:
    """Return the effect of a metric of method `first` minus that of method `second`."""
    terms = (Term(1, first, metric, test_set=test_set), Term(-1, second, metric, test_set=test_set))
    return Effect(f"{what}, {METHODS[first]} minus {METHODS[second]}", terms, relation, margin)


def _minus(method: str, metric: str, first: str, second: str, name: str) -> Effect:
    """Return the effect that a metric is higher on test set `first` than on `second`."""
    terms = (Term(1, method, metric, test_set=first), Term(-1, method, metric, test_set=second))
    return Effect(name, terms, ">", 0.0)


def _others(method: str) -> list[str]:
    return [one for one in METHODS if one != method]


_CLAIMS = (
    Claim(
        id="ensemble",
        text="Deep Ensemble detects unknowns best.",
        source=_TABLES,
        check="AURC on the union of ID, near and far is lower than that of each other method",
        effects=tuple(
            _versus("AURC on the union", "aurc", "union", other, "ensemble")
            for other in _others("ensemble")
        ),
    ),
    Claim(
        id="misclassification",
        text="Methods made for OOD detection harm the detection of misclassified images.",
        source=_TABLES,
        check="AURC on the ID test images is higher with ODIN and OpenMax than with the baseline",
        effects=tuple(
            _versus("AURC on ID test", "aurc", "test", method, "baseline")
            for method in ("odin", "openmax")
        ),
    ),
    Claim(
        id="outlier-exposure",
        text="At CIFAR scale, Outlier Exposure detects far OOD images best and costs accuracy.",
        source="Table 5",
        scope="not data_set.str.lower().str.startswith('imagenet')",
        check="accuracy is below the baseline's, AUROC against far OOD above each other method's",
        effects=(
            _versus("accuracy", "accuracy", "test", "outlier_exposure", "baseline", "<"),
            *(
                _versus("AUROC against far OOD", "auroc", "far", "outlier_exposure", other)
                for other in _others("outlier_exposure")
            ),
        ),
    ),
    Claim(
        id="near",
        text="No method is much better than the baseline at detecting near OOD images.",
        source=_TABLES,
        check="AUROC against near OOD exceeds the baseline's by < 0.05, for every method",
        effects=tuple(
            _versus("AUROC against near OOD", "auroc", "near", method, "baseline", "<", 0.05)
            for method in _others("baseline")
        ),
    ),
    Claim(
        id="confidence",
        text="Near OOD images get a higher confidence than far OOD images.",
        source="Section 4, figures 6 and 7",
        check="mean maximum class probability is higher on near than on far OOD images",
        effects=tuple(
            _minus(method, "mean_confidence", "near", "far", _CONFIDENCE.format(METHODS[method]))
            for method in ("baseline", "ensemble")
        ),
    ),
    Claim(
        id="mahalanobis",
        text="On images resized without artefacts, the Mahalanobis score is close to random.",
        source="Text, on the methods that were left out",
        check="AUROC falls when images are resized with antialiasing, to within 0.1 of one half",
        effects=(
            _minus("mahalanobis", "auroc", "aliased", "fixed", _ALIASED),
            Effect(f"{_ANTIALIASED}, from below", _FIXED, ">", 0.4),
            Effect(f"{_ANTIALIASED}, from above", _FIXED, "<", 0.6),
        ),
    ),
)
"""The margins are this project's: the paper gives no number.

0.05 of AUROC is above the largest gain on near OOD in its tables, 0.034 (Deep Ensemble, CIFAR-60).
"""


def _with_far(printed: pd.DataFrame) -> pd.DataFrame:
    """Add numbers for all far OOD images together, of which the paper prints none.

    The mean over the far sets of its union (Gaussian noise is not one) stands for them.  It prints
    no mean confidence and nothing of Mahalanobis, so that the last two claims have no data.
    """
    sets = printed[~printed["test_set"].isin(["test", "near", "union", "Gaussian Noise"])]
    identity = ["table", "data_set", "backbone", "run", "method", "calibration", "metric"]
    far = sets.groupby(identity, as_index=False)["value"].mean().assign(test_set="far")
    return pd.concat([printed, far.assign(bootstrap=[()] * len(far))])


CLAIMS = Claims("unknown_detection", _CLAIMS, printed=_with_far)
