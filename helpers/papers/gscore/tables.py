"""Tables of the evaluation without labels, as those of Zhang et al. 2023: ours above the paper's.

Numbers are in per cent, but for correlations.  No colour is set, so that the page's light or dark
theme decides.  Under the pointer, a cell of ours names the rows of the results table behind it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

import pandas as pd
from pandas.io.formats.style import Styler

from helpers.labelfree import EVALUATORS
from helpers.papers.gscore import PAPER
from helpers.papers.gscore.protocol import DETECTORS
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
from helpers.report.tables.comparisons import comparison, one_table, runs_in_words

METRIC_TITLES = {
    "detection_error": "detection error",
    "fpr95": "FPR95",
    "fpr80": "FPR80",
    "fpr60": "FPR60",
    "auroc": "AUROC",
    "aupr": "AUPR",
}
"""The metrics that are predicted, in the order of the paper's Table 4, and how they are called."""

EVALUATOR_TITLES = {
    "confidence": "confidence",
    "auto_evaluation": "auto-evaluation",
    **EVALUATORS,
}
"""The evaluators and before them the baselines, and how they are called."""

_PROPOSED = "ude_wasserstein"
_MAIN_DATA_SET, _MAIN_NETWORK = "CIFAR-10", "DLA"
_RMSE = ("rmse_fpr95", "rmse_auroc")
_CORRELATIONS = {"pearson": "Pearson", "spearman": "Spearman"}
_NETWORKS = {
    "accuracy": f"ACC {UP} (%)",
    "fpr95": f"FPR95 {DOWN}, true (%)",
    "predicted_fpr95": "FPR95, predicted (%)",
}
_LAYOUT = [
    *LAYOUT,
    {"selector": "tbody th", "props": "white-space: nowrap; text-align: left;"},
    {"selector": "tbody th", "props": "vertical-align: top; font-weight: normal;"},
]


def rmse_styler(part: pd.DataFrame) -> Styler:
    """Return the root-mean-square errors of all evaluators, as they are shown on a page.

    Each evaluator has a row of ours (mean ± standard deviation over runs) and below it the paper's;
    one of the two is left out where it has no number.  Columns are detectors, for FPR95 and then
    for AUROC.  The lowest of a column is bold, among ours and among the paper's.

    Parameters
    ----------
    part : DataFrame
        The rows of one data set and backbone of a `comparison`, or of `printed_alone`; other
        metrics are left out.

    Raises
    ------
    ValueError
        `part` has no such number, or several data sets or backbones.
    """
    caption, name = rmse_caption(part), _name(part, "rmse")
    return _styled(*_rmse(part), caption=caption, name=name)


def rmse_to_latex(part: pd.DataFrame, path: str | os.PathLike) -> None:
    """Write the table of `rmse_styler` for LaTeX (needs the package booktabs)."""
    caption, name = rmse_caption(part), _name(part, "rmse")
    _latex(*_rmse(part), path, caption=caption, name=name)


def rmse_caption(part: pd.DataFrame) -> str:
    """Return a complete caption for the table of `rmse_styler`."""
    own = _of(part, _RMSE)
    return (
        f"{_beside(own)} Root-mean-square error over the test sets of predicted FPR95 and AUROC"
        f" {DOWN}, in points. Bold: lowest of the column."
    )


def correlations_styler(part: pd.DataFrame, *, evaluator: str = _PROPOSED) -> Styler:
    """Return the correlations of Gscores with the six metrics, as they are shown on a page.

    Rows are Pearson's and Spearman's correlation over the meta-training sets for each detector,
    ours (mean ± standard deviation over runs) and below it the paper's; columns are metrics.

    Parameters
    ----------
    part : DataFrame
        The rows of one data set and backbone of a `comparison`, or of `printed_alone`; other
        metrics and evaluators are left out.
    evaluator : str
        Whose Gscores.

    Raises
    ------
    ValueError
        `part` has no such number, or several data sets or backbones.
    """
    caption = correlations_caption(part, evaluator=evaluator)
    name = _name(part, f"correlations-{evaluator}")
    return _styled(*_correlations(part, evaluator), caption=caption, name=name)


def correlations_to_latex(
    part: pd.DataFrame, path: str | os.PathLike, *, evaluator: str = _PROPOSED
) -> None:
    """Write the table of `correlations_styler` for LaTeX (needs the package booktabs)."""
    caption = correlations_caption(part, evaluator=evaluator)
    name = _name(part, f"correlations-{evaluator}")
    _latex(*_correlations(part, evaluator), path, caption=caption, name=name)


