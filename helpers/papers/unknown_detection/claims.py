"""The claims of *A Unified Benchmark for the Unknown Detection Capability of DNNs* (Kim et al.)."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from helpers.papers.unknown_detection import PAPER
from helpers.papers.unknown_detection.composition import PAPER_UNION
from helpers.papers.unknown_detection.parameters import METHODS
from helpers.report.claim_files import read_claims
from helpers.report.paper_claims import Claims, Second

_FAR = ("SVHN", "LSUN-FIX", "DTD")


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
    read_claims(Path(__file__).with_name("claims.yaml"), method=METHODS),
    derive=derive,
    second=Second("paper's shares of images", test_sets=(("union", PAPER_UNION),)),
    printed=_with_far,
)
