"""Tables of algorithms and measures, in the layout of Belghazi and Lopez-Paz (2021)."""

from __future__ import annotations

import pandas as pd

from helpers.papers.uimnet.algorithms import ALGORITHMS
from helpers.papers.uimnet.columns import FREE, spectral_suffix, split_columns
from helpers.papers.uimnet.measures import titles
from helpers.report import results
from helpers.report.table import ABSENT, DOWN, UP, Table, categories, mark_best, numbers, single
from helpers.report.tables.comparisons import frozen_in_words, runs_in_words

HEADINGS = {  # heading, scale, and 1 if more is better, -1 if less is better
    "accuracy": (f"ACC@1 {UP} (%)", 100, 1),
    "accuracy_top5": (f"ACC@5 {UP} (%)", 100, 1),
    "ece": (f"ECE {DOWN} (%)", 100, -1),
    "nll": (f"NLL {DOWN}", 1, -1),
    "auroc": (f"AUC {UP} (%)", 100, 1),
    "in_as_in": (f"InAsIn {UP} (%)", 100, 1),
    "in_as_out": (f"InAsOut {DOWN} (%)", 100, -1),
    "out_as_in": (f"OutAsIn {DOWN} (%)", 100, -1),
    "out_as_out": (f"OutAsOut {UP} (%)", 100, 1),
}
"""The metrics of the paper's tables in their order: in-domain, then out-domain."""

NOTHING_PRINTED = "The numbers of the paper's own tables are not at hand."
_MODEL = ["data_set", "backbone", "spectral", "algorithm"]
_CHOICE = ("tier", "data_set", "backbone", "spectral", "variant", "calibration")
_MAIN = {
    ("accuracy", ""): "accuracy, %",
    ("ece", ""): "ECE, %",
    ("auroc", "entropy"): "AUC of Entropy, %",
    ("out_as_out", "entropy"): "OutAsOut of Entropy, %",
}


def domain_means(table: pd.DataFrame) -> pd.DataFrame:
    """Return means and standard deviations over data seeds, one row per number.

    Parameters
    ----------
    table : DataFrame
        Results table of this paper and one tier.

    Returns
    -------
    DataFrame
        The columns of `split_columns` and of `helpers.report.results.summary`.  ``networks`` is
        the number of networks that predict together, as in "5", or "4 to 5" if data seeds differ.
        Algorithms, measures and metrics are in the paper's order, others after these.
    """
    single("table", table, "tier")
    shown = table[table["variant"].isin(["primary", "ensemble"]) & table["metric"].isin(HEADINGS)]
    if shown.empty:
        raise ValueError(f"table: no number of {', '.join(HEADINGS)}")
    means = split_columns(results.summary(shown)).drop(columns=["paper", "test_set", "method"])
    trained = means[_MODEL].apply(tuple, axis=1).map(_trained(split_columns(table)))
    means = means.assign(networks=trained.where(means["variant"] == "ensemble", "1"))
    orders = dict.fromkeys(["data_set", "backbone"]) | {
        "measure": ["", *titles(means["measure"])],
        "algorithm": ALGORITHMS,
        "spectral": None,
        "calibration": ["before", "after"],
        "variant": ["primary", "ensemble"],
        "metric": HEADINGS,
    }
    ranks = {
        name: {value: rank for rank, value in enumerate(order or dict.fromkeys(means[name]))}
        for name, order in orders.items()
    }
    return means.sort_values(
        list(orders),
        kind="stable",
        ignore_index=True,
        key=lambda column: column.map(ranks[column.name]),
    )


