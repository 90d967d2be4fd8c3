"""Tables of unknown detection, as in Kim et al. 2023: our numbers next to the paper's."""

import pandas as pd

from helpers.papers.unknown_detection import PAPER, composition
from helpers.papers.unknown_detection.methods import TEXTS
from helpers.papers.unknown_detection.parameters import METHODS
from helpers.tables import comparisons, printed_numbers, results
from helpers.tables.table import Table, categories, numbers


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
    both = comparisons.comparison(
        table,
        composition.printed(printed_numbers.load("unknown_detection")),
        published_as=PAPER.published_as,
        families=PAPER.networks,
    )
    both = both[both["paper"].notna()]
    rows = comparisons.stack_sources(both)
    columns = []
    for metric, test_set, head, scale, pattern in TEXTS["main"]["columns"]:
        column = rows[(rows["metric"] == metric) & (rows["test_set"] == test_set)]
        columns.append(column.assign(text=numbers(column, scale, pattern), head=head))
    cells = pd.concat(columns)
    cells["method"] = categories(cells["method"], METHODS)
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
    return Table(cells, ["method"], ["head", "source"], name=name, caption=caption)


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
