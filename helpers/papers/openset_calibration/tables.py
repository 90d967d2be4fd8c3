"""Tables of calibration errors in the layout of Lyu et al. (2022), with their numbers."""

from __future__ import annotations

import pandas as pd

from helpers.papers.openset_calibration import PAPER
from helpers.papers.openset_calibration.claims import CLAIMS, OPENMAX
from helpers.report import published
from helpers.report.table import DELTA, MINUS, Table, categories, numbers
from helpers.report.tables import comparisons

TITLES = {"brier": "Brier", "ece": "ECE", "accuracy": "Accuracy"}
"""The metrics of the paper's tables, and their headings."""


def calibration_errors(part: pd.DataFrame) -> Table:
    """Return the table of one data set and backbone, next to the paper's table if there is one.

    Parameters
    ----------
    part : DataFrame
        Rows of one data set and one backbone of a `comparison` of the primary variant.
    """
    first, over = comparisons.one_table(part), comparisons.runs_in_words(part)
    caption = f"{first['data_set']} with {first['backbone']}, tier {first['tier']}"
    if first["table"]:
        theirs = f"{first['paper_data_set']} with {first['paper_backbone']}"
        caption += f", for the paper's {theirs}: {over}, beside the paper's Table {first['table']};"
        caption += f" {DELTA} is ours {MINUS} paper."
    else:
        caption += f": {over}; the paper has no such table."
    shown = name_tail(part[part["metric"].isin(TITLES)], "usual")
    difference = shown.assign(source=DELTA, mean=shown["difference"], std=float("nan"), rows="")
    cells = pd.concat(
        [comparisons.stack_sources(shown), difference.dropna(subset="mean")], ignore_index=True
    )
    cells["text"] = numbers(cells, pattern=cells["source"].map({DELTA: "+.3f"}).fillna(".3f"))
    cells["metric"] = categories(cells["metric"], TITLES)
    lines, columns = ["method", "calibration"], ["metric", "source"]
    return Table(cells, lines, columns, name=comparisons.name_of(part), caption=caption, data=part)


def name_tail(part: pd.DataFrame, tail: str) -> pd.DataFrame:
    """Return rows that name the tail of OpenMax, on which its numbers depend."""
    return part.replace({"method": {OPENMAX: f"{OPENMAX}, {tail} tail"}})


def main_table(table: pd.DataFrame, parameters) -> Table:
    """Return the ECE of the first data set and network, with the paper's Table I in brackets.

    OpenMax is shown with the matched tail, as its claim tests it, if the table has this variant.

    Parameters
    ----------
    table : DataFrame
        Results table of one tier.
    parameters : Parameters
        Parameters of this table.
    """
    errors = table[table["metric"] == "ece"]
    primary, judging = (errors[errors["variant"] == one] for one in ("primary", CLAIMS.judges))
    if matched := len(judging) > 0:
        primary = pd.concat([primary[~primary["method"].isin(judging["method"])], judging])
        primary = primary.assign(variant="primary")
    backbone, data_set = (primary[column].iloc[0] for column in ("backbone", "data_set"))
    primary = primary[(primary["backbone"] == backbone) & (primary["data_set"] == data_set)]
    family = PAPER.networks.get(backbone, "ResNet")
    printed = published.load("openset_calibration")
    printed = printed[(printed["data_set"] == "CIFAR10") & (printed["backbone"] == family)]
    compared = comparisons.comparison(
        primary, printed, published_as={data_set: "CIFAR10"}, families={backbone: family}
    )
    compared = name_tail(compared, "matched" if matched else "usual")
    titles = {"before": "before temperature scaling", "after": "after"}
    cells = compared.assign(
        text=comparisons.numbers_beside(compared, 1, ".3f"),
        calibration=categories(compared["calibration"], titles),
    )
    network = getattr(parameters, "training", {}) | parameters.networks[backbone]
    stem = f"stem stride {network['stem_stride']}, " if "stem_stride" in network else ""
    article = "an" if family[0] in "AEIOU" else "a"
    caption = (
        f"Expected calibration error on {data_set}, tier `{parameters.tier}` ({backbone}, {stem}"
        f"{network['epochs']} epochs): {comparisons.runs_in_words(compared)}; in brackets the "
        f"paper's, for {article} {family} whose depth and schedule it does not print (its Table "
        f"{printed['table'].iloc[0]})."
    )
    if matched:
        caption += " Matched tail: OpenMax refuses as many held-out images as the threshold."
    caption = f"{caption} {comparisons.frozen_in_words(parameters, primary)}".rstrip()
    name = comparisons.name_of(compared)
    return Table(cells, ["method"], ["calibration"], name=name, caption=caption, data=compared)
