"""Tables of algorithms, measures and trials, as those of Belghazi and Lopez-Paz 2021."""

from __future__ import annotations

import os

import pandas as pd
from pandas.io.formats.style import Styler

from helpers.papers.uimnet.naming import apart, normalised, selected
from helpers.papers.uimnet.protocol import ALGORITHMS, MEASURES
from helpers.report import results
from helpers.report.tables.cells import (
    ABSENT,
    DOWN,
    LAYOUT,
    UP,
    latex_text,
    mean_and_std,
    traced,
    write_latex,
)
from helpers.report.tables.comparisons import runs_in_words

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
_LINE = ["algorithm", "spectral", "calibration", "networks"]
_COLUMNS = [
    "tier", *_MODEL, "measure", "calibration", "variant", "networks", "metric",
    "mean", "std", "runs", "rows",
]  # fmt: skip
_TEMPERATURE = {"before": "1", "after": "learned"}
_NOTHING_PRINTED = "The numbers of the paper's own tables are not at hand."
_LAYOUT = [
    *LAYOUT,
    {"selector": "thead tr:first-child th", "props": "text-align: right;"},
    {"selector": "tbody th, thead th.index_name", "props": "text-align: left;"},
    {"selector": "tbody th", "props": "vertical-align: top; font-weight: normal;"},
]


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
        ``spectral`` (its coefficient; 0.0 without), ``algorithm``, ``measure`` ("" in-domain),
        ``calibration``, ``variant`` ("primary" or "ensemble"), ``networks`` (how many answer
        together: 1, or the trials that did not diverge, as in "5", or "4 to 5" where data seeds
        differ), ``metric``;
        ``mean``, ``std``, ``runs`` and ``rows`` as in `helpers.report.results.summary`.
        Algorithms, measures and metrics are in the paper's order.

    Raises
    ------
    ValueError
        The table mixes tiers, has none of the paper's metrics, or lacks the trials of an ensemble.
    """
    _one("table", table, "tier")
    own = table[table["variant"].isin(["primary", "ensemble"]) & table["metric"].isin(HEADINGS)]
    if own.empty:
        raise ValueError(f"table: no number of {', '.join(HEADINGS)}")
    means = apart(results.summary(own))
    counts, networks = _counts(apart(table)), []
    for variant, *key in means[["variant", *_MODEL]].itertuples(index=False):
        if variant == "ensemble" and tuple(key) not in counts:
            raise ValueError(f"table: no trials of {key[3]} on {key[1]}; give the whole table")
        networks.append("1" if variant == "primary" else counts[tuple(key)])
    order = {
        **{name: list(dict.fromkeys(means[name])) for name in ("data_set", "backbone")},
        "measure": ["", *MEASURES],
        "algorithm": list(ALGORITHMS),
        "spectral": sorted(set(means["spectral"])),
        "calibration": ["before", "after"],
        "variant": ["primary", "ensemble"],
        "metric": list(HEADINGS),
    }
    means = means.assign(networks=networks).sort_values(
        list(order), key=lambda column: column.map(order[column.name].index), ignore_index=True
    )
    return means[_COLUMNS]


def domain_styler(part: pd.DataFrame) -> Styler:
    """Return one of the paper's tables, as it is shown on a page.

    Rows are algorithms, without and with spectral normalisation (SN: its coefficient), at the
    initial and the learned temperature (T), the chosen trial and the ensemble (k networks);
    columns are the in-domain metrics, or the out-domain metrics of a measure, as mean ± standard
    deviation over data seeds.  The best of a column is bold.  No colour is set, so that the page's
    light or dark theme decides.  Under the pointer, a cell names the rows of the results table
    behind it.

    Parameters
    ----------
    part : DataFrame
        The rows of one data set, network and measure of `domain_means`.

    Raises
    ------
    ValueError
        `part` is empty, or holds several data sets, networks or measures.
    """
    caption, name = domain_caption(part), _name(part, *_PART)
    return _styled(*_domain(part), caption=caption, name=name)


def domain_to_latex(part: pd.DataFrame, path: str | os.PathLike) -> None:
    """Write the table of `domain_styler` for LaTeX (needs the package booktabs)."""
    caption, name = domain_caption(part), _name(part, *_PART)
    _latex(*_domain(part), path, caption=caption, name=name)


def domain_caption(part: pd.DataFrame) -> str:
    """Return a complete caption for one data set, network and measure of `domain_means`."""
    first = _one("part", part, *_PART)
    measure = first["measure"]
    what = f"out-domain metrics with {MEASURES[measure]}" if measure else "in-domain metrics"
    text = (
        f"{first['data_set']} with {first['backbone']}, tier {first['tier']}: {what},"
        f" {runs_in_words(part)}. Rows: algorithm, coefficient of spectral normalisation (SN),"
        " temperature (T), number of networks that answer together (k). Bold: best of the column."
    )
    if "after" not in set(part["calibration"]):
        text += " Measured at the initial temperature only."
    return f"{text} {_NOTHING_PRINTED}"


def measures_styler(part: pd.DataFrame) -> Styler:
    """Return how well each measure does with each algorithm, as it is shown on a page.

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
    caption, name = measures_caption(part), _name(part, *_CHOICE)
    return _styled(*_measures(part), caption=caption, name=f"{name}-measures")


