"""The claims of *A Unified Benchmark for the Unknown Detection Capability of DNNs* (Kim et al.)."""

from __future__ import annotations

import pandas as pd

from helpers.papers.unknown_detection import PAPER
from helpers.papers.unknown_detection.composition import PAPER_UNION
from helpers.papers.unknown_detection.parameters import METHODS
from helpers.report.claims import Claim, Effect, Term
from helpers.report.paper_claims import Claims, Second

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


_UNION, _TEST = ("AURC on the union", "aurc", "union"), ("AURC on ID test", "aurc", "test")
_ACCURACY = ("accuracy", "accuracy", "test")
_FAR = ("SVHN", "LSUN-FIX", "DTD")
_POINT = 0.01  # of AURC, more than what the paper's runs differ by
_CIFAR = "not data_set.str.lower().str.startswith('imagenet')"
_IMAGENET = "data_set.str.lower().str.startswith('imagenet')"

_CLAIMS = (
    Claim(
        id="ensemble",
        text="Deep Ensemble detects unknowns best.",
        about=("training", "detection"),
        source=_TABLES,
        check="AURC on the union of ID, near and far is lower than that of each other method",
        effects=tuple(_versus(*_UNION, other, "ensemble") for other in _others("ensemble")),
    ),
    Claim(
        id="misclassification",
        text="Methods made for OOD detection harm the detection of misclassified images.",
        source=_TABLES,
        check="AURC on the ID test images is higher with ODIN and OpenMax than with the baseline",
        effects=tuple(_versus(*_TEST, method, "baseline") for method in ("odin", "openmax")),
    ),
    Claim(
        id="outlier-exposure",
        text="At CIFAR scale, Outlier Exposure detects far OOD images best and costs accuracy.",
        about=("training", "detection"),
        source="Table 5",
        scope=_CIFAR,
        check="accuracy is below the baseline's, AUROC against far OOD above each other method's",
        effects=(
            _versus(*_ACCURACY, "outlier_exposure", "baseline", "<"),
            *(
                _versus("AUROC against far OOD", "auroc", "far", "outlier_exposure", other)
                for other in _others("outlier_exposure")
            ),
        ),
    ),
    Claim(
        id="near",
        text="No method is much better than the baseline at detecting near OOD images.",
        about=("training", "detection"),
        source=_TABLES,
        check="AUROC against near OOD exceeds the baseline's by < 0.05, for every method",
        effects=tuple(
            _versus("AUROC against near OOD", "auroc", "near", method, "baseline", "<", 0.05)
            for method in _others("baseline")
        ),
    ),
    Claim(
        id="confidence",
        text="At ImageNet scale, near OOD images get a higher confidence than far OOD images.",
        about=("detection",),
        source="Section 4, figure 6",
        scope=_IMAGENET,
        check="mean maximum class probability is higher on near than on far OOD images",
        effects=tuple(
            _minus(method, "mean_confidence", "near", "far", _CONFIDENCE.format(METHODS[method]))
            for method in ("baseline", "ensemble")
        ),
    ),
    Claim(
        id="mahalanobis",
        text="On images resized without artefacts, the Mahalanobis score is close to random.",
        about=("detection",),
        source="Text, on the methods that were left out",
        check="AUROC falls when images are resized with antialiasing, to within 0.1 of one half",
        effects=(
            _minus("mahalanobis", "auroc", "aliased", "fixed", _ALIASED),
            Effect(f"{_ANTIALIASED}, from below", _FIXED, ">", 0.4),
            Effect(f"{_ANTIALIASED}, from above", _FIXED, "<", 0.6),
        ),
        needs="the score on a test set that is resized in two ways (`resized`)",
    ),
    Claim(
        id="ensemble-accuracy",
        text="Deep Ensemble classifies best.",
        about=("training",),
        source=_TABLES,
        check="accuracy is above that of each other method",
        effects=tuple(_versus(*_ACCURACY, "ensemble", other) for other in _others("ensemble")),
    ),
    Claim(
        id="crl-edl",
        text="CRL and EDL detect unknowns better than the baseline.",
        about=("training", "detection"),
        source=_TABLES,
        check="AURC on the union is lower than the baseline's",
        effects=tuple(_versus(*_UNION, "baseline", method) for method in ("crl", "edl")),
    ),
    Claim(
        id="augmix",
        text="AugMix detects unknowns better than the baseline.",
        about=("training", "detection"),
        source=_TABLES,
        check="AURC on the union is lower than the baseline's",
        effects=(_versus(*_UNION, "baseline", "augmix"),),
    ),
    Claim(
        id="odin",
        text="ODIN detects unknowns no better than the baseline.",
        about=("detection",),
        source=_TABLES,
        check="AURC on the union is at most 0.01 lower than the baseline's",
        effects=(_versus(*_UNION, "baseline", "odin", "<", _POINT),),
    ),
    Claim(
        id="mc-dropout",
        text="MC dropout helps to detect misclassified images, and not to detect unknowns.",
        about=("training", "detection"),
        source=_TABLES,
        check="AURC is lower than the baseline's on ID test, and on the union within 0.01 of it",
        effects=(
            _versus(*_TEST, "baseline", "mc_dropout"),
            _versus(*_UNION, "baseline", "mc_dropout", "<", _POINT),
            _versus(*_UNION, "mc_dropout", "baseline", "<", _POINT),
        ),
    ),
    Claim(
        id="openmax-imagenet",
        text="At ImageNet scale, OpenMax detects unknowns worst.",
        about=("training", "detection"),
        source="Table 6",
        scope=_IMAGENET,
        check="AURC on the union is higher than that of each other method",
        effects=tuple(_versus(*_UNION, "openmax", other) for other in _others("openmax")),
    ),
    Claim(
        id="edl-imagenet",
        text="At ImageNet scale, EDL classifies worst.",
        about=("training",),
        source="Table 6",
        scope=_IMAGENET,
        check="accuracy is below that of each other method",
        effects=tuple(_versus(*_ACCURACY, other, "edl") for other in _others("edl")),
    ),
    Claim(
        id="outlier-exposure-imagenet",
        text="At ImageNet scale, Outlier Exposure costs no accuracy and helps to detect"
        " misclassified images.",
        about=("training",),
        source="Table 6",
        scope=_IMAGENET,
        check="accuracy is not below the baseline's, AURC on ID test lower",
        effects=(
            _versus(*_ACCURACY, "outlier_exposure", "baseline", ">="),
            _versus(*_TEST, "baseline", "outlier_exposure"),
        ),
    ),
    Claim(
        id="outlier-exposure-sets",
        text="At CIFAR scale, Outlier Exposure detects each far OOD set better than the baseline.",
        about=("training", "detection"),
        names=_FAR,
        source="Table 5",
        scope=_CIFAR,
        check="AUROC against each set that is, or stands in for, SVHN, LSUN-FIX or DTD is higher",
        effects=tuple(
            _versus(f"AUROC against {name}", "auroc", name, "outlier_exposure", "baseline")
            for name in _FAR
        ),
    ),
)
"""The margins are this project's: the paper gives no number.

0.05 of AUROC is above the largest gain on near OOD in its tables, 0.034 (Deep Ensemble, CIFAR-60).
"""