def correlations_caption(part: pd.DataFrame, *, evaluator: str = _PROPOSED) -> str:
    """Return a complete caption for the table of `correlations_styler`."""
    own = _of_evaluator(part, evaluator)
    return (
        f"{_beside(own)} Correlation of the Gscore by {EVALUATOR_TITLES[evaluator]} with each"
        " metric, over the meta-training sets."
    )


def over_test_sets(table: pd.DataFrame) -> pd.DataFrame:
    """Return predictions and truths as means over the test sets of each run, for a `comparison`.

    Parameters
    ----------
    table : DataFrame
        A results table of *Unsupervised Evaluation of Out-of-distribution Detection*, of one tier.

    Returns
    -------
    DataFrame
        The columns of `helpers.report.results.IDENTITY`, ``value`` and ``row``, the names of the
        rows behind it, separated by spaces.  ``predicted_METRIC`` of DETECTOR/EVALUATOR, ``METRIC``
        of the detector on the same sets, both on the test set "all"; and the rows of the network's
        accuracy as they are.

    Raises
    ------
    ValueError
        The table has no predictions, or lacks the truth of one.
    """
    predicted = table[
        table["metric"].str.startswith("predicted_") & (table["variant"] == "primary")
    ]
    if predicted.empty:
        raise ValueError("table: no predictions")
    true = table[table["variant"] == "test"].assign(variant="primary")
    asked = predicted.assign(
        metric=predicted["metric"].str.removeprefix("predicted_"),
        method=predicted["method"].str.partition("/")[0],
    )
    where = [name for name in results.IDENTITY if name != "run"]
    # one truth answers several evaluators' predictions of a set
    asked = asked[[*where, "run"]].drop_duplicates()
    found = asked.merge(true[[*where, "value", "row"]], how="left", on=where)
    if found["value"].isna().any():
        one = found[found["value"].isna()].iloc[0]
        raise ValueError(
            f"table: no {one['metric']} of {one['method']} on {one['test_set']}, which is predicted"
        )
    both = pd.concat([found, predicted]).assign(test_set="all")
    means = both.groupby(list(results.IDENTITY), sort=False, as_index=False).agg(
        value=("value", "mean"), row=("row", " ".join)
    )
    accuracy = table[(table["method"] == "network") & (table["metric"] == "accuracy")]
    return pd.concat([accuracy[means.columns], means], ignore_index=True)


def rows_beside(table: pd.DataFrame) -> list[tuple[pd.DataFrame, Mapping[str, str]]]:
    """Return the rows of a results table that the paper prints the like of, with their networks.

    The first network of a table stands for DLA in correlations and errors, and on all data sets
    but CIFAR-10, where the paper has no other network.
    """
    primary = table[table["variant"] == "primary"]
    own = primary["metric"].str.contains("^(?:rmse|pearson|spearman)_")
    first = primary["backbone"] == primary["backbone"].iloc[0]
    dla = dict.fromkeys(primary.loc[first, "backbone"], _MAIN_NETWORK)
    means = over_test_sets(table)
    several = means["data_set"].map(PAPER.data_sets) == _MAIN_DATA_SET
    return [
        (primary[own & first], dla), (means[several], PAPER.networks), (means[~several], dla)
    ]  # fmt: skip


def networks_comparison(
    table: pd.DataFrame,
    published: pd.DataFrame,
    *,
    published_as: Mapping[str, str],
    nearest: Mapping[str, str],
) -> pd.DataFrame:
    """Put `over_test_sets` of a results table beside the paper's Tables 2 and 3.

    Parameters
    ----------
    table : DataFrame
        As for `over_test_sets`.
    published, published_as
        As for `comparison`.
    nearest : mapping of str to str
        The paper's network for each of ours on CIFAR-10 (Table 2).  On other data sets the paper
        has one network, which stands beside all of ours (Table 3).

    Returns
    -------
    DataFrame
        As from `comparison`.

    Raises
    ------
    ValueError
        As for `over_test_sets` and `comparison`.
    """
    found = []
    for name, own in over_test_sets(table).groupby("data_set", sort=False):
        main = published_as.get(name) == _MAIN_DATA_SET
        families = nearest if main else dict.fromkeys(own["backbone"], _MAIN_NETWORK)
        found.append(comparison(own, published, published_as=published_as, families=families))
    return pd.concat(found, ignore_index=True)


