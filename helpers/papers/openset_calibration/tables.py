"""Tables of calibration errors, as those of Lyu et al. 2022: ours, the paper's, the difference."""

from __future__ import annotations

import pandas as pd

from helpers.papers.openset_calibration import PAPER
from helpers.report import published
from helpers.report.table import DELTA, MINUS, Table, categories, numbers
from helpers.report.tables import comparisons

TITLES = {"brier": "Brier", "ece": "ECE", "accuracy": "Accuracy"}
"""The metrics that the paper's tables show, and how they are headed."""


def calibration_errors(part: pd.DataFrame) -> Table:
    """Return the table of one data set and backbone.

    Rows are methods before and after calibration; each metric has the columns "ours" (mean ±
    standard deviation over runs), "paper" and "Δ" (the difference), the latter two only where
    the paper has such a table.  Fractions keep three decimals, as in the paper.

    Parameters
    ----------
    part : DataFrame
        The rows of one data set and one backbone of a `comparison` of the primary variant.

    Raises
    ------
    ValueError
        `part` is empty or holds several data sets or backbones.
    """
    first, over = comparisons.one_table(part), comparisons.runs_in_words(part)
    caption = f"{first['data_set']} with {first['backbone']}, tier {first['tier']}"
    if first["table"]:
        theirs = f"{first['paper_data_set']} with {first['paper_backbone']}"
        caption += f", for the paper's {theirs}: {over}, beside the paper's Table {first['table']};"
        caption += f" {DELTA} is ours {MINUS} paper."
    else:
        caption += f": {over}; the paper has no such table."
    own = name_tail(part[part["metric"].isin(TITLES)], "usual")
    difference = own.assign(source=DELTA, mean=own["difference"], std=float("nan"), rows="")
    cells = pd.concat(
        [comparisons.stack_sources(own), difference.dropna(subset="mean")], ignore_index=True
    )
    patterns = cells["source"].map({DELTA: "+.3f"}).fillna(".3f")
    cells["text"] = numbers(cells, pattern=patterns)
    cells["metric"] = categories(cells["metric"], TITLES)
    lines, columns = ["method", "calibration"], ["metric", "source"]
    return Table(cells, lines, columns, name=comparisons.name_of(part), caption=caption, data=part)


def name_tail(part: pd.DataFrame, tail: str) -> pd.DataFrame:
    """Return rows that name the tail of OpenMax, since its numbers depend on it."""
    from helpers.papers.openset_calibration.claims import OPENMAX

    return part.replace({"method": {OPENMAX: f"{OPENMAX}, {tail} tail"}})


def verdicts_by_variant(table: pd.DataFrame) -> pd.DataFrame:
    """Return what the claims come to by each variant of what the paper leaves open.

    Parameters
    ----------
    table : DataFrame
        A results table of one tier, with all its variants.

    Returns
    -------
    DataFrame of str
        Variants by claims; beside them the shares of the test images that OpenMax and the
        threshold refuse, in per cent, means over data sets, networks and runs.
    """
    from helpers.papers.openset_calibration.claims import CLAIMS, OPEN, OPENMAX

    refused = table[(table["metric"] == "rejected") & (table["calibration"] == "after")]
    refused = 100 * refused.groupby(["variant", "method"])["value"].mean().unstack("method")
    refused = refused.fillna(refused.loc["primary"])
    rows = {}
    for variant in table["variant"].unique():
        found = CLAIMS.verdicts(CLAIMS.check(table, variant=variant)).set_index("claim")
        shares = refused.loc[variant if variant in refused.index else "primary"]
        shown = {f"{name} refuses, %": f"{shares[name]:.1f}" for name in (OPEN, OPENMAX)}
        rows[variant] = found["verdict"].map(str).to_dict() | shown
    return pd.DataFrame.from_dict(rows, orient="index")


def main_table(table: pd.DataFrame, parameters) -> Table:
    """Return the calibration errors of one network with those of the paper's Table I in brackets.

    OpenMax is shown as its claim judges it, with the tail by which it refuses as many held-out
    images as the threshold, where the table has that.

    Parameters
    ----------
    table : DataFrame
        A results table of one tier, of whose data sets and networks the first ones are shown.
    parameters
        Those that it was made with.
    """
    from helpers.papers.openset_calibration.claims import CLAIMS

    own = table[table["metric"] == "ece"]
    primary, judging = (own[own["variant"] == one] for one in ("primary", CLAIMS.judges))
    if matched := len(judging) > 0:
        primary = pd.concat([primary[~primary["method"].isin(judging["method"])], judging])
        primary = primary.assign(variant="primary")
    backbone, data_set = (primary[one].iloc[0] for one in ("backbone", "data_set"))
    primary = primary[(primary["backbone"] == backbone) & (primary["data_set"] == data_set)]
    family = PAPER.networks.get(backbone, "ResNet")
    printed = published.load("openset_calibration")
    printed = printed[(printed["data_set"] == "CIFAR10") & (printed["backbone"] == family)]
    own = comparisons.comparison(
        primary, printed, published_as={data_set: "CIFAR10"}, families={backbone: family}
    )
    own = name_tail(own, "matched" if matched else "usual")
    titles = {"before": "before temperature scaling", "after": "after"}
    cells = own.assign(
        text=comparisons.numbers_beside(own, 1, ".3f"),
        calibration=categories(own["calibration"], titles),
    )
    network = getattr(parameters, "training", {}) | parameters.networks[backbone]
    stem = f"stem stride {network['stem_stride']}, " if "stem_stride" in network else ""
    article = "an" if family[0] in "AEIOU" else "a"
    caption = (
        f"Expected calibration error on {data_set}, tier `{parameters.tier}` ({backbone}, {stem}"
        f"{network['epochs']} epochs): {comparisons.runs_in_words(own)}; in brackets the paper's, "
        f"for {article} {family} whose depth and schedule it does not print (its Table "
        f"{printed['table'].iloc[0]})."
    )
    if matched:
        caption += " Matched tail: OpenMax refuses as many held-out images as the threshold."
    if frozen := comparisons.frozen_in_words(parameters, primary):
        caption += f" {frozen}"
    return Table(
        cells, ["method"], ["calibration"], name=comparisons.name_of(own), caption=caption, data=own
    )