def measures_to_latex(part: pd.DataFrame, path: str | os.PathLike) -> None:
    """Write the table of `measures_styler` for LaTeX (needs the package booktabs)."""
    caption, name = measures_caption(part), _name(part, *_CHOICE)
    _latex(*_measures(part), path, caption=caption, name=f"{name}-measures")


def measures_caption(part: pd.DataFrame) -> str:
    """Return a complete caption for the table of `measures_styler`."""
    first = _one("part", part, *_CHOICE)
    norm = f"of coefficient {first['spectral']:g}" if first["spectral"] else "none"
    one = "the chosen trial" if first["variant"] == "primary" else "the ensemble of all trials"
    when = "initial" if first["calibration"] == "before" else "learned"
    return (
        f"{first['data_set']} with {first['backbone']}, tier {first['tier']}: measures with {one},"
        f" spectral normalisation {norm}, at the {when} temperature, {runs_in_words(part)}."
        f" Rows: metric, measure. Bold: best measure of the algorithm;"
        f" {ABSENT}: the algorithm has no such measure. {_NOTHING_PRINTED}"
    )


def trials_styler(table: pd.DataFrame) -> Styler:
    """Return all trials of a search, as they are shown on a page.

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
    name = _name(_of_trials(table), "tier", "data_set") + "-trials"
    return _styled(*_trials(table), caption=trials_caption(table), name=name)


def trials_to_latex(table: pd.DataFrame, path: str | os.PathLike) -> None:
    """Write the table of `trials_styler` for LaTeX (needs the package booktabs)."""
    name = _name(_of_trials(table), "tier", "data_set") + "-trials"
    _latex(*_trials(table), path, caption=trials_caption(table), name=name)


def trials_caption(table: pd.DataFrame) -> str:
    """Return a complete caption for the table of `trials_styler`."""
    own = _of_trials(table)
    first, seeds = own.iloc[0], own["run"].nunique()
    return (
        f"{first['data_set']}, tier {first['tier']}: every trial on {seeds} data"
        f" seed{'s' * (seeds > 1)}. Rows: network, algorithm, coefficient of spectral"
        " normalisation (SN), trial, 0 with the defaults. Bold: chosen, with the lowest mean NLL"
        " on validation images of those that diverged on no data seed."
    )


def _domain(part: pd.DataFrame) -> tuple[pd.DataFrame, ...]:
    """Lay out text, marks of the best, and rows behind: algorithms down, metrics across."""
    columns = [metric for metric in HEADINGS if metric in set(part["metric"])]
    lines = pd.MultiIndex.from_frame(part[_LINE].drop_duplicates())
    wide = _cells(part).set_index([*_LINE, "metric"]).unstack("metric").reindex(lines)
    text, rank, rows = (wide[kind][columns] for kind in ("text", "rank", "rows"))
    best = rank.eq(rank.max()) & rank.min().lt(rank.max())
    heads = pd.Index([HEADINGS[metric][0] for metric in columns])
    names = [
        (ALGORITHMS[algorithm], _norm(spectral), _TEMPERATURE[when], count)
        for algorithm, spectral, when, count in lines
    ]
    index = pd.MultiIndex.from_tuples(names, names=["algorithm", "SN", "T", "k"])
    frames = (text.fillna(ABSENT), best, rows)
    return tuple(frame.set_axis(heads, axis=1).set_axis(index) for frame in frames)


def _measures(part: pd.DataFrame) -> tuple[pd.DataFrame, ...]:
    """Lay out text, marks of the best, and rows behind: measures down, algorithms across."""
    own = part[part["metric"].isin(["auroc", "out_as_out"])]
    if own.empty:
        raise ValueError("part: no auroc or out_as_out")
    wide = _cells(own).set_index(["metric", "measure", "algorithm"]).unstack("algorithm")
    columns = [name for name in ALGORITHMS if name in set(own["algorithm"])]
    lines = [(metric, name) for metric in HEADINGS for name in MEASURES]
    lines = [line for line in lines if line in wide.index]
    text, rank, rows = (wide[kind].loc[lines, columns] for kind in ("text", "rank", "rows"))
    groups = rank.groupby(level="metric")
    best = rank.eq(groups.transform("max")) & groups.transform("min").lt(groups.transform("max"))
    names = [(HEADINGS[metric][0], MEASURES[name]) for metric, name in lines]
    index = pd.MultiIndex.from_tuples(names, names=["metric", "measure"])
    heads = pd.Index([ALGORITHMS[name] for name in columns])
    frames = (text.fillna(ABSENT), best, rows)
    return tuple(frame.set_axis(heads, axis=1).set_axis(index) for frame in frames)


def _trials(table: pd.DataFrame) -> tuple[pd.DataFrame, ...]:
    """Lay out text, marks of the chosen, and rows behind: trials down."""
    own = _of_trials(table)
    text, best, rows = {}, {}, {}
    for model, trials in own.groupby(["backbone", "algorithm", "spectral"], sort=False):
        network, algorithm, spectral = model
        fine = trials["metric"] == "nll"
        likelihoods = trials.assign(value=trials["value"].where(fine))
        likelihoods = likelihoods.pivot(index="run", columns="trial", values="value")
        chosen = selected(likelihoods)
        for trial, one in trials.groupby("trial"):
            key = (network, ALGORITHMS[algorithm], _norm(spectral), str(trial))
            values, lost = likelihoods[trial], one[one["metric"] == "diverged"]
            notes = one.loc[one["metric"] == "nll", "notes"]
            # one that diverged everywhere has left but the message
            what = notes.iloc[0].replace("_", " ") if len(notes) else lost["notes"].iloc[0]
            nll = mean_and_std(values.mean(), values.std())
            text[key] = (what, nll, f"{len(lost)} of {len(one)}")
            best[key] = (False, trial == chosen, False)
            rows[key] = (None, " ".join(one["row"]), None)
    heads = ["hyper-parameters", f"validation NLL {DOWN}", "diverged"]
    index = pd.MultiIndex.from_tuples(text, names=["network", "algorithm", "SN", "trial"])
    return tuple(
        pd.DataFrame(list(cells.values()), index=index, columns=heads)
        for cells in (text, best, rows)
    )


def _of_trials(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of trials, with their numbers, algorithms in the paper's order."""
    own = apart(table[table["variant"].str.startswith("trial ")])
    if own.empty:
        raise ValueError("table: no trials")
    _one("table", own, "tier", "data_set")
    numbers = own["variant"].str.removeprefix("trial ").astype(int)
    order = {"backbone": list(dict.fromkeys(own["backbone"])), "algorithm": list(ALGORITHMS),
             "spectral": sorted(set(own["spectral"]))}  # fmt: skip
    return own.assign(trial=numbers).sort_values(
        list(order), key=lambda column: column.map(order[column.name].index), kind="stable"
    )