def networks_styler(part: pd.DataFrame) -> Styler:
    """Return accuracy and true and predicted FPR95 of networks, as they are shown on a page.

    Each data set and backbone has a row of ours (mean ± standard deviation over runs) and below
    it the paper's, if it has one to set beside it.

    Parameters
    ----------
    part : DataFrame
        Of a `networks_comparison`, of `printed_alone`, or both; metrics and methods
        but for MSP with UDE + Wasserstein are left out.

    Raises
    ------
    ValueError
        `part` has no such number.
    """
    return _styled(*_networks(part), caption=networks_caption(part), name=_tiers(part))


def networks_to_latex(part: pd.DataFrame, path: str | os.PathLike) -> None:
    """Write the table of `networks_styler` for LaTeX (needs the package booktabs)."""
    _latex(*_networks(part), path, caption=networks_caption(part), name=_tiers(part))


def networks_caption(part: pd.DataFrame) -> str:
    """Return a complete caption for the table of `networks_styler`."""
    own = _of_networks(part)
    ours = own[own["runs"] > 0]
    text = f"Ours: {runs_in_words(ours)} and over test sets. " if len(ours) else ""
    return (
        f"{text}Paper: {_tables(own)}. FPR95 of MSP, true and as foretold by"
        f" {EVALUATOR_TITLES[_PROPOSED]}."
    )


def _rmse(part: pd.DataFrame) -> tuple[pd.DataFrame, ...]:
    """Lay out text, marks of the lowest, and rows behind: evaluators down, detectors across."""
    both = _both(_of(part, _RMSE), scale=100, pattern=".2f")
    wide = both.set_index(["evaluator", "source", "metric", "detector"])
    wide = wide[["text", "mean", "rows"]].unstack(["metric", "detector"])
    lines = [(name, source) for name in EVALUATOR_TITLES for source in ("ours", "paper")]
    lines = [line for line in lines if line in wide.index]
    columns = [(metric, name) for metric in _RMSE for name in _detectors(both)]
    columns = [column for column in columns if column in wide["text"]]
    text, means, rows = (wide[kind].loc[lines, columns] for kind in ("text", "mean", "rows"))
    groups = means.groupby(level="source")
    best = means.eq(groups.transform("min")) & groups.transform("min").lt(groups.transform("max"))
    heads = [
        (METRIC_TITLES[metric.removeprefix("rmse_")], DETECTORS.get(name, name))
        for metric, name in columns
    ]
    names = [(EVALUATOR_TITLES[name], source) for name, source in lines]
    return _titled((text.fillna(ABSENT), best, rows), names, heads)


def _correlations(part: pd.DataFrame, evaluator: str) -> tuple[pd.DataFrame, ...]:
    """Lay out text, no marks, and rows behind: detectors and correlations down, metrics across."""
    own = _both(_of_evaluator(part, evaluator), scale=1, pattern=".3f")
    kind = own["metric"].str.partition("_")
    own = own.assign(kind=kind[0], metric=kind[2])
    wide = own.set_index(["detector", "kind", "source", "metric"])[["text", "rows"]].unstack()
    lines = [
        (detector, kind, source)
        for detector in _detectors(own)
        for kind in _CORRELATIONS
        for source in ("ours", "paper")
        if (detector, kind, source) in wide.index
    ]
    columns = [name for name in METRIC_TITLES if name in wide["text"]]
    text, rows = (wide[kind].loc[lines, columns] for kind in ("text", "rows"))
    names = [(DETECTORS.get(one, one), _CORRELATIONS[kind], source) for one, kind, source in lines]
    return _titled(
        (text.fillna(ABSENT), text.isna() & False, rows),
        names,
        [METRIC_TITLES[one] for one in columns],
    )


def _networks(part: pd.DataFrame) -> tuple[pd.DataFrame, ...]:
    """Lay out text, no marks, and rows behind: networks down, metrics across."""
    own = _both(_of_networks(part), scale=100, pattern=".2f")
    place = ["data_set", "backbone"]
    ours = own["source"] == "ours"
    theirs = own["paper_data_set"] + ", " + own["paper_backbone"]
    same = theirs == own["data_set"] + ", " + own["backbone"]
    own["source"] = own["source"].where(ours | same, "paper, " + theirs)
    wide = own.set_index([*place, "source", "metric"])[["text", "rows"]].unstack()
    groups = own[[*place, "source"]].drop_duplicates().groupby(place, sort=False)
    lines = [line for _, one in groups for line in one.itertuples(index=False, name=None)]
    columns = [name for name in _NETWORKS if name in wide["text"]]
    text, rows = (wide[kind].loc[lines, columns] for kind in ("text", "rows"))
    return _titled(
        (text.fillna(ABSENT), text.isna() & False, rows), lines, [_NETWORKS[one] for one in columns]
    )


