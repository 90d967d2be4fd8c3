"""The papers' own numbers, as data, in the words of this project's results tables."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd

from helpers.checks import known_name

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
        ``calibration`` and ``metric`` in the words of `helpers.results.tidy`, but for OOD sets,
        which keep the paper's names; ``value`` and ``std`` (over the paper's runs, NaN where it
        prints none), not scaled; ``table``, the number of the paper's table; ``source``, where
        to look it up.

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
    path = Path(__file__).parent / f"{paper}.csv"
    return _READERS[paper](pd.read_csv(path, dtype={"table": str}))[list(COLUMNS)]


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


_READERS: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "openset_calibration": _openset_calibration,
    "unknown_detection": _unknown_detection,
}
