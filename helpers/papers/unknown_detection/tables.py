"""Tables of unknown detection, as in Kim et al. 2023: our numbers next to the paper's."""

import pandas as pd

from helpers.files import project_root
from helpers.papers.unknown_detection import PAPER, composition
from helpers.papers.unknown_detection.methods import RECORDS, TEXTS, title
from helpers.papers.unknown_detection.parameters import METHODS
from helpers.tables import comparisons, printed_numbers, results
from helpers.tables.table import Table, categories, numbers

_ASIDE = [name for name, method in RECORDS.items() if method.aside]


def beside(table: pd.DataFrame) -> pd.DataFrame:
    """Return a `comparison` of a results table with the paper's numbers, E-AURC among them.

    Rows without a number of the paper are left out, except for further methods on the paper's test
    sets.  Scores that are not confidences have only AUROC and FPR.  The column ``precision``
    describes how the networks were trained.
    """
    paper = composition.printed(printed_numbers.load("unknown_detection"))
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
        named = [kind for kind in ("float32", "bfloat16") if f", {kind}" in device]
        kind = named[0] if named else plain
        if device != "none":
            words.append(f"{kind} ({device.replace(f', {kind}', '')})")
    kinds = ", ".join(words) or "a precision not known"
    return f"Trained with {kinds}; the paper with float32."


def main_table(table: pd.DataFrame, parameters) -> Table:
    """Return accuracy, AURC and near AUROC of the methods, next to the paper's of Table 5."""
    table = table[table["variant"] == "primary"]
    network = parameters.network
    both = beside(table)
    both = both[~both["method"].isin(_ASIDE)]
    rows = comparisons.stack_sources(both)
    columns = []
    for metric, test_set, head, scale, pattern in TEXTS["main"]["columns"]:
        column = rows[(rows["metric"] == metric) & (rows["test_set"] == test_set)]
        columns.append(column.assign(text=numbers(column, scale, pattern), head=head))
    cells = pd.concat(columns)
    titles = METHODS | {name: title(name) for name in cells["method"].unique()}
    cells["method"] = categories(cells["method"], titles)
    cells["source"] = categories(cells["source"], comparisons.SOURCES)
    recipe = parameters.training | parameters.networks[network]
    caption = TEXTS["main"]["caption"].format(
        data_set=parameters.data_set,
        far=", ".join(parameters.far),
        tier=parameters.tier,
        network=network,
        stem=f"stem stride {recipe['stem_stride']}, " if "stem_stride" in recipe else "",
        epochs=recipe["epochs"],
        runs=comparisons.runs_in_words(both),
        precision=precision(table),
    )
    name = comparisons.name_of(both, "main")
    return Table(cells, ["method"], ["head", "source"], name=name, caption=caption, data=both)


def whole_sets(parameters, table: pd.DataFrame) -> pd.DataFrame:
    """Return the committed rows on whole sets; own rows if the networks are not finished ones."""
    if parameters.finished is None:
        return table
    return results.read(
        project_root() / "results" / parameters.finished / "unknown_detection.parquet"
    )


def side_by_side(table: pd.DataFrame, whole: pd.DataFrame) -> pd.DataFrame:
    """Return the numbers of a table with their intervals, on the whole sets, and of the paper.

    Numbers are means over runs.  ``low`` and ``high`` are the 95 % interval over the test images.
    """
    cell = ["method", "metric", "test_set"]
    rows = []
    for names, group in table[table["variant"] == "primary"].groupby(cell, sort=False):
        low, high = results.interval_of_mean(group)
        numbers = {"slice": group["value"].mean(), "low": low, "high": high}
        rows.append(dict(zip(cell, names, strict=True)) | numbers)
    both = pd.DataFrame(rows).set_index(cell)
    (data_set,) = set(table["data_set"])
    printed = printed_numbers.load("unknown_detection")
    printed = printed[printed["data_set"] == PAPER.data_sets.get(data_set, "")]
    paper = composition.printed(printed)
    both["whole sets"] = whole[whole["variant"] == "primary"].groupby(cell)["value"].mean()
    both["paper"] = paper.groupby(cell)["value"].mean()
    return both.reset_index()
