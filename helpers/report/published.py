"""The papers' own numbers, as data, in the words of this project's results tables."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd

from helpers.checks import known_name
from helpers.papers.human_centric.roles import PAPER_METHODS

COLUMNS = (
    "data_set",
    "test_set",
    "backbone",
    "method",
    "calibration",
    "metric",
    "value",
    "std",
    "table",
    "source",
)


def papers() -> tuple[str, ...]:
    """Return the names of the papers whose numbers are here."""
    return tuple(_READERS)


def load(paper: str) -> pd.DataFrame:
    """Return a paper's printed numbers, one per row.

    Parameters
    ----------
    paper : str
        One of `papers`.

    Returns
    -------
    DataFrame
        ``data_set`` and ``backbone`` as the paper prints them; ``test_set``, ``method``,
        ``calibration`` and ``metric`` in the words of `helpers.report.results.tidy`, but for OOD
        sets, which keep the paper's names, and "all" for those of "gscore" together; ``value`` and
        ``std`` (over the paper's runs, NaN where it prints none), not scaled; ``table``, the
        number of the paper's table; ``source``, where to look it up.  Data sets of
        "human_centric" are called as in `helpers.data`, and its test set "average" is the
        average as printed; see `with_averages`.

    Raises
    ------
    ValueError
        The paper is unknown.

    Examples
    --------
    >>> numbers = load("openset_calibration")
    >>> numbers[numbers["table"] == "I"].head(1)[["data_set", "metric", "value"]].values.tolist()
    [['CIFAR10', 'brier', 0.255]]
    """
    known_name("paper", paper, papers())
    path = Path(__file__).parent.parent / "papers" / paper / "printed.csv"
    return _READERS[paper](pd.read_csv(path, dtype={"table": str}))[list(COLUMNS)]


def with_averages(numbers: pd.DataFrame) -> pd.DataFrame:
    """Return the numbers of "human_centric" with each average taken anew over its test sets.

    The averages that the paper prints for KNN are not the means of their eight cells (they are
    off by up to 0.018), and five of others are off by up to 0.0004; all the rest agree to
    rounding.  What is compared with averages of ours is therefore computed as ours are.

    Parameters
    ----------
    numbers : DataFrame
        From `load`, or whole models and scores of it.

    Returns
    -------
    DataFrame
        As many rows in the same order; those of the test set "average" have the new value.

    Examples
    --------
    >>> numbers = load("human_centric").query("backbone == 'RN50' and method == 'knn'")
    >>> last = ["test_set", "metric", "value"]
    >>> numbers[last].tail(1).round(4).values.tolist()
    [['average', 'der99', 0.6922]]
    >>> with_averages(numbers)[last].tail(1).round(4).values.tolist()
    [['average', 'der99', 0.7034]]
    """
    average = numbers["test_set"] == "average"
    cell = ["data_set", "backbone", "method", "metric"]
    means = numbers[~average].groupby(cell)["value"].mean().rename("mean")
    fresh = numbers.join(means, on=cell)["mean"]
    return numbers.assign(value=numbers["value"].where(~average, fresh))


def _gscore(printed: pd.DataFrame) -> pd.DataFrame:
    """Tables 1 to 4 and 6; all but correlations are printed in per cent.

    Truths and predictions of Tables 2 and 3, one a row, are taken for means over the test sets.
    """
    detectors = {"MSP": "msp", "ODIN": "odin", "ENERGY": "energy", "MLS": "max_logit"}
    evaluators = {
        "Confidence score": "confidence",
        "Auto evaluation": "auto_evaluation",
        "Kmeans + l2": "kmeans_l2",
        "GMM + Wasserstein": "gmm_wasserstein",
        "GMM + KL": "gmm_kl",
        "UDE + Wasserstein": "ude_wasserstein",
        "UDE + KL": "ude_kl",
    }
    metrics = {
        "FPR@TPR95": "fpr95",
        "F@T95": "fpr95",
        "F@T80": "fpr80",
        "F@T60": "fpr60",
        "AUROC": "auroc",
        "AUPR": "aupr",
        "DE": "detection_error",
    }
    # "RMSE of", "pearson of", "spearman of" or "predicted", and what of
    kind = printed["metric"].str.extract(r"^(?:(RMSE|pearson|spearman) of |(predicted) )?(.*)$")
    kind, of = kind[0].fillna(kind[1]).fillna("").str.lower(), kind[2]
    metric = kind.where(kind == "", kind + "_") + of.replace(metrics)
    # Tables 2 to 4 do not name the evaluator: it is the one that the paper proposes.
    evaluator = printed["evaluator"].map(evaluators).fillna("ude_wasserstein")
    detector = printed["detector"].map(detectors).fillna("network")
    unit = kind.isin(["pearson", "spearman"]).map({True: 1, False: 100})
    return pd.DataFrame(
        {
            "data_set": printed["data_set"],
            "test_set": (of == "accuracy").map({True: "test", False: "all"}),
            "backbone": printed["backbone"],
            "method": detector.where(kind == "", detector + "/" + evaluator),
            "calibration": "",
            "metric": metric,
            "value": printed["value"] / unit,
            "std": printed["std"] / unit,
            "table": printed["table"],
            "source": "Table " + printed["table"] + ", arXiv:2302.08287",
        }
    )


def _openset_calibration(printed: pd.DataFrame) -> pd.DataFrame:
    """Tables I-VI; the accuracy, which the paper prints once per setting, is on both rows."""
    methods = {
        "Closed-set": "closed-set",
        "Open-set": "open-set",
        "Open-set + OpenMax": "open-set + OpenMax",
    }
    printed = printed.rename(
        columns={"dataset": "data_set", "network": "backbone", "setting": "method"}
    )
    printed["method"] = printed["method"].map(methods)
    printed["source"] = "Table " + printed["table"] + ", arXiv:2205.07160"
    printed = printed.assign(test_set="test", std=float("nan"))
    identity = ["table", "data_set", "test_set", "backbone", "method", "calibration"]
    return printed.melt(
        id_vars=[*identity, "std", "source"],
        value_vars=["brier", "ece", "accuracy"],
        var_name="metric",
        ignore_index=False,
    ).sort_index(kind="stable", ignore_index=True)


def _unknown_detection(printed: pd.DataFrame) -> pd.DataFrame:
    """Tables 5 and 6; the AURC is printed times 1000, everything else in per cent."""
    methods = {
        "Baseline": "baseline",
        "CRL": "crl",
        "EDL": "edl",
        "MCdropout": "mc_dropout",
        "Ensemble": "ensemble",
        "Augmix": "augmix",
        "ODIN": "odin",
        "OE": "outlier_exposure",
        "OpenMax": "openmax",
    }
    metrics = {
        "ACC": ("accuracy", 100),
        "AURC": ("aurc", 1000),
        "FPR-95%-TPR": ("fpr_at_tpr", 100),
        "AUROC": ("auroc", 100),
    }
    data_sets = {"5": "CIFAR-40", "6": "ImageNet-200"}
    # The text says ResNet18 for CIFAR; for ImageNet only the authors' code names the network.
    backbones = {"5": "ResNet18", "6": "ResNet-152"}
    roles = dict.fromkeys(data_sets.values(), "test")
    roles |= {"CIFAR-60": "near", "Near ImageNet-200": "near"}
    unit = printed["metric"].map({name: unit for name, (_, unit) in metrics.items()})
    return pd.DataFrame(
        {
            "data_set": printed["table"].map(data_sets),
            "test_set": printed["dataset"].replace(roles),
            "backbone": printed["table"].map(backbones),
            "method": printed["method"].map(methods),
            "calibration": "",
            "metric": printed["metric"].map({name: ours for name, (ours, _) in metrics.items()}),
            "value": printed["mean"] / unit,
            "std": printed["std"] / unit,
            "table": printed["table"],
            "source": "Table " + printed["table"] + ", arXiv:2112.00337",
        }
    )


def _human_centric(printed: pd.DataFrame) -> pd.DataFrame:
    """Tables 1 and 2; all numbers are printed in per cent."""
    methods = {title: name for name, title in PAPER_METHODS.items()}
    test_sets = {
        "Textures": "textures",
        "iNaturalist": "inaturalist",
        "Places": "places",
        "SUN": "sun",
        "ImageNet-Val": "test",
        "ImageNet-C": "imagenet_c",
        "ImageNetV2": "imagenet_v2",
        "ImageNet-R": "imagenet_r",
        "Average": "average",
    }
    printed = printed.assign(
        data_set="imagenet",
        test_set=printed["dataset"].map(test_sets),
        method=printed["method"].map(methods),
        calibration="",
        std=float("nan"),
        source="Table " + printed["table"] + ", arXiv:2211.16778",
    ).rename(columns={"model": "backbone"})
    numbers = printed.melt(
        id_vars=[name for name in COLUMNS if name not in ("metric", "value")],
        value_vars=["der95", "der99"],
        var_name="metric",
        ignore_index=False,
    ).sort_index(kind="stable", ignore_index=True)
    return numbers.assign(value=numbers["value"] / 100)


_READERS: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "gscore": _gscore,
    "human_centric": _human_centric,
    "openset_calibration": _openset_calibration,
    "unknown_detection": _unknown_detection,
}
