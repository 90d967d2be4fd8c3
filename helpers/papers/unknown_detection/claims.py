"""The claims of *A Unified Benchmark for the Unknown Detection Capability of DNNs* (Kim et al.)."""

from __future__ import annotations

import pandas as pd

from helpers.papers.unknown_detection.protocol import METHODS
from helpers.report import claims
from helpers.report.claims import Claim, Effect, Term

PAPER = "unknown_detection"
_TABLES, _CIFAR = "Tables 5 and 6", "Table 5"


def _against(first: str, metric: str, test_set: str, second: str) -> tuple[Term, Term]:
    """Return the terms of method `first` minus method `second`."""
    return Term(1, first, metric, test_set=test_set), Term(-1, second, metric, test_set=test_set)


def _others(*methods: str) -> list[str]:
    return [method for method in METHODS if method not in methods]


CLAIMS = (
    Claim(
        id="ensemble",
        paper=PAPER,
        text="Deep Ensemble detects unknowns best.",
        source=_TABLES,
        check="AURC on the union of ID, near and far is lower than that of each other method",
        effects=tuple(
            Effect(
                f"AURC on the union, {METHODS[other]} minus Deep Ensemble",
                _against(other, "aurc", "union", "ensemble"),
                ">",
                0.0,
            )
            for other in _others("ensemble")
        ),
    ),
    Claim(
        id="misclassification",
        paper=PAPER,
        text="Methods made for OOD detection harm the detection of misclassified images.",
        source=_TABLES,
        check="AURC on the ID test images is higher with ODIN and OpenMax than with the baseline",
        effects=tuple(
            Effect(
                f"AURC on ID test, {METHODS[method]} minus Baseline",
                _against(method, "aurc", "test", "baseline"),
                ">",
                0.0,
            )
            for method in ("odin", "openmax")
        ),
    ),
    Claim(
        id="outlier-exposure",
        paper=PAPER,
        text="At CIFAR scale, Outlier Exposure detects far OOD images best and costs accuracy.",
        source=_CIFAR,
        check="accuracy is below the baseline's, AUROC against far OOD above each other method's",
        effects=(
            Effect(
                "accuracy, Outlier Exposure minus Baseline",
                _against("outlier_exposure", "accuracy", "test", "baseline"),
                "<",
                0.0,
            ),
            *(
                Effect(
                    f"AUROC against far OOD, Outlier Exposure minus {METHODS[other]}",
                    _against("outlier_exposure", "auroc", "far", other),
                    ">",
                    0.0,
                )
                for other in _others("outlier_exposure")
            ),
        ),
    ),
    Claim(
        id="near",
        paper=PAPER,
        text="No method is much better than the baseline at detecting near OOD images.",
        source=_TABLES,
        check="AUROC against near OOD exceeds the baseline's by < 0.05, for every method",
        effects=tuple(
            Effect(
                f"AUROC against near OOD, {METHODS[method]} minus Baseline",
                _against(method, "auroc", "near", "baseline"),
                "<",
                0.05,
            )
            for method in _others("baseline")
        ),
    ),
    Claim(
        id="confidence",
        paper=PAPER,
        text="Near OOD images get a higher confidence than far OOD images.",
        source="Section 4, figures 6 and 7",
        check="mean maximum class probability is higher on near than on far OOD images",
        effects=tuple(
            Effect(
                f"mean confidence of {METHODS[method]}, near minus far OOD",
                (
                    Term(1, method, "mean_confidence", test_set="near"),
                    Term(-1, method, "mean_confidence", test_set="far"),
                ),
                ">",
                0.0,
            )
            for method in ("baseline", "ensemble")
        ),
    ),
    Claim(
        id="mahalanobis",
        paper=PAPER,
        text="On images resized without artefacts, the Mahalanobis score is close to random.",
        source="Text, on the methods that were left out",
        check="AUROC falls when images are resized with antialiasing, to within 0.1 of one half",
        effects=(
            Effect(
                "AUROC of Mahalanobis, resized without minus with antialiasing",
                (
                    Term(1, "mahalanobis", "auroc", test_set="aliased"),
                    Term(-1, "mahalanobis", "auroc", test_set="fixed"),
                ),
                ">",
                0.0,
            ),
            *(
                Effect(
                    f"AUROC of Mahalanobis, resized with antialiasing, from {side}",
                    (Term(1, "mahalanobis", "auroc", test_set="fixed"),),
                    relation,
                    margin,
                )
                for side, relation, margin in (("below", ">", 0.4), ("above", "<", 0.6))
            ),
        ),
    ),
)
"""The margins are this project's: the paper gives no number.

0.05 of AUROC is above the largest gain on near OOD in its tables, 0.034 (Deep Ensemble, CIFAR-60).
"""


def check(table: pd.DataFrame, *, variant: str = "primary") -> pd.DataFrame:
    """Check the paper's claims on a results table.

    Parameters
    ----------
    table : DataFrame
        A results table of one tier; rows of other papers and variants are left out.
    variant : str
        Which variant of the protocol to check.

    Returns
    -------
    DataFrame
        See `helpers.report.claims.evaluate`; `verdicts` sums it up.

    Raises
    ------
    ValueError
        Several tiers at once, or a variant that the table does not have.
    """
    own = claims.of_paper(table, PAPER, variant=variant)
    return _evaluate(own, own[own["data_set"] != "imagenet"])


def check_published() -> pd.DataFrame:
    """Do the same arithmetic on the paper's own printed numbers.

    They come without runs and images, hence without intervals: the verdict compares the effect
    itself with its margin.  The paper prints no number for all far OOD images together; the mean
    over the far sets of its union (Gaussian noise is not one) stands for it.  It prints no mean
    confidence and nothing of Mahalanobis, so that the last two claims have no data.
    """
    printed = claims.printed(PAPER)
    sets = printed[~printed["test_set"].isin(["test", "near", "union", "Gaussian Noise"])]
    identity = ["table", "data_set", "backbone", "run", "method", "calibration", "metric"]
    far = sets.groupby(identity, as_index=False)["value"].mean().assign(test_set="far")
    printed = pd.concat([printed, far.assign(bootstrap=[()] * len(far))])
    return _evaluate(printed, printed[printed["table"] == "5"], intervals=False)


def _evaluate(table: pd.DataFrame, of_cifar: pd.DataFrame, **options) -> pd.DataFrame:
    """Evaluate the claims, those about CIFAR scale on its rows alone."""
    checks = [
        claims.evaluate([claim], of_cifar if claim.source == _CIFAR else table, **options)
        for claim in CLAIMS
    ]
    return pd.concat(checks, ignore_index=True)


def verdicts(checks: pd.DataFrame) -> pd.DataFrame:
    """Sum up what `check` or `check_published` returned; see `helpers.report.claims.verdicts`."""
    return claims.verdicts(CLAIMS, checks)
