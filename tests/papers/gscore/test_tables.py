"""Tables of a made-up results table; the README shows the main tables."""

from itertools import product

import pandas as pd
import pytest

from helpers.papers.gscore import tables

SETS = {"waves": 0.9, "dice": 0.6, "maps": 0.3, "fire": 0.5, "fish": 0.5}  # and their FPR95
UDE = "msp/ude_wasserstein"


@pytest.fixture(scope="module")
def table(table_of):
    """Two runs with two predicted sets each."""
    cells = [("network", "accuracy", "test", "primary", 0, 0.7)]
    cells += [(UDE, "rmse_fpr95", "all", "primary", run, 0.03) for run in range(2)]
    for run, name in ((0, "waves"), (0, "maps"), (1, "dice"), (1, "maps")):
        cells.append((UDE, "predicted_fpr95", name, "primary", run, SETS[name] + 0.04))
    for variant, (name, value) in product(("meta", "test"), SETS.items()):
        truth = value if variant == "test" else 0.0
        cells.append(("msp", "fpr95", name, variant, 0, truth))
    names = ("method", "metric", "test_set", "variant", "run", "value")
    rows = [dict(zip(names, cell, strict=True)) | {"backbone": "resnet20"} for cell in cells]
    return table_of(rows, paper="gscore")


def test_means_are_over_the_sets_that_a_run_predicts(table):
    """The truths are of the same sets.  The first network of each data set replaces DLA."""
    other = table.assign(data_set="cifar100", row=[f"other {row}" for row in table["row"]])
    errors, means = tables.compare(pd.concat([table, other], ignore_index=True))
    assert {*errors["data_set"]} == {"cifar10_mini"}
    assert {*errors["paper_backbone"]} == {"DLA"}
    wide = means.set_index(["data_set", "metric"])
    assert wide["mean"]["cifar10_mini"].to_dict() == pytest.approx(
        {"accuracy": 0.7, "fpr95": (0.6 + 0.45) / 2, "predicted_fpr95": (0.64 + 0.49) / 2}
    )
    networks = wide["paper_backbone"].groupby("data_set").agg(set).to_dict()
    assert networks == {"cifar10_mini": {"ResNet-18"}, "cifar100": {"DLA"}}
    assert wide["paper"]["cifar100"].tolist() == pytest.approx([0.7136, 0.866, 0.8831])
    behind = table[table["row"].isin(wide["rows"]["cifar10_mini", "fpr95"].split())]
    pairs = {*zip(behind["test_set"], behind["variant"], strict=True)}
    assert pairs == {(name, "test") for name in ("waves", "dice", "maps")}
    with pytest.raises(ValueError, match="table: no predictions"):
        tables.compare(table[table["metric"] == "fpr95"])
