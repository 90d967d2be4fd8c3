"""Tables of unknown detection, as in Kim et al. 2023: our numbers above the paper's."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from helpers.checks import known_name
from helpers.papers.unknown_detection import PAPER, composition
from helpers.papers.unknown_detection.methods import RECORDS, title
from helpers.papers.unknown_detection.parameters import METHODS
from helpers.report import published
from helpers.report.table import DOWN, TIMES, UP, Table, categories, mark_best, numbers
from helpers.report.tables import comparisons

_ASIDE = [name for name, method in RECORDS.items() if method.aside]
_HEADINGS = {  # heading, scale, and 1 if more is better, -1 if less is better
    "accuracy": (f"ACC {UP} (%)", 100, 1),
    "aurc": (f"AURC {DOWN} ({TIMES}1000)", 1000, -1),
    "eaurc": (f"E-AURC {DOWN} ({TIMES}1000)", 1000, -1),
    "fpr_at_tpr": (f"FPR at 95 % TPR {DOWN} (%)", 100, -1),
    "auroc": (f"AUROC {UP} (%)", 100, 1),
}
_TASKS = {  # of AURC and E-AURC
    "union": "unknown detection",
    composition.PAPER_UNION: "unknown detection, the paper's shares",
    "test": "misclassification",
}
_MAIN = {  # heading, scale, pattern
    ("accuracy", "test"): ("accuracy, %", 100, ".1f"),
    ("aurc", "union"): ("AURC × 1000, unknown detection", 1000, ".0f"),
    ("aurc", composition.PAPER_UNION): ("the same, the paper's shares of images", 1000, ".0f"),
    ("eaurc", "union"): ("E-AURC × 1000, unknown detection", 1000, ".0f"),
    ("aurc", "test"): ("AURC × 1000, misclassification", 1000, ".0f"),
    ("auroc", "near"): ("AUROC near-OOD, %", 100, ".1f"),
}


def beside(table: pd.DataFrame) -> pd.DataFrame:
    """Return a `comparison` of a results table with the paper's numbers, E-AURC among them.

    Rows without a number of the paper are left out, except for further methods on the paper's test
    sets; scores that are no confidence have AUROC and FPR alone.  The column ``precision`` says
    how the networks were trained.
    """
    paper = composition.printed(published.load("unknown_detection"))
    both = comparisons.comparison(
        composition.with_excess(table),
        paper,
        published_as=PAPER.published_as,
        families=PAPER.networks,
    )
    cell = ["data_set", "backbone", "test_set", "metric"]
    printed = pd.MultiIndex.from_frame(paper[cell])
    cell = [f"paper_{name}" for name in cell[:3]] + cell[3:]
    more = pd.MultiIndex.from_frame(both[cell]).isin(printed) & ~both["method"].isin(METHODS)
    more &= ~both["method"].isin(_ASIDE) | both["metric"].isin(["auroc", "fpr_at_tpr"])
    return both[both["paper"].notna() | more].assign(precision=precision(table))


def detection(part: pd.DataFrame, *, metrics: Sequence[str]) -> Table:
    """Return a table of one data set and backbone of a `comparison`, or of `printed_alone`.

    Each method has a row of ours (mean ± standard deviation over runs) and below it the paper's.
    In ours and in the paper's rows the best of a column is bold, and the best without Outlier
    Exposure, the one method trained with outliers, underlined.
    """
    for metric in metrics:
        known_name("metric", metric, _HEADINGS)
    part = part[part["metric"].isin(list(metrics))]
    if part.empty:
        raise ValueError("part: no number of these metrics")
    titles = METHODS | {name: title(name) for name in part["method"].unique()}
    cells, sets = comparisons.head_stand_ins(comparisons.stack_sources(part))
    _, scale, sign = zip(*cells["metric"].map(_HEADINGS), strict=True)
    rank = cells["mean"] * list(sign)
    among = [cells[name] for name in ("source", "metric", "test_set")]
    areas = cells["metric"].isin(["aurc", "eaurc"])
    tasks = cells["test_set"].where(~areas, cells["test_set"].replace(_TASKS))
    cells = cells.assign(
        text=numbers(cells, pd.Series(scale), ".2f"),
        bold=mark_best(rank, *among),
        underlined=mark_best(rank.where(cells["method"] != "outlier_exposure"), *among),
        method=categories(cells["method"], titles),
        metric=categories(cells["metric"], {name: _HEADINGS[name][0] for name in metrics}),
        test_set=categories(tasks, [*_TASKS.values(), "test", "near"]),  # then all others
    )
    marks = "Bold: best of the column; underlined: best without Outlier Exposure."
    if "smoothness" in set(part["method"]):
        marks += (
            f" {title('smoothness')} asks no network: what lies far from 50 % by it, on either"
            " side, can be told apart without one."
        )
    return Table(
        cells,
        ["method", "source"],
        ["metric", *sets],
        name=comparisons.name_of(part, *metrics),
        caption=" ".join([comparisons.caption_of(part), *part.get("precision", [])[:1], marks]),
        data=part,
    )


def precision(table: pd.DataFrame) -> str:
    """Return a sentence about the numbers in which networks were trained, from their devices.

    >>> precision(pd.DataFrame({"device": ["cpu, 1 thread", "NVIDIA H200", "none"]}))
    'Trained with float32 (cpu, 1 thread), bfloat16 (NVIDIA H200); the paper with float32.'
    >>> precision(pd.DataFrame({"device": ["NVIDIA H200, float32"]}))
    'Trained with float32 (NVIDIA H200); the paper with float32.'
    """
    words = []
    for device in table["device"].unique():
        plain = "float32" if device.startswith("cpu") else "bfloat16"
        named = next((p for p in ("float32", "bfloat16") if f", {p}" in device), plain)
        words += [f"{named} ({device.replace(f', {named}', '')})"] * (device != "none")
    return f"Trained with {', '.join(words) or 'a precision not known'}; the paper with float32."


def main_table(table: pd.DataFrame, parameters) -> Table:
    """Return accuracy, AURC and near AUROC of the methods, the paper's of Table 5 in brackets."""
    table = table[table["variant"] == "primary"]
    both = beside(table)
    both = both[~both["method"].isin(_ASIDE)]
    parts = []
    for (metric, test_set), (head, scale, pattern) in _MAIN.items():
        part = both[(both["metric"] == metric) & (both["test_set"] == test_set)]
        text = comparisons.numbers_beside(part, scale, pattern)
        parts.append(part.assign(text=text, head=head))
    cells = pd.concat(parts)
    titles = METHODS | {name: title(name) for name in cells["method"].unique()}
    cells["method"] = categories(cells["method"], titles)
    recipe = parameters.training | parameters.networks[parameters.network]
    stem = f"stem stride {recipe['stem_stride']}, " if "stem_stride" in recipe else ""
    caption = (
        f"Part of {parameters.data_set} known, the rest of its classes near-OOD, "
        f"{', '.join(parameters.far)} far-OOD; tier `{parameters.tier}` ({parameters.network}, "
        f"{stem}{recipe['epochs']} epochs): {comparisons.runs_in_words(cells)}; in brackets "
        "the paper's, at its full schedule and with its own far-OOD sets (its Table 5). An AURC "
        "grows with the share of unknown images, of which the paper's union has more; E-AURC is "
        f"what exceeds the least that any ranking could have. {precision(table)}"
    )
    if frozen := comparisons.frozen_in_words(parameters, table):
        caption += f" {frozen}"
    name = comparisons.name_of(both, "main")
    return Table(cells, ["method"], ["head"], name=name, caption=caption, data=both)
