"""Tables of algorithms, measures and trials, as those of Belghazi and Lopez-Paz 2021."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from helpers.papers.uimnet.algorithms import ALGORITHMS
from helpers.papers.uimnet.columns import FREE, choose_trial, spectral_suffix, split_columns
from helpers.papers.uimnet.measures import record, titles
from helpers.report import results
from helpers.report.table import ABSENT, DOWN, UP, Table, categories, mark_best, numbers, single
from helpers.report.tables.comparisons import frozen_in_words, runs_in_words

HEADINGS = {  # heading, scale, and 1 where more is better, -1 where less is
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
"""The metrics of the paper's tables in their order, in-domain and then out-domain."""

_MODEL = ["data_set", "backbone", "spectral", "algorithm"]
_PART = ("tier", "data_set", "backbone", "measure")
_CHOICE = ("tier", "data_set", "backbone", "spectral", "variant", "calibration")
_SEARCH = ["backbone", "algorithm", "spectral"]
_MAIN = {
    ("accuracy", ""): "accuracy, %",
    ("ece", ""): "ECE, %",
    ("auroc", "entropy"): "AUC of Entropy, %",
    ("out_as_out", "entropy"): "OutAsOut of Entropy, %",
}
_TEMPERATURE = {"before": "1", "after": "learned"}
_NOTHING_PRINTED = "The numbers of the paper's own tables are not at hand."


def domain_means(table: pd.DataFrame) -> pd.DataFrame:
    """Return means and standard deviations over data seeds, one row per number.

    Parameters
    ----------
    table : DataFrame
        A results table of *What classifiers know what they don't?*, of one tier.

    Returns
    -------
    DataFrame
        ``tier``, ``data_set``, ``backbone`` (without what marks spectral normalisation),
        ``spectral`` (its form; "none" without), ``algorithm``, ``measure`` ("" in-domain),
        ``calibration``, ``variant`` ("primary" or "ensemble"), ``networks`` (how many answer
        together: 1, or the trials that did not diverge, as in "5", or "4 to 5" where data seeds
        differ), ``metric``;
        ``mean``, ``std``, ``runs`` and ``rows`` as in `helpers.report.results.summary`.
        Algorithms, measures and metrics are in the paper's order, others after these.

    Raises
    ------
    ValueError
        The table mixes tiers, has none of the paper's metrics, or lacks the trials of an ensemble.
    """
    single("table", table, "tier")
    own = table[table["variant"].isin(["primary", "ensemble"]) & table["metric"].isin(HEADINGS)]
    if own.empty:
        raise ValueError(f"table: no number of {', '.join(HEADINGS)}")
    means = split_columns(results.summary(own))
    counts, networks = _counts(split_columns(table)), []
    for variant, *key in means[["variant", *_MODEL]].itertuples(index=False):
        if variant == "ensemble" and tuple(key) not in counts:
            raise ValueError(f"table: no trials of {key[3]} on {key[1]}; give the whole table")
        networks.append("1" if variant == "primary" else counts[tuple(key)])
    means = means.assign(networks=networks).drop(columns=["paper", "test_set", "method"])
    return _sort(
        means, "data_set", "backbone",
        measure=["", *titles(means["measure"])], algorithm=ALGORITHMS,
        spectral=dict.fromkeys(means["spectral"]), calibration=["before", "after"],
        variant=["primary", "ensemble"], metric=HEADINGS,
    )  # fmt: skip


def domain(part: pd.DataFrame) -> Table:
    """Return one of the paper's tables.

    Rows are algorithms, without and with spectral normalisation (SN: its form), at the
    initial and the learned temperature (T), the chosen trial and the ensemble (k networks);
    columns are the in-domain metrics, or the out-domain metrics of a measure, as mean ± standard
    deviation over data seeds.  The best of a column is bold.

    Parameters
    ----------
    part : DataFrame
        The rows of one data set, network and measure of `domain_means`.

    Raises
    ------
    ValueError
        `part` is empty, or holds several data sets, networks or measures.
    """
    first = single("part", part, *_PART)
    measure = first["measure"]
    what = f"out-domain metrics with {record(measure).title}" if measure else "in-domain metrics"
    caption = (
        f"{first['data_set']} with {first['backbone']}, tier {first['tier']}: {what},"
        f" {runs_in_words(part)}. Rows: algorithm, form of spectral normalisation (SN),"
        " temperature (T), number of networks that answer together (k). Bold: best of the column."
    )
    if "after" not in set(part["calibration"]):
        caption += " Measured at the initial temperature only."
    return Table(
        _cells(part, among=["metric"]),
        ["algorithm", "SN", "T", "k"],
        ["metric"],
        name=_name(first, *_PART),
        caption=f"{caption} {_NOTHING_PRINTED}",
        data=part,
        named=True,
    )


