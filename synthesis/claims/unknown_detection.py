"""The claims of *A Unified Benchmark for the Unknown Detection Capability of DNNs* (Kim et al.).

The margins are this project's: the paper gives no number.  0.05 of AUROC is above the largest gain
on near OOD in its tables, 0.034 (Deep Ensemble, CIFAR-60).  0.01 of AURC is above the standard
deviation of most methods over the paper's runs.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import pandas as pd

from helpers.papers.unknown_detection import PAPER
from helpers.papers.unknown_detection.composition import PAPER_UNION, sizes_of
from helpers.papers.unknown_detection.methods import training_of
from helpers.papers.unknown_detection.parameters import METHODS
from synthesis.effects import CELL, Effect, Wording, number
from synthesis.reasons import Kind, Reason, join_texts
from synthesis.spread import Trainings
from synthesis.verdicts import Claims, Second

_FAR = ("SVHN", "LSUN-FIX", "DTD")
#: What Outlier Exposure learns from, by tier, if the paper's external images have no such traces.
_EXTERNAL = {"small": "Outlier Exposure learns from images with traces of their resize"}


def derive(table: pd.DataFrame) -> pd.DataFrame:
    """Return a results table with the paper's names of test sets, with doubts and stand-ins.

    A stand-in keeps its name next to the set that it replaces, and is then none of the far images.
    If two sets replace one set of the paper, both keep their names.  The AUROC of Outlier Exposure
    on all far sets together is in doubt if it is behind the baseline on some of the sets and ahead
    on others: it then depends on the sizes of the sets.
    """
    present = table["test_set"].unique()
    titles = _titles(present)
    words = {
        name: f"{title} in place of {PAPER.test_sets[name]}"
        for name, title in PAPER.stand_ins.items()
    }
    among = [text for name, text in words.items() if name in titles]
    words["far"] = f"among the far images, {' and '.join(among)}" if among else ""
    words["fixed"] = "other photographs in place of LSUN-FIX"
    tier = table["tier"].iloc[0] if "tier" in table and len(table) else ""
    if tier in _EXTERNAL:  # only sentences on Outlier Exposure name far sets
        far = ["far", *(name for name in present if PAPER.test_sets.get(name, name) in _FAR)]
        words |= {name: join_texts(words.get(name, ""), _EXTERNAL[tier]) for name in far}
    named = table.assign(
        test_set=table["test_set"].replace(titles[~titles.duplicated(keep=False)].to_dict()),
        stand_in=table["test_set"].map(words).fillna(""),
    )
    doubts = _doubts(named)
    far = named["test_set"].eq("far") & named["method"].eq("outlier_exposure")
    far &= named["metric"].eq("auroc")
    cells = zip(named["data_set"], named["backbone"], far, strict=True)
    reasons = [
        doubts.get((data_set, backbone), ()) if of else () for data_set, backbone, of in cells
    ]
    return named.assign(reasons=reasons)


def _titles(present: Iterable[str]) -> pd.Series:
    """Return the paper's names of test sets, without stand-ins whose set is present, too."""
    titles = pd.Series({name: PAPER.test_sets[name] for name in present if name in PAPER.test_sets})
    replaced = titles.index.isin([*PAPER.stand_ins])
    return titles[~(replaced & titles.isin(titles[~replaced]))]


def _doubts(named: pd.DataFrame) -> dict[tuple[str, str], tuple[Reason, ...]]:
    """Return a doubt for each cell in which the far sets disagree about Outlier Exposure."""
    far = named[(named["metric"] == "auroc") & named["test_set"].isin(_FAR)]
    doubts: dict[tuple[str, str], tuple[Reason, ...]] = {}
    for (data_set, backbone), part in far.groupby(CELL, sort=False):
        means = part.pivot_table("value", "test_set", "method")
        means = means.reindex(columns=["outlier_exposure", "baseline"])
        behind = means.index[means["outlier_exposure"] < means["baseline"]]
        if 0 < len(behind) < len(means):
            text = f"behind the baseline on {', '.join(behind)} alone"
            doubts[data_set, backbone] = (Reason(Kind.DOUBT, text),)
    return doubts