def _counts(table: pd.DataFrame) -> dict[tuple, str]:
    """Return of each model how many trials did not diverge, as in "5" or "4 to 5"."""
    trained = table[table["variant"].str.startswith("trial ") & (table["metric"] == "nll")]
    counts = trained.groupby([*_MODEL, "run"]).size().groupby(_MODEL).agg(["min", "max"])
    return {
        key: f"{most}" if fewest == most else f"{fewest} to {most}"
        for key, fewest, most in counts.itertuples()
    }


def _cells(part: pd.DataFrame) -> pd.DataFrame:
    """Return a part with the text of its cells, and with a rank, higher = better."""
    scale, sign = (part["metric"].map(lambda name, at=at: HEADINGS[name][at]) for at in (1, 2))
    patterns = scale.map({100: ".1f", 1: ".3f"})
    numbers = zip(scale * part["mean"], scale * part["std"], patterns, strict=True)
    names = [name for name in ("metric", "measure", *_LINE) if name in part]
    text = [mean_and_std(*one) for one in numbers]
    return part[[*names, "rows"]].assign(text=text, rank=sign * part["mean"])


def _norm(coefficient: float) -> str:
    return f"{coefficient:g}" if coefficient else "no"


def _name(table: pd.DataFrame, *columns: str) -> str:
    first = table.iloc[0].to_dict()
    first["spectral"] = normalised(first["spectral"]).lstrip("+") if "spectral" in first else ""
    return "-".join(filter(None, ["uimnet", *(first[column] for column in columns)]))


def _one(name: str, table: pd.DataFrame, *columns: str) -> dict:
    """Return the first row of a table in which these columns have one value each."""
    if table.empty:
        raise ValueError(f"{name}: empty")
    for column in columns:
        if table[column].nunique() > 1:
            several = ", ".join(map(str, table[column].unique()))
            raise ValueError(f"{name}: several of {column} ({several}); choose one")
    return table.iloc[0].to_dict()


def _styled(
    text: pd.DataFrame, best: pd.DataFrame, rows: pd.DataFrame, *, caption: str, name: str
) -> Styler:
    css = best.map(lambda yes: "font-weight: bold;" if yes else "")
    shown = Styler(text, uuid=name, caption=caption).set_table_styles(_LAYOUT)
    return traced(shown.apply(lambda _: css, axis=None), rows)


def _latex(
    text: pd.DataFrame, best: pd.DataFrame, rows: pd.DataFrame, path: str | os.PathLike,
    *, caption: str, name: str,
) -> None:  # fmt: skip
    text = text.map(latex_text)
    text = text.where(~best, r"\textbf{" + text + "}")
    write_latex(text, path, caption=caption, label=name)
