"""The claims of *Evaluating Uncertainty Calibration for Open-Set Recognition* (Lyu et al. 2022).

OpenMax is tested with the tail at which it rejects as many held-out images as the threshold, if a
results table has this variant.  With a tail that rejects almost nothing, a difference is no effect
of OpenMax.
"""

from pathlib import Path

import numpy as np
import pandas as pd

from helpers.papers.openset_calibration.tables import MATCHED, OPENMAX
from synthesis.claim_files import read_claims
from synthesis.paper_claims import Claims, Second, index_numbers

OPEN = "open-set"

#: Largest ratio of the images that OpenMax and the threshold reject.
_MOST_UNEQUAL = 3.0

_PLACE = ["data_set", "backbone"]


def derive(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with rows of ``ece_removed``, 1 - ECE after / before scaling.

    ``untestable`` has the reason for rows of OpenMax that rejects more than three times as many
    images as the threshold, or less than a third.
    """
    levels = [*_PLACE, "run", "method"]
    ece = table[table["metric"] == "ece"]
    complete = ece.groupby(levels)["calibration"].transform("nunique") == 2
    removed = pd.DataFrame(columns=[*levels, "value", "bootstrap"])
    if complete.any():
        numbers = index_numbers(ece[complete], [*levels, "calibration"])
        before, after = (numbers.xs(when, level="calibration") for when in ("before", "after"))
        shares = 1 - after / before.where(before > 0)
        shares = shares[np.isfinite(shares).all(axis=1)]
        removed = shares.index.to_frame(index=False)
        removed = removed.assign(value=shares[0].to_numpy())
        removed["bootstrap"] = list(map(tuple, shares.drop(columns=0).to_numpy()))
    removed = removed.assign(metric="ece_removed", calibration="", test_set="test")
    rows = pd.concat([table, removed], ignore_index=True)
    return rows.assign(untestable=_unequal(rows))


def _unequal(table: pd.DataFrame) -> list[str]:
    """Return for each row of OpenMax why it is not comparable with the threshold, "" if it is."""
    rejected = table[(table["metric"] == "rejected") & (table["calibration"] == "after")]
    means = rejected.groupby([*_PLACE, "method"])["value"].mean().unstack("method")
    reasons = {}
    if {OPEN, OPENMAX} <= set(means):
        for key, openmax, threshold in means[[OPENMAX, OPEN]].itertuples():
            if max(openmax, threshold) > _MOST_UNEQUAL * min(openmax, threshold):
                reasons[key] = (
                    f"OpenMax refuses {100 * openmax:.1f} % of the images, the threshold"
                    f" {100 * threshold:.1f} %"
                )
    places = table[[*_PLACE, "method"]].itertuples(index=False)
    return [reasons.get((a, b), "") if method == OPENMAX else "" for a, b, method in places]


def _with_floor(printed: pd.DataFrame) -> pd.DataFrame:
    """Return printed numbers with the floor of the ECE as 0, because the paper reports no floor.

    The first claim becomes stricter.  The second becomes easier, but its gaps are several times
    its margin.
    """
    floor = printed[printed["metric"] == "ece"].assign(metric="ece_floor", value=0.0)
    return pd.concat([printed, floor])


CLAIMS = Claims(
    "openset_calibration",
    read_claims(Path(__file__).with_suffix(".yaml")),
    derive=derive,
    judges=MATCHED,
    seconds=(Second("one fixed threshold", variant="one threshold"),),
    printed=_with_floor,
)