def _of(part: pd.DataFrame, metrics: tuple[str, ...]) -> pd.DataFrame:
    """Return the rows of these metrics, with detector and evaluator apart."""
    own = part[part["metric"].isin(metrics)]
    if own.empty:
        raise ValueError(f"part: no {' or '.join(metrics)}")
    names = own["method"].str.partition("/")
    return own.assign(detector=names[0], evaluator=names[2])


def _of_evaluator(part: pd.DataFrame, evaluator: str) -> pd.DataFrame:
    metrics = tuple(f"{kind}_{name}" for kind in _CORRELATIONS for name in METRIC_TITLES)
    own = _of(part, metrics)
    own = own[own["evaluator"] == evaluator]
    if own.empty:
        raise ValueError(f"part: no correlation of {evaluator}")
    return own


def _of_networks(part: pd.DataFrame) -> pd.DataFrame:
    own = _of(part, tuple(_NETWORKS))
    methods = {"accuracy": "network", "fpr95": "msp", "predicted_fpr95": f"msp/{_PROPOSED}"}
    own = own[(own["method"] == own["metric"].map(methods)) & own["test_set"].isin(["all", "test"])]
    if own.empty:
        raise ValueError(f"part: no accuracy or FPR95 of msp and msp/{_PROPOSED}")
    return own


def _both(part: pd.DataFrame, *, scale: float, pattern: str) -> pd.DataFrame:
    """Return our numbers and the paper's one below the other, with the text of their cells."""
    ours = part.assign(source="ours")
    theirs = part.assign(source="paper", mean=part["paper"], std=part["paper_std"], rows="")
    both = pd.concat([ours, theirs], ignore_index=True).dropna(subset="mean")
    numbers = zip(scale * both["mean"], scale * both["std"], strict=True)
    return both.assign(text=[mean_and_std(mean, std, pattern) for mean, std in numbers])


def _detectors(part: pd.DataFrame) -> list[str]:
    """Return the detectors that are there, those of the paper first."""
    found = set(part["detector"])
    return [name for name in dict.fromkeys([*DETECTORS, *part["detector"]]) if name in found]


def _titled(frames: tuple[pd.DataFrame, ...], lines: list, heads: list) -> tuple:
    index = pd.MultiIndex.from_tuples(lines)
    nested = isinstance(heads[0], tuple)
    columns = pd.MultiIndex.from_tuples(heads) if nested else pd.Index(heads)
    return tuple(frame.set_axis(index).set_axis(columns, axis=1) for frame in frames)


def _beside(part: pd.DataFrame) -> str:
    """Return the beginning of a caption: what is ours, and what is the paper's."""
    first = one_table(part)
    theirs = f"{_tables(part)}, {first['paper_data_set']} with {first['paper_backbone']}"
    ours = f"{first['data_set']} with {first['backbone']}, tier {first['tier']}"
    if not first["runs"]:
        return f"The paper's {theirs}, alone: there is no run of ours at this scale."
    if first["table"]:
        return f"{ours}: {runs_in_words(part)}, above the paper's {theirs}."
    return f"{ours}: {runs_in_words(part)}; the paper has no such table."


def _tables(part: pd.DataFrame) -> str:
    numbers = sorted({number for number in part["table"] if number})
    return f"Table{'s' * (len(numbers) > 1)} {' and '.join(numbers)}" if numbers else "no table"


def _name(part: pd.DataFrame, what: str) -> str:
    first = one_table(part)
    names = ["gscore", first["tier"], first["data_set"], first["backbone"], what]
    return "-".join(filter(None, names))


def _tiers(part: pd.DataFrame) -> str:
    return "-".join(filter(None, ["gscore", *sorted(part["tier"].unique()), "networks"]))


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
    text = text.where(~best, r"\textbf{" + text + "}").rename(index=_ell)
    write_latex(text, path, caption=_ell(caption), label=name)


def _ell(title: str) -> str:
    """Return the title of an evaluator by its distance as LaTeX has it."""
    return title.replace("\N{SCRIPT SMALL L}2", r"$\ell$2")
