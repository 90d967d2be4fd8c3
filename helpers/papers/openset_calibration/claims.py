"""The claims of *Evaluating Uncertainty Calibration for Open-Set Recognition* (Lyu et al. 2022).

OpenMax is judged with the tail at which it refuses as many held-out images as the threshold does,
where a results table has this variant.  With a tail that refuses next to nothing OpenMax is hardly
there at all, and whatever differs says nothing of it.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from helpers.report.claim_files import read_claims
from helpers.report.paper_claims import Claims, index_numbers

CLOSED, OPEN, OPENMAX = "closed-set", "open-set", "open-set + OpenMax"

_MOST_UNEQUAL = 3.0
"""So many times as many images may one of OpenMax and the threshold refuse as the other."""

_PLACE = ["data_set", "backbone"]


def derive(table: pd.DataFrame) -> pd.DataFrame:
    """Add the share of the ECE that scaling removes, and say where OpenMax cannot be judged.

    Parameters
    ----------
    table : DataFrame
        A results table of one tier and variant, or printed numbers.

    Returns
    -------
    DataFrame
        Its rows and those of the metric ``ece_removed``, 1 - after / before.  ``untestable`` says
        of OpenMax where it refuses three times as many images as the threshold, or a third.

    Raises
    ------
    ValueError
        An ECE is there twice.
    """
    ece = table[table["metric"] == "ece"]
    whole = ece.groupby([*_PLACE, "run", "method"])["calibration"].transform("nunique") == 2
    levels = [*_PLACE, "run", "method", "calibration"]
    both = index_numbers(ece[whole], levels) if whole.any() else pd.DataFrame()
    removed = []
    if len(both):
        before, after = (both.xs(when, level="calibration") for when in ("before", "after"))
        shares = 1 - after / before.where(before > 0)
        removed = [
            (*place, one[0], one[1:])
            for place, one in zip(shares.index, shares.to_numpy(), strict=True)
            if np.isfinite(one).all()
        ]
    rows = pd.DataFrame(removed, columns=[*levels[:-1], "value", "bootstrap"])
    rows = rows.assign(metric="ece_removed", calibration="", test_set="test")
    every = pd.concat([table, rows], ignore_index=True)
    return every.assign(untestable=_unequal(every))


def _unequal(table: pd.DataFrame) -> list[str]:
    """Return for each row of OpenMax why it cannot be compared with the threshold's, "" if not."""
    refused = table[(table["metric"] == "rejected") & (table["calibration"] == "after")]
    means = refused.groupby([*_PLACE, "method"])["value"].mean().unstack("method")
    reasons = {}
    if {OPEN, OPENMAX} <= set(means):
        for place, ours, theirs in means[[OPENMAX, OPEN]].itertuples():
            if max(ours, theirs) > _MOST_UNEQUAL * min(ours, theirs):
                reasons[place] = (
                    f"OpenMax refuses {100 * ours:.1f} % of the images, the threshold"
                    f" {100 * theirs:.1f} %"
                )
    places = table[[*_PLACE, "method"]].itertuples(index=False)
    return [reasons.get((a, b), "") if method == OPENMAX else "" for a, b, method in places]


def _with_floor(printed: pd.DataFrame) -> pd.DataFrame:
    """Add the floor of the ECE, which the paper does not print, as 0.

    That is hard on the first claim, and kind to the second, whose gaps are however several times
    its margin.
    """
    floor = printed[printed["metric"] == "ece"].assign(metric="ece_floor", value=0.0)
    return pd.concat([printed, floor])


CLAIMS = Claims(
    "openset_calibration",
    read_claims(Path(__file__).with_name("claims.yaml")),
    derive=derive,
    judges="matched tail",
    partial=True,
    printed=_with_floor,
)