def measures(part: pd.DataFrame) -> Table:
    """Return how well each measure does with each algorithm.

    Rows are measures, first their AUC and then their OutAsOut, as mean ± standard deviation over
    data seeds; columns are algorithms.  The best measure of an algorithm is bold.

    Parameters
    ----------
    part : DataFrame
        The rows of one data set and network of `domain_means`, with or without spectral
        normalisation, and of one variant and calibration; in-domain metrics are left out.

    Raises
    ------
    ValueError
        `part` has no out-domain metric, or holds several of what it must hold one of.
    """
    first = single("part", part, *_CHOICE)
    norm = first["spectral"].replace("_", " ")
    one = "the chosen trial" if first["variant"] == "primary" else "the ensemble of all trials"
    when = "initial" if first["calibration"] == "before" else "learned"
    part = part[part["metric"].isin(["auroc", "out_as_out"])]
    if part.empty:
        raise ValueError("part: no auroc or out_as_out")
    return Table(
        _cells(part, among=["metric", "algorithm"]),
        ["metric", "measure"],
        ["algorithm"],
        name=f"{_name(first, *_CHOICE)}-measures",
        caption=f"{first['data_set']} with {first['backbone']}, tier {first['tier']}: measures with"
        f" {one}, spectral normalisation {norm}, at the {when} temperature, {runs_in_words(part)}."
        f" Rows: metric, measure. Bold: best measure of the algorithm;"
        f" {ABSENT}: the algorithm has no such measure. {_NOTHING_PRINTED}",
        data=part,
        named=True,
    )


def trials(table: pd.DataFrame) -> Table:
    """Return all trials of a search.

    Rows are trials of an algorithm on a network, trial 0 with the defaults; columns are their
    hyper-parameters, the negative log-likelihood of the validation images as mean ± standard
    deviation over the data seeds on which they did not diverge, and on how many they did.  The
    chosen trial's likelihood is bold.

    Parameters
    ----------
    table : DataFrame
        A results table of one tier and data set.

    Raises
    ------
    ValueError
        The table has no trials, or mixes tiers or data sets.
    """
    own = _of_trials(table)
    first, seeds, cells = own.iloc[0], own["run"].nunique(), []
    for (network, algorithm, spectral), search in own.groupby(_SEARCH, sort=False):
        likelihoods = search.assign(value=search["value"].where(search["metric"] == "nll"))
        likelihoods = likelihoods.pivot(index="run", columns="trial", values="value")
        chosen = choose_trial(likelihoods)
        for trial, one in search.groupby("trial"):
            line = {"network": network, "algorithm": ALGORITHMS[algorithm],
                    "SN": _norm(spectral), "trial": str(trial)}  # fmt: skip
            lost, notes = one["metric"] == "diverged", one.loc[one["metric"] == "nll", "notes"]
            # one that diverged everywhere has left but the message
            what = notes.iloc[0].replace("_", " ") if len(notes) else one["notes"].iloc[0]
            values = likelihoods[[trial]].agg(["mean", "std"]).T
            nll = {"text": numbers(values)[0], "rows": " ".join(one["row"])}
            cells += [
                line | {"head": "hyper-parameters", "text": what},
                line | {"head": f"validation NLL {DOWN}", "bold": trial == chosen} | nll,
                line | {"head": "diverged", "text": f"{lost.sum()} of {len(one)}"},
            ]
    return Table(
        pd.DataFrame(cells).fillna({"bold": False, "rows": ""}),
        ["network", "algorithm", "SN", "trial"],
        ["head"],
        name=_name(first, "tier", "data_set") + "-trials",
        caption=f"{first['data_set']}, tier {first['tier']}: every trial on {seeds} data"
        f" seed{'s' * (seeds > 1)}. Rows: network, algorithm, form of spectral"
        " normalisation (SN), trial, 0 with the defaults. Bold: chosen, with the lowest mean NLL"
        " on validation images of those that diverged on no data seed.",
        data=own,
        named=True,
    )


