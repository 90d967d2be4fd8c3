"""Do the numbers of a build agree with the committed numbers of a larger tier?

A build evaluates the finished networks of a tier on slices of its test sets.  Its numbers differ
from the committed ones only because a slice has fewer images.
"""

import numpy as np
import pandas as pd

from helpers.tables import results

#: Columns that say that two rows are the same number, on a slice and on the whole set.
SAME = [name for name in results.IDENTITY if name != "tier"]
#: Shares of the replicates below the two ends of an interval.
ENDS = (0.025, 0.975)


def agreement(build: pd.DataFrame, committed: pd.DataFrame) -> pd.DataFrame:
    """Return the numbers that two results tables have in common, and whether they agree.

    Parameters
    ----------
    build : DataFrame
        Rows on slices, with bootstrap replicates; a row without replicates is left out.
    committed : DataFrame
        Rows on the whole sets.

    Returns
    -------
    DataFrame
        The columns of `SAME`, with the names of the whole sets; ``value`` of the build with its
        95 % interval ``low`` and ``high``; ``committed``; and ``agrees``: whether the interval
        contains the committed number.

    Raises
    ------
    ValueError
        If the tables have no number in common.
    """
    slices = build[build["bootstrap"].map(len) > 0]
    names = {name: slices[name].str.removesuffix("_mini") for name in ("data_set", "test_set")}
    replicates = slices["bootstrap"].map(np.asarray)
    ends = {
        column: [np.quantile(values, share) for values in replicates]
        for column, share in zip(("low", "high"), ENDS, strict=True)
    }
    slices = slices.assign(**names, **ends)[[*SAME, "value", "low", "high"]]
    whole = committed[[*SAME, "value"]].rename(columns={"value": "committed"})
    common = slices.merge(whole, on=SAME, validate="one_to_one")
    if common.empty:
        raise ValueError("build, committed: these tables have no number in common")
    return common.assign(agrees=common["committed"].between(common["low"], common["high"]))


def sentence(common: pd.DataFrame) -> str:
    """Return how many numbers agree, as one sentence for a page."""
    count = int(common["agrees"].sum())
    return (
        f"Your build reproduced {count} of {len(common)} committed numbers within their 95 % "
        "intervals."
    )
