"""Tables of calibration errors in the layout of Lyu et al. (2022), with their numbers."""

import pandas as pd

from helpers.files import content_of
from helpers.papers.openset_calibration import PAPER
from helpers.tables import comparisons, printed_numbers
from helpers.tables.table import Table, categories, numbers

TEXTS = content_of(__file__, "tables")
OPENMAX = "open-set + OpenMax"
#: The variant in which OpenMax rejects about as many held-out images as the threshold.
MATCHED = "matched tail"


def main_table(table: pd.DataFrame, parameters) -> Table:
    """Return the ECE of the first data set and network, next to the paper's Table I.

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
    tail = "matched" if len(matched) else "usual"  # the numbers of OpenMax depend on it
    compared = compared.replace({"method": {OPENMAX: f"{OPENMAX}, {tail} tail"}})
    titles = {"before": "before temperature scaling", "after": "after"}
    rows = comparisons.stack_sources(compared)
    cells = rows.assign(
        text=numbers(rows, 1, ".3f"),
        calibration=categories(rows["calibration"], titles),
        source=categories(rows["source"], comparisons.SOURCES),
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
    columns = ["calibration", "source"]
    return Table(cells, ["method"], columns, name=name, caption=caption.rstrip())
