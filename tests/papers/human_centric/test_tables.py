"""Tables over many networks, by hand."""

from itertools import product

import pandas as pd
import pytest

from helpers.papers.human_centric import tables
from helpers.papers.parameters import load
from helpers.tables import results

METHODS = {"msp": "MSP", "energy": "Energy", "ash": "ASH"}


def record(method, metric, test_set, value, *, model="resnet8", **others):
    cell = {"backbone": model, "method": method, "metric": metric, "test_set": test_set}
    return cell | {"value": value} | others


def test_the_table_of_all_networks_marks_the_lowest_rate(table_of):
    """The lowest rate of a network is bold; a failed network comes last, with its message."""
    records = [record("network", "failed", "test", 1.0, model="vgg_8", notes="no <head> found")]
    for (size, model), run in product(enumerate(["resnet8", "vit4"]), range(2)):
        records.append(record("network", "accuracy", "test", 0.7, model=model, run=run))
        for index, method in enumerate(METHODS):
            rate = 0.2 + (size + index * (1 - 2 * size)) / 10 + 0.01 * run
            records.append(record(method, "der99", "average", rate, model=model, run=run))
    table = table_of(records, paper="human_centric")
    shown = tables.zoo(table, methods=METHODS)
    frame = shown.frame("html")
    assert frame.index.tolist() == ["resnet8", "vit4", "vgg_8"]
    assert frame.loc["resnet8"].tolist() == ["70.0", "<b>20.5</b>", "30.5", "40.5"]
    assert frame.loc["vit4"].str.startswith("<b>").tolist() == [False] * 3 + [True]
    assert frame.loc["vgg_8"].tolist() == ["–"] * 4
    assert shown.caption.endswith("Failed: vgg_8 (no <head> found).")
    other = table.assign(data_set="digits")
    both = pd.concat([table, other.assign(row=results.row_ids(other))])
    lines = [*product(("cifar10_mini", "digits"), frame.index)]
    assert tables.zoo(both, methods=METHODS).frame().index.tolist() == lines
    with pytest.raises(ValueError, match="table: no average der99 of these scores"):
        tables.zoo(table, methods={"gen": "GEN"})


def test_the_main_table_leaves_out_missing_scores_and_has_both_constant_rules(table_of):
    """A score that no network has is no line; a network that lacks a score is in no mean."""
    parameters = load("human_centric", "mini")
    records = []
    for model, share in (("resnet8", 0.75), ("resnet14", 0.5), ("vit2", 0.5)):
        records.append(record("network", "accuracy", "test", share, model=model))
        records.append(record("knn", "der99", "average", 0.125, model=model))
        for test_set in ("test", "digits", "average"):
            records.append(record("msp", "der99", test_set, 0.25, model=model))
    failed = {"metric": "failed", "test_set": "test", "notes": "it failed"}
    records[-4] |= failed  # KNN of vit2
    table = table_of(records, paper="human_centric")
    shown = tables.main_table(table, parameters)
    rows = shown.frame()
    assert rows.index.tolist() == ["MSP", "KNN", "accept everything", "reject everything"]
    # accuracies of 75 and 50 % on one of two sets: 31.25 % of the images are known
    column = [text.partition(" ")[0] for text in rows.iloc[:, 0]]
    assert column == ["25.0", "12.5", "68.8", "31.2"]
    assert shown.caption.startswith("Average DER99 (detection error rate) of 2 networks")
    assert shown.caption.endswith("Failed: knn of vit2 (it failed).")
    assert len(tables.each_network(table)["primary"].frame()) == 3