def main_table(table: pd.DataFrame, parameters) -> Table:
    """Return what the algorithms reach in-domain and out-domain, alone and as ensembles.

    Parameters
    ----------
    table : DataFrame
        A results table of one tier and data set.
    parameters
        Those that it was made with.
    """
    network, recipe = list(parameters.sizes)[-1], parameters.training
    means = domain_means(table)
    means = means[(means["backbone"] == network) & (means["spectral"] == FREE)]
    means = means[means["calibration"] == "before"]
    pairs = means[["metric", "measure"]].apply(tuple, axis=1)
    means, pairs = (one[pairs.map(_MAIN.__contains__)] for one in (means, pairs))
    cells = means.assign(
        text=numbers(means, 100, ".1f"),
        algorithm=categories(means["algorithm"], ALGORITHMS),
        head=categories(pairs, _MAIN),
    )
    frozen, pixels = frozen_in_words(parameters, table), parameters.side
    return Table(
        cells,
        ["algorithm"],
        ["head"],
        name=f"uimnet-{parameters.tier}-main",
        caption=f"{parameters.data_set}{f' at {pixels} pixels' if pixels else ''}, its classes in "
        f"two branches by a network's features; tier `{parameters.tier}`, "
        f"shortened ({network}, {recipe['epochs']} epochs, {parameters.trials} trials): mean ± "
        f"standard deviation over {parameters.runs} data seeds, of the chosen trial and, after the "
        "semicolon, of the ensemble of all trials; before calibration, without spectral "
        "normalisation. "
        f"{' '.join(filter(None, [_NOTHING_PRINTED, frozen]))}",
        data=means,
        separator="; ",
    )


def _of_trials(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of trials, with their numbers, algorithms in the paper's order."""
    own = split_columns(table[table["variant"].str.startswith("trial ")])
    if own.empty:
        raise ValueError("table: no trials")
    single("table", own, "tier", "data_set")
    numbers = own["variant"].str.removeprefix("trial ").astype(int)
    own, forms = own.assign(trial=numbers), dict.fromkeys(own["spectral"])
    return _sort(own, "backbone", algorithm=ALGORITHMS, spectral=forms)


def _sort(table: pd.DataFrame, *as_they_come: str, **orders: Iterable) -> pd.DataFrame:
    """Sort by columns as their values come, then by others as orders have them."""
    orders = {name: dict.fromkeys(table[name]) for name in as_they_come} | orders
    ranks = {name: {value: rank for rank, value in enumerate(orders[name])} for name in orders}
    return table.sort_values(
        list(orders), kind="stable", ignore_index=True, key=lambda own: own.map(ranks[own.name])
    )


def _counts(table: pd.DataFrame) -> dict[tuple, str]:
    """Return of each model how many trials did not diverge, as in "5" or "4 to 5"."""
    trained = table[table["variant"].str.startswith("trial ") & (table["metric"] == "nll")]
    counts = trained.groupby([*_MODEL, "run"]).size().groupby(_MODEL).agg(["min", "max"])
    return {
        key: f"{most}" if fewest == most else f"{fewest} to {most}"
        for key, fewest, most in counts.itertuples()
    }


def _cells(part: pd.DataFrame, among: list[str]) -> pd.DataFrame:
    """Return a part as the cells of a table, with the best `among` those that share this marked."""
    headings, scales, signs = zip(*part["metric"].map(HEADINGS), strict=True)
    scale, rank = pd.Series(scales, part.index), part["mean"] * list(signs)
    return part.assign(
        text=numbers(part, scale, scale.map({100: ".1f", 1: ".3f"})),
        bold=mark_best(rank, *(part[name] for name in among)),
        algorithm=categories(part["algorithm"], ALGORITHMS),
        measure=categories(part["measure"], titles(part["measure"])),
        metric=categories(part["metric"], dict(zip(part["metric"], headings, strict=True))),
        SN=part["spectral"].map(_norm),
        T=categories(part["calibration"], _TEMPERATURE),
        k=categories(part["networks"], ["1"]),
    )


def _norm(form: str) -> str:
    return "no" if form == FREE else form.replace("_", " ")


def _name(first: dict, *columns: str) -> str:
    words = [spectral_suffix(first[one]).lstrip("+") if one == "spectral" else first[one]
             for one in columns]  # fmt: skip
    return "-".join(filter(None, ["uimnet", *words]))
