"""Tables over many networks, by hand."""

from itertools import product
from types import SimpleNamespace

import pandas as pd
import pytest

from helpers.papers.human_centric import tables
from helpers.papers.human_centric.parameters import PAPER_METHODS
from helpers.report import results

METHODS = {"msp": "MSP", "energy": "Energy", "ash": "ASH"}


def record(method, metric, test_set, value, *, model="resnet8", **others):
    cell = {"backbone": model, "method": method, "metric": metric, "test_set": test_set}
    return cell | {"value": value} | others


def test_the_zoo(table_of):
    """The lowest rate of a network is bold; a failed network comes last, with its message."""
    records = [record("network", "failed", "test", 1.0, model="vgg_8", notes="no <head> found")]
    for (size, model), run in product(enumerate(["resnet8", "vit4"]), range(2)):
        records.append(record("network", "accuracy", "test", 0.7, model=model, run=run))
        for place, method in enumerate(METHODS):
            rate = 0.2 + (size + place * (1 - 2 * size)) / 10 + 0.01 * run
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


def test_the_main_table_by_hand(table_of):
    """Means, ranks and counts over networks, and the rule that accepts every image."""
    records = []
    models = (("resnet8", 0.75, "msp"), ("vit4", 0.25, "vim"), ("vit4+augmix", 0.5, "dice"))
    for model, accuracy, best in models:
        network = {"model": model, "data_set": "cifar10"}
        records.append(record("network", "accuracy", "test", accuracy, **network))
        for method in PAPER_METHODS:
            error = 0.25 if method == best else 0.5
            for test_set in ("test", "mazes", "average"):
                records.append(record(method, "der99", test_set, error, **network))
            held_out = network | {"variant": "held-out threshold"}
            records.append(record(method, "der99", "average", 0.625, **held_out))
    parameters = SimpleNamespace(tier="mini", architectures=["resnet8", "vit4"],
                                 strategies=["augmix"], data_set="cifar10")  # fmt: skip
    frame = tables.main_table(table_of(records, paper="human_centric"), parameters).frame()
    assert frame.loc["MSP"].tolist() == ["37.5 (31.5)", "3.2 (3.2)", "1 (3)", "62.5", "50.0"]
    assert frame.loc["DICE"].tolist() == ["50.0 (60.0)", "5.5 (7.9)", "0 (0)", "62.5", "25.0"]
    # (1/4 + 1) / 2 and (3/4 + 1) / 2
    assert frame.loc["accept everything"].tolist() == ["75.0", "", "", "", ""]


def test_a_caption_counts_who_trained_the_networks():
    parameters = SimpleNamespace(architectures={"a8": {}}, strategies={"augmix": {}})
    words = tables._networks_in_words(["a8", "b.x", "b.x+augmix", "c+distilled"], parameters)
    assert words == "4 networks, 1 trained here, 2 that others trained, 1 fine-tuned from these"