def _far(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the AUROC against all far images together, at the paper's shares of its sets.

    The AUROC against several sets is their mean, weighted by the numbers of images.
    """
    titles = _titles(rows["test_set"].unique()).to_dict()
    areas = rows[rows["metric"].eq("auroc") & ~rows["test_set"].isin(["test", "near"])]
    far = []
    keys = [*CELL, "run", "method", "calibration"]
    for (data_set, *_), sets in areas.groupby(keys, dropna=False):
        images = sets["test_set"].replace(titles).map(sizes_of(data_set))
        sets = sets[images.notna()]
        if len(sets) > 1:
            weights = images.dropna()
            area = np.average(sets["value"], weights=weights)
            drawn = np.average(np.stack(sets["bootstrap"]), axis=0, weights=weights)
            far.append(sets.iloc[0].to_dict() | {"value": area, "bootstrap": drawn})
    return pd.DataFrame(far, columns=rows.columns).assign(test_set="far")


def _with_far(printed: pd.DataFrame) -> pd.DataFrame:
    """Return the printed numbers, and the AUROC against all far images.

    The paper does not report any number for all far images together, any mean confidence or results
    of Mahalanobis: claims about the last two lack data.
    """
    return pd.concat([printed, _far(printed)])


def _at_paper_shares(rows: pd.DataFrame) -> pd.DataFrame:
    pooled = rows["test_set"].eq("far") & rows["metric"].eq("auroc")
    others = rows[~pooled & (rows["test_set"] != "union")]
    return pd.concat([others.replace({"test_set": {PAPER_UNION: "union"}}), _far(rows)])


CLAIMS = Claims(
    "unknown_detection",
    main="ensemble",
    settled_by="five runs of each training",
    derive=derive,
    seconds=(Second("paper's shares of images", compute=_at_paper_shares),),
    trainings=Trainings("baseline", training_of),
    printed=_with_far,
)


class _Measure(NamedTuple):
    title: str
    metric: str
    test_set: str = "test"


_ACCURACY = _Measure("accuracy", "accuracy")
_ON_TEST = _Measure("AURC on ID test", "aurc")
_ON_UNION = _Measure("AURC on the union", "aurc", "union")
_NEAR_AUROC = _Measure("AUROC against near OOD", "auroc", "near")
_FAR_AUROC = _Measure("AUROC against far OOD", "auroc", "far")


def _minus(
    measure: _Measure, first: str, second: str, relation: str = ">", margin: float = 0
) -> Effect:
    """Return the difference between two methods."""
    title, metric, test_set = measure
    name = f"{title}, {METHODS[first]} minus {METHODS[second]}"
    wording = None
    if measure == _ON_UNION:
        better = f"{METHODS[second]} is better than {METHODS[first]} by {{size}}"
        worse = f"{METHODS[first]} is better than {METHODS[second]} by {{size}}"
        wording = Wording(better, worse, " points of AURC", 100, 1)
    difference = number(metric, first, test_set) - number(metric, second, test_set)
    return Effect(name, difference, relation, margin, wording=wording)


def _others(method: str) -> list[str]:
    return [name for name in METHODS if name != method]


def _is_imagenet(data_set: str) -> bool:
    return data_set.lower().startswith("imagenet")


def _is_cifar(data_set: str) -> bool:
    return not _is_imagenet(data_set)


@CLAIMS.add(
    about="training",
    source="Tables 5 and 6",
    check="AURC on the union of ID, near and far is lower than that of each other method",
)
def ensemble():
    """Deep Ensemble detects unknowns best."""
    return [_minus(_ON_UNION, method, "ensemble") for method in _others("ensemble")]


@CLAIMS.add(
    source="Tables 5 and 6",
    check="AURC on the ID test images is higher with ODIN and OpenMax than with the baseline",
)
def misclassification():
    """ODIN and OpenMax, made for OOD detection, harm the detection of misclassified images."""
    return [_minus(_ON_TEST, method, "baseline") for method in ("odin", "openmax")]


@CLAIMS.add(
    about="training",
    source="Table 5",
    scope=_is_cifar,
    check="accuracy is below the baseline's",
)
def outlier_exposure_accuracy():
    """At CIFAR scale, Outlier Exposure costs accuracy."""
    return [_minus(_ACCURACY, "outlier_exposure", "baseline", "<")]


@CLAIMS.add(
    about="training",
    source="Table 5",
    scope=_is_cifar,
    check="AURC on the ID test images is higher than the baseline's",
)
def outlier_exposure_misclassification():
    """At CIFAR scale, Outlier Exposure harms the detection of misclassified images."""
    return [_minus(_ON_TEST, "outlier_exposure", "baseline")]


@CLAIMS.add(
    about="training",
    names=("far",),
    source="Table 5",
    scope=_is_cifar,
    check="AUROC against far OOD is above each other method's",
)
def outlier_exposure():
    """At CIFAR scale, Outlier Exposure detects far OOD images best."""
    others = _others("outlier_exposure")
    return [_minus(_FAR_AUROC, "outlier_exposure", method) for method in others]


@CLAIMS.add(
    about="training",
    source="Tables 5 and 6",
    check="AUROC against near OOD exceeds the baseline's by < 0.05, for every method",
)
def near():
    """No method is much better than the baseline at detecting near OOD images."""
    others = _others("baseline")
    return [_minus(_NEAR_AUROC, method, "baseline", "<", 0.05) for method in others]


@CLAIMS.add(
    source="Section 4, figure 6",
    scope=_is_imagenet,
    check="mean maximum class probability is higher on near than on far OOD images",
)
def confidence():
    """At ImageNet scale, near OOD images get a higher confidence than far OOD images."""
    for method in ("baseline", "ensemble"):
        confidences = [number("mean_confidence", method, side) for side in ("near", "far")]
        name = f"mean confidence of {METHODS[method]}, near minus far OOD"
        yield Effect(name, confidences[0] - confidences[1], ">", 0)


@CLAIMS.add(
    source="Text, on the methods that were left out",
    check="AUROC falls when images are resized with antialiasing, to within 0.1 of one half",
    needs="the score on a test set that is resized in two ways (`resized`)",
    names=("fixed",),
)
def mahalanobis():
    """On images resized without artefacts, the Mahalanobis score is close to random."""
    aliased = number("auroc", "mahalanobis", "aliased")
    fixed = number("auroc", "mahalanobis", "fixed")
    title = "AUROC of Mahalanobis, resized"
    return [
        Effect(f"{title} without minus with antialiasing", aliased - fixed, ">", 0),
        Effect(f"{title} with antialiasing, from below", fixed, ">", 0.4),
        Effect(f"{title} with antialiasing, from above", fixed, "<", 0.6),
    ]


@CLAIMS.add(
    about="training",
    source="Tables 5 and 6",
    check="accuracy is above that of each other method",
)
def ensemble_accuracy():
    """Deep Ensemble classifies best."""
    return [_minus(_ACCURACY, "ensemble", method) for method in _others("ensemble")]


@CLAIMS.add(
    about="training",
    source="Tables 5 and 6",
    check="AURC on the union is lower than the baseline's",
)
def crl_edl():
    """CRL and EDL detect unknowns better than the baseline."""
    return [_minus(_ON_UNION, "baseline", method) for method in ("crl", "edl")]


def _ahead(*methods: str) -> list[Effect]:
    """Return the AUROC of methods minus the baseline's, against near and against far images."""
    measures = (_NEAR_AUROC, _FAR_AUROC)
    return [_minus(measure, name, "baseline") for measure in measures for name in methods]


@CLAIMS.add(
    about="training",
    source="Section 4.1; Tables 5 and 6",
    check="AUROC against near and far OOD images is above the baseline's",
)
def crl_edl_ood():
    """CRL and EDL generally detect near and far OOD images better than the baseline."""
    return _ahead("crl", "edl")


@CLAIMS.add(
    about="training",
    source="Tables 5 and 6",
    check="AURC on the union is lower than the baseline's",
    needs="a training with AugMix",
)
def augmix():
    """AugMix detects unknowns better than the baseline."""
    return [_minus(_ON_UNION, "baseline", "augmix")]


@CLAIMS.add(
    source="Tables 5 and 6",
    check="AURC on the union is at most 0.01 lower than the baseline's",
)
def odin():
    """ODIN detects unknowns no better than the baseline."""
    return [_minus(_ON_UNION, "baseline", "odin", "<", 0.01)]


@CLAIMS.add(
    about="training",
    source="Tables 5 and 6",
    check="AURC on ID test is lower than the baseline's, and on the union at most 0.01 lower",
)
def mc_dropout():
    """MC dropout helps to detect misclassified images, and not to detect unknowns."""
    return [
        _minus(_ON_TEST, "baseline", "mc_dropout"),
        _minus(_ON_UNION, "baseline", "mc_dropout", "<", 0.01),
    ]


@CLAIMS.add(
    about="training",
    source="Table 6",
    scope=_is_imagenet,
    check="AURC on the union is higher than that of each other method",
)
def openmax_imagenet():
    """At ImageNet scale, OpenMax detects unknowns worst."""
    return [_minus(_ON_UNION, "openmax", method) for method in _others("openmax")]


@CLAIMS.add(
    source="Section 4.2; Table 6 has both behind the baseline on near OOD images",
    scope=_is_imagenet,
    check="AUROC against near and far OOD images is above the baseline's",
)
def odin_openmax_imagenet():
    """At ImageNet scale, ODIN and OpenMax perform well on near and far OOD images."""
    return _ahead("odin", "openmax")


@CLAIMS.add(
    about="training",
    source="Table 6",
    scope=_is_imagenet,
    check="accuracy is below that of each other method",
)
def edl_imagenet():
    """At ImageNet scale, EDL classifies worst."""
    return [_minus(_ACCURACY, method, "edl") for method in _others("edl")]


@CLAIMS.add(
    about="training",
    source="Table 6",
    scope=_is_imagenet,
    check="accuracy is not below the baseline's",
)
def outlier_exposure_imagenet_accuracy():
    """At ImageNet scale, Outlier Exposure costs no accuracy."""
    return [_minus(_ACCURACY, "outlier_exposure", "baseline", ">=")]


@CLAIMS.add(
    about="training",
    source="Table 6",
    scope=_is_imagenet,
    check="AURC on ID test is lower than the baseline's",
)
def outlier_exposure_imagenet():
    """At ImageNet scale, Outlier Exposure helps to detect misclassified images."""
    return [_minus(_ON_TEST, "baseline", "outlier_exposure")]


@CLAIMS.add(
    about="training",
    names=_FAR,
    source="Table 5",
    scope=_is_cifar,
    check="AUROC against each set that is, or stands in for, SVHN, LSUN-FIX or DTD is higher",
)
def outlier_exposure_sets():
    """At CIFAR scale, Outlier Exposure detects each far OOD set better than the baseline."""
    measures = [_Measure(f"AUROC against {name}", "auroc", name) for name in _FAR]
    return [_minus(measure, "outlier_exposure", "baseline") for measure in measures]
