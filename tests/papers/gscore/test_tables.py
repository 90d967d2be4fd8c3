"""Tables of a made-up results table; the README shows the main tables."""

from itertools import product

import pandas as pd
import pytest

from helpers.papers.gscore import tables

RMSE = {"kmeans_l2": 0.08, "ude_wasserstein": 0.03, "ude_l2": 0.05, "confidence": 0.4}
SETS = {"waves": 0.9, "dice": 0.6, "maps": 0.3, "fire": 0.5, "fish": 0.5}  # and their FPR95
UDE = "msp/ude_wasserstein"


@pytest.fixture(scope="module")
def table(table_of):
    """Two detectors, one of them in the paper, and two runs with two predicted sets each."""
    cells = [("network", "accuracy", "test", "primary", 0, 0.7)]
    for run, detector in product(range(2), ("gen", "msp")):
        for (evaluator, value), metric in product(RMSE.items(), ("fpr95", "auroc", "aupr")):
            method = f"{detector}/{evaluator}"
            value = value + 0.01 * run
            cells.append((method, f"rmse_{metric}", "all", "primary", run, value))
    for run, name in ((0, "waves"), (0, "maps"), (1, "dice"), (1, "maps")):
        cells.append((UDE, "predicted_fpr95", name, "primary", run, SETS[name] + 0.04))
    for variant, (name, value) in product(("meta", "test"), SETS.items()):
        truth = value if variant == "test" else 0.0
        cells.append(("msp", "fpr95", name, variant, 0, truth))
    names = ("method", "metric", "test_set", "variant", "run", "value")
    rows = [dict(zip(names, cell, strict=True)) | {"backbone": "resnet20"} for cell in cells]
    return table_of(rows, paper="gscore")


def test_errors_of_evaluators_are_above_the_numbers_of_the_paper(table):
    """Baselines are first, the lowest error of a column is bold, and our cells name their rows."""
    part = tables.compare(table)[0]
    styled = tables.rmse(part)
    frame = styled.frame()
    both = [*product(("confidence", "k-means + ℓ2", "UDE + Wasserstein"), ("ours", "paper"))]
    assert frame.index.tolist() == [*both[:4], ("UDE + ℓ2", "ours"), *both[4:]]
    assert frame.columns.tolist() == [*product(("FPR95", "AUROC"), ("MSP", "gen"))]
    assert frame["FPR95", "MSP"][both[4:]].tolist() == ["3.50 ± 0.71", "3.46 ± 0.63"]
    assert frame["FPR95", "gen"]["UDE + Wasserstein", "paper"] == "–"
    marks = styled.frame("html").map(lambda cell: cell.startswith("<b>"))
    assert marks.index[marks["AUROC", "MSP"]].tolist() == both[4:]
    rows = part.query("method == 'gen/ude_l2' and metric == 'rmse_auroc'")["rows"].item()
    assert f'title="rows {rows}"' in styled.html()
    for bad, message in (
        (pd.concat([part, part.assign(backbone="vit")]), "cells: several of backbone"),
        (part[part["metric"] == "none"], "table: no rmse_fpr95 or rmse_auroc"),
    ):
        with pytest.raises(ValueError, match=message):
            tables.rmse(bad)


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