def measures(part: pd.DataFrame) -> Table:
    """Return the AUC and OutAsOut of each measure with each algorithm.

    Parameters
    ----------
    part : DataFrame
        Rows of `domain_means`: one data set, network, form of spectral normalisation, variant and
        calibration.
    """
    first = single("part", part, *_CHOICE)
    norm = first["spectral"].replace("_", " ")
    variant = "the chosen trial" if first["variant"] == "primary" else "the ensemble of all trials"
    when = "initial" if first["calibration"] == "before" else "learned"
    part = part[part["metric"].isin(["auroc", "out_as_out"])]
    names = first | {"spectral": spectral_suffix(first["spectral"]).lstrip("+")}
    words = ["uimnet", *(names[column] for column in _CHOICE), "measures"]
    return Table(
        cells(part, ["metric", "algorithm"]),
        ["metric", "measure"],
        ["algorithm"],
        name="-".join(filter(None, words)),
        caption=f"{first['data_set']} with {first['backbone']}, tier {first['tier']}: measures with"
        f" {variant}, spectral normalisation {norm}, at the {when} temperature,"
        f" {runs_in_words(part)}. Rows: metric, measure. Bold: best measure of the algorithm;"
        f" {ABSENT}: the algorithm has no such measure. {NOTHING_PRINTED}",
        data=part,
        named=True,
    )


def main_table(table: pd.DataFrame, parameters) -> Table:
    """Return in-domain and out-domain metrics of the algorithms, single and as ensembles.

    Parameters
    ----------
    table : DataFrame
        Results table of one tier and data set.
    parameters : Parameters
        Parameters of this table.
    """
    network, epochs = list(parameters.sizes)[-1], parameters.training["epochs"]
    means = domain_means(table)
    means = means[(means["backbone"] == network) & (means["spectral"] == FREE)]
    means = means[means["calibration"] == "before"]
    pairs = means[["metric", "measure"]].apply(tuple, axis=1)
    means, pairs = (column[pairs.isin(list(_MAIN))] for column in (means, pairs))
    pixels = f" at {parameters.side} pixels" if parameters.side else ""
    caption = (
        f"{parameters.data_set}{pixels}, its classes in two branches by a network's features; "
        f"tier `{parameters.tier}`, shortened ({network}, {epochs} epochs, {parameters.trials} "
        f"trials): mean ± standard deviation over {parameters.runs} data seeds, of the chosen "
        "trial and, after the semicolon, of the ensemble of all trials; before calibration, "
        f"without spectral normalisation. {NOTHING_PRINTED}"
    )
    return Table(
        means.assign(
            text=numbers(means, 100, ".1f"),
            algorithm=categories(means["algorithm"], ALGORITHMS),
            head=categories(pairs, _MAIN),
        ),
        ["algorithm"],
        ["head"],
        name=f"uimnet-{parameters.tier}-main",
        caption=f"{caption} {frozen_in_words(parameters, table)}".rstrip(),
        data=means,
        separator="; ",
    )


def _trained(table: pd.DataFrame) -> dict[tuple, str]:
    """Return the number of trials of each model that did not diverge, as in "5" or "4 to 5"."""
    trained = table[table["variant"].str.startswith("trial ") & (table["metric"] == "nll")]
    counts = trained.groupby([*_MODEL, "run"]).size().groupby(_MODEL).agg(["min", "max"])
    return {
        key: f"{most}" if fewest == most else f"{fewest} to {most}"
        for key, fewest, most in counts.itertuples()
    }


def cells(part: pd.DataFrame, among: list[str]) -> pd.DataFrame:
    """Return rows of `domain_means` as cells of a `Table`, with the best of each group bold.

    Rows with equal values of the columns `among` are a group.
    """
    headings, scales, signs = zip(*part["metric"].map(HEADINGS), strict=True)
    scale, rank = pd.Series(scales, part.index), part["mean"] * list(signs)
    return part.assign(
        text=numbers(part, scale, scale.map({100: ".1f", 1: ".3f"})),
        bold=mark_best(rank, *(part[name] for name in among)),
        algorithm=categories(part["algorithm"], ALGORITHMS),
        measure=categories(part["measure"], titles(part["measure"])),
        metric=categories(part["metric"], dict(zip(part["metric"], headings, strict=True))),
        SN=part["spectral"].map(norm_in_words),
        T=categories(part["calibration"], {"before": "1", "after": "learned"}),
        k=categories(part["networks"], ["1"]),
    )


def norm_in_words(form: str) -> str:
    """Return the words of tables for a form of spectral normalisation."""
    return "no" if form == FREE else form.replace("_", " ")
