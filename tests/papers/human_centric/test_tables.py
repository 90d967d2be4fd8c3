"""Tables over many networks, by hand."""

from itertools import product

import pandas as pd
import pytest

from helpers.files import project_root
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
    """A score that no network has is no line; a network that lacks a score is in no mean.

    Averages weigh test images, input-shifted sets and label-shifted sets 1:3:4.
    """
    parameters = load("human_centric", "mini")
    records = []
    for model, share in (("resnet8", 0.75), ("resnet14", 0.5), ("vit2", 0.5)):
        records.append(record("network", "accuracy", "test", share, model=model))
        records.append(record("network", "accuracy", "corrupted", 0.25, model=model))
        for test_set in ("test", "input-shifted", "label-shifted", "digits", "average"):
            unknown = 0.5 * (test_set == "label-shifted")
            for metric, added in (("der95", 0.25), ("der99", 0)):
                records.append(record("msp", metric, test_set, unknown + added, model=model))
                records.append(record("knn", metric, test_set, 0.125, model=model))
    failed = {"metric": "failed", "test_set": "test", "notes": "it failed"}
    records = [each for each in records if (each["method"], each["backbone"]) != ("knn", "vit2")]
    records.append(record("knn", "failed", "test", 1.0, model="vit2") | failed)
    table = table_of(records, paper="human_centric")
    shown = tables.main_table(table, parameters)
    rows = shown.frame()
    assert rows.index.tolist() == ["MSP", "KNN", "accept everything", "reject everything"]
    # the two networks with both scores are correct on 62.5 % of the test images
    rejecting = (62.5 + 3 * 25) / 8
    for name, msp in (("DER95", "50.0"), ("DER99", "25.0")):
        column = rows[name].tolist()
        assert column == [msp, "12.5", f"{100 - rejecting:.1f}", f"{rejecting:.1f}"]
    # the paper's number is in the next column, and each cell has one number
    assert [*rows.columns] == ["DER95", "DER95 (paper)", "DER99", "DER99 (paper)"]
    assert not rows.apply(lambda cells: cells.str.contains(r"[ (;]")).any(axis=None)
    assert shown.caption.startswith("Average detection error rate (DER) of 2 networks")
    assert shown.caption.endswith("Failed: knn of vit2 (it failed).")
    assert len(tables.each_network(table)["primary"].frame()) == 3


def test_the_papers_tables_have_the_error_of_rejecting_everything():
    """It follows from printed cells, and is within about a point of published accuracies.

    Of the weights that others publish for a network, the nearest ones count.  The paper's
    networks whose weights are known differ by at most 1.2 points.
    """
    cases = tables.printed_cases()
    folder = project_root() / "helpers" / "papers" / "human_centric"
    published = pd.read_csv(folder / "published_errors.csv", comment="#")
    published = published.pivot(index=["backbone", "weights"], columns="test_set", values="error")
    corrupted = pd.read_csv(folder / "corrupted_errors.csv", comment="#").query("severity <= 2")
    corrupted = corrupted.drop(columns=["corruption", "severity"]).mean()
    for name in corrupted.index:
        errors = published.loc[name].sum(axis=1) + corrupted[name]
        rejecting = (400 - errors) / 800
        assert (rejecting - cases.loc[name, tables.REJECT]).abs().min() < 0.012