def derive(table: pd.DataFrame) -> pd.DataFrame:
    """Call test sets what they stand in for, and doubt a mean over far sets that disagree.

    Where Outlier Exposure, trained on other images, is ahead of the baseline on some far sets and
    behind on others, what it does to all of them together is a matter of their sizes.

    Parameters
    ----------
    table : DataFrame
        A results table of one tier and variant, or printed numbers.

    Returns
    -------
    DataFrame
        The same rows; ``doubt`` says in words which sets disagree, ``stand_in`` which images are in
        place of a set of the paper's.  Where two sets stand in for the
        same one of the paper's, both keep their names.
    """
    there = table["test_set"].unique()
    theirs = pd.Series({name: PAPER.test_sets[name] for name in there if name in PAPER.test_sets})
    words = {name: f"{title} in place of {PAPER.test_sets[name]}"
             for name, title in PAPER.stand_ins.items()}  # fmt: skip
    named = table.assign(
        test_set=table["test_set"].replace(theirs[~theirs.duplicated(keep=False)].to_dict()),
        doubt="",
        stand_in=table["test_set"].map(words).fillna(""),
    )
    far = named[(named["metric"] == "auroc") & named["test_set"].isin(_FAR)]
    cell = ["data_set", "backbone"]
    for key, own in far.groupby(cell, sort=False):
        means = own.pivot_table("value", "test_set", "method").reindex(
            columns=["outlier_exposure", "baseline"]
        )
        behind = means.index[means["outlier_exposure"] < means["baseline"]]
        if 0 < len(behind) < len(means):
            of = (named[cell] == list(key)).all(axis=1) & (named["test_set"] == "far")
            of &= (named["method"] == "outlier_exposure") & (named["metric"] == "auroc")
            named.loc[of, "doubt"] = f"behind the baseline on {', '.join(behind)} alone"
    return named


def _with_far(printed: pd.DataFrame) -> pd.DataFrame:
    """Add numbers for all far OOD images together, of which the paper prints none.

    The mean over the far sets of its union (Gaussian noise is not one) stands for them.  It prints
    no mean confidence and nothing of Mahalanobis, so that the claims on these have no data.
    """
    sets = printed[~printed["test_set"].isin(["test", "near", "union", "Gaussian Noise"])]
    identity = ["table", "data_set", "backbone", "run", "method", "calibration", "metric"]
    far = sets.groupby(identity, as_index=False)["value"].mean().assign(test_set="far")
    return pd.concat([printed, far.assign(bootstrap=[()] * len(far))])


CLAIMS = Claims(
    "unknown_detection",
    _CLAIMS,
    derive=derive,
    second=Second("paper's shares of images", test_sets=(("union", PAPER_UNION),)),
    printed=_with_far,
)
