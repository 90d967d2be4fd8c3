"""The claims of *A Unified Benchmark for the Unknown Detection Capability of DNNs* (Kim et al.)."""

from pathlib import Path

import pandas as pd

from helpers.papers.unknown_detection import PAPER
from helpers.papers.unknown_detection.composition import PAPER_UNION
from helpers.papers.unknown_detection.parameters import METHODS
from synthesis.claim_files import read_claims
from synthesis.paper_claims import Claims, Second

_FAR = ("SVHN", "LSUN-FIX", "DTD")


def derive(table: pd.DataFrame) -> pd.DataFrame:
    """Return a results table with the paper's names of test sets, with doubts and stand-ins.

    If two sets replace one set of the paper, both keep their names.  ``doubt`` names the far
    sets on which Outlier Exposure is behind the baseline, if it is ahead on others: its effect on
    all far sets together then depends on their sizes.
    """
    present = table["test_set"].unique()
    titles = pd.Series({name: PAPER.test_sets[name] for name in present if name in PAPER.test_sets})
    words = {name: f"{title} in place of {PAPER.test_sets[name]}"
             for name, title in PAPER.stand_ins.items()}  # fmt: skip
    named = table.assign(
        test_set=table["test_set"].replace(titles[~titles.duplicated(keep=False)].to_dict()),
        doubt="",
        stand_in=table["test_set"].map(words).fillna(""),
    )
    far = named[(named["metric"] == "auroc") & named["test_set"].isin(_FAR)]
    cell = ["data_set", "backbone"]
    for key, part in far.groupby(cell, sort=False):
        means = part.pivot_table("value", "test_set", "method").reindex(
            columns=["outlier_exposure", "baseline"]
        )
        behind = means.index[means["outlier_exposure"] < means["baseline"]]
        if 0 < len(behind) < len(means):
            of = (named[cell] == list(key)).all(axis=1) & (named["test_set"] == "far")
            of &= (named["method"] == "outlier_exposure") & (named["metric"] == "auroc")
            named.loc[of, "doubt"] = f"behind the baseline on {', '.join(behind)} alone"
    return named


def _with_far(printed: pd.DataFrame) -> pd.DataFrame:
    """Return the printed numbers with the mean over the far sets of the union as test set "far".

    The paper does not report any number for all far images together, any mean confidence or results
    of Mahalanobis: claims about the last two lack data.
    """
    sets = printed[~printed["test_set"].isin(["test", "near", "union", "Gaussian Noise"])]
    identity = ["table", "data_set", "backbone", "run", "method", "calibration", "metric"]
    far = sets.groupby(identity, as_index=False)["value"].mean().assign(test_set="far")
    return pd.concat([printed, far.assign(bootstrap=[()] * len(far))])


def _at_paper_shares(rows: pd.DataFrame) -> pd.DataFrame:
    return rows[rows["test_set"] != "union"].replace({"test_set": {PAPER_UNION: "union"}})


CLAIMS = Claims(
    "unknown_detection",
    read_claims(Path(__file__).with_suffix(".yaml"), method=METHODS),
    derive=derive,
    seconds=(Second("paper's shares of images", compute=_at_paper_shares),),
    printed=_with_far,
)
