"""Tables of calibration errors in the layout of Lyu et al. (2022), with their numbers."""

from collections.abc import Sequence

import pandas as pd

from helpers.papers import content_of
from helpers.papers.openset_calibration import PAPER
from helpers.tables import comparisons, printed_numbers, results
from helpers.tables.table import Table, categories, numbers

TEXTS = content_of(__file__, "tables")
OPENMAX = "open-set + OpenMax"
#: Metrics of the paper's tables, with their titles.
METRICS = {"ece": "ECE", "accuracy": "accuracy", "brier": "Brier score"}
#: Where the numbers of a table come from.
SOURCES = ("this build", "whole test set", "paper")
#: The variant in which OpenMax rejects as many held-out images as the threshold.
MATCHED = "matched tail"


def name_tail(rows: pd.DataFrame, tail: str) -> pd.DataFrame:
    """Return rows that name the tail of OpenMax, on which its numbers depend."""
    return rows.replace({"method": {OPENMAX: f"{OPENMAX}, {tail} tail"}})


def main_table(table: pd.DataFrame, parameters) -> Table:
    """Return the ECE of the first data set and network, with the paper's Table I in brackets.

    OpenMax is shown with the matched tail, as its claim tests it, if the table has this variant.
    """
    errors = table[table["metric"] == "ece"]
    primary = errors[errors["variant"] == "primary"]
    matched = errors[errors["variant"] == MATCHED]
    if len(matched):
        others = primary[~primary["method"].isin(matched["method"])]
        primary = pd.concat([others, matched]).assign(variant="primary")
    backbone = primary["backbone"].iloc[0]
    data_set = primary["data_set"].iloc[0]
    primary = primary[(primary["backbone"] == backbone) & (primary["data_set"] == data_set)]
    family = PAPER.networks.get(backbone, "ResNet")
    printed = printed_numbers.load("openset_calibration")
    printed = printed[(printed["data_set"] == "CIFAR10") & (printed["backbone"] == family)]
    compared = comparisons.comparison(
        primary,
        printed,
        published_as={data_set: "CIFAR10"},
        families={backbone: family},
    )
    compared = name_tail(compared, "matched" if len(matched) else "usual")
    titles = {"before": "before temperature scaling", "after": "after"}
    cells = compared.assign(
        text=comparisons.numbers_beside(compared, 1, ".3f"),
        calibration=categories(compared["calibration"], titles),
    )
    recipe = getattr(parameters, "training", {}) | parameters.networks[backbone]
    article = "an" if family[0] in "AEIOU" else "a"
    caption = TEXTS["caption"].format(
        data_set=data_set,
        tier=parameters.tier,
        backbone=backbone,
        stem=f"stem stride {recipe['stem_stride']}, " if "stem_stride" in recipe else "",
        epochs=recipe["epochs"],
        runs=comparisons.runs_in_words(compared),
        family=f"{article} {family}",
        table=printed["table"].iloc[0],
        matched=TEXTS["matched"] if len(matched) else "",
    )
    name = comparisons.name_of(compared)
    caption = caption.rstrip()
    return Table(cells, ["method"], ["calibration"], name=name, caption=caption, data=compared)


def beside(
    build: pd.DataFrame, committed: pd.DataFrame, backbone: str, metrics: Sequence[str]
) -> Table:
    """Return a network's numbers of a build, of the whole test set and of the paper.

    The numbers of the build, if it has any, have 95 % intervals over the test images; those of the
    whole set have standard deviations over the runs.
    """
    family = PAPER.networks[backbone]
    printed = printed_numbers.load("openset_calibration")
    printed = printed[(printed["data_set"] == "CIFAR10") & (printed["backbone"] == family)]
    paper = printed.assign(mean=printed["value"], variant="primary", rows="")
    paper = paper[paper["metric"].isin(metrics)]
    here = _of_network(build, backbone, metrics)
    whole = _of_network(committed, backbone, metrics)
    if len(here):
        whole = whole[whole["run"].isin(here["run"])]
    parts = [results.summary(whole), paper]
    texts = [numbers(part) for part in parts]
    if len(here):
        parts = [results.summary(here), *parts]
        texts = [_with_intervals(here), *texts]
    sources = SOURCES[-len(parts) :]
    named = zip(parts, texts, sources, strict=True)
    cells = pd.concat([part.assign(text=text, source=source) for part, text, source in named])
    cells = cells.reset_index(drop=True)
    titles = {name: METRICS[name] for name in metrics}
    usual = cells["variant"] == "primary"
    method = cells["method"].where(usual, f"{OPENMAX}, {MATCHED}")
    cells = cells.assign(
        line=method + ": " + cells["calibration"],
        metric=categories(cells["metric"], titles),
        source=categories(cells["source"], SOURCES),
    )
    runs = whole["run"].nunique()
    caption = TEXTS["beside" if len(here) else "committed"].format(
        backbone=backbone,
        runs="1 run" if runs == 1 else f"means over {runs} runs",
        family=family,
        table=printed["table"].iloc[0],
    )
    name = f"{backbone}-{'-'.join(metrics)}"
    return Table(cells, ["line"], ["metric", "source"], name=name, caption=caption, data=cells)


def _of_network(table: pd.DataFrame, backbone: str, metrics: Sequence[str]) -> pd.DataFrame:
    """Return the rows of a network of the primary variant, and of OpenMax with the matched tail."""
    here = (table["backbone"] == backbone) & table["metric"].isin(metrics)
    return table[here & table["variant"].isin(["primary", MATCHED])]


def _with_intervals(rows: pd.DataFrame) -> list[str]:
    """Return the mean of each number over runs with the 95 % interval over test images."""
    groups = rows.groupby([name for name in results.IDENTITY if name != "run"], sort=False)
    texts = []
    for _, part in groups:
        low, high = results.interval_of_mean(part)
        texts.append(f"{part['value'].mean():.3f} [{low:.3f}, {high:.3f}]")
    return texts
