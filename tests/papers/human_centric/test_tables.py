import re
from itertools import product
from types import SimpleNamespace

import pandas as pd
import pytest

from helpers.papers.human_centric import tables
from helpers.papers.human_centric.parameters import PAPER_METHODS
from helpers.report import published, results
from helpers.report.tables.comparisons import comparison, printed_alone

NAMES = {
    "published_as": {"cifar10_mini": "imagenet", "corrupted": "imagenet_c", "tiles": "textures"},
    "families": {"resnet8": "RN50"},
}
SETS = ["test", "corrupted", "tiles", "bubbles", "label-shifted", "average"]
ACCURACY = {"test": 0.7, "corrupted": 0.5}
SHOWN = ["msp", "energy", "knn", "ash"]  # the paper has no ASH
METHODS = {name: PAPER_METHODS.get(name, name.upper()) for name in SHOWN}


def record(method, metric, test_set, value, *, run=0, model="resnet8", **others):
    cell = {"backbone": model, "method": method, "metric": metric, "test_set": test_set}
    return cell | {"value": value, "run": run} | others


@pytest.fixture(scope="module")
def table(table_of):
    """Two models and one that failed; on resnet8 MSP is best in DER99, ASH in DER95."""
    failed = {"model": "vgg_8", "notes": "no <head> found"}
    records = [record("network", "failed", "test", 1.0, **failed)]
    for (size, model), run in product(enumerate(["resnet8", "vit4"]), range(2)):
        own = {"run": run, "model": model}
        for (place, method), (column, name) in product(enumerate(SHOWN), enumerate(SETS)):
            higher = (column + 0.2 * run) / 100
            rate = 0.2 + (size + place * (1 - 2 * size)) / 10 + higher
            records.append(record(method, "der99", name, rate, **own))
            records.append(record(method, "der95", name, 0.2 - place / 100 + higher, **own))
        for name, share in ACCURACY.items():
            records.append(record("network", "accuracy", name, share, **own))
    return table_of(records, paper="human_centric")


@pytest.fixture(scope="module")
def printed():
    return published.with_averages(published.load("human_centric"))


@pytest.fixture(scope="module")
def part(table, printed):
    own = table[table["backbone"] == "resnet8"]
    return comparison(own, printed, **NAMES)


def error_rates(part, table):
    return tables.error_rates(part, table, methods=METHODS)


def test_the_layout_is_the_papers(part, table, printed):
    """Scores in the paper's order, ours above the paper's; sets in the paper's order, then ours.

    The paper's numbers are those of the model and the set that ours stand in for.
    """
    frame = error_rates(part, table).frame()
    assert frame.index.tolist() == [
        *product(("MSP", "Energy", "KNN"), ("ours", "paper")),
        ("ASH", "ours"),
        ("accept everything", "ours"),
    ]
    assert [" ".join(names).strip() for names in frame] == [
        "tiles for textures", "test", "corrupted for imagenet_c", "bubbles", "average",
    ]  # fmt: skip
    assert frame.loc[("Energy", "ours"), ("bubbles", "")] == "33.10 | 22.10"
    assert frame.loc[("MSP", "paper"), ("bubbles", "")] == "–"
    own = printed[(printed["backbone"] == "RN50") & (printed["method"] == "knn")]
    own = own.set_index(["test_set", "metric"])["value"] * 100
    shown = frame.loc[("KNN", "paper")]
    for ours, theirs in (("tiles", "textures"), ("average", "average")):
        plain = re.sub("<.*?>", "", shown[ours].item())
        assert plain == f"{own[theirs, 'der99']:.2f} | {own[theirs, 'der95']:.2f}"
    assert shown["average"].item().startswith("70.34")
    # 1 - accuracy where there is one, all images of a label-shifted set, and their mean
    line = frame.loc[("accept everything", "ours")]
    assert line.tolist() == ["100.00", "30.00", "50.00", "100.00", "70.00"]
    without = table[table["metric"] != "accuracy"]
    assert "accept everything" not in error_rates(part, without).html()


def test_the_lowest_of_a_column_is_bold(part, table):
    """DER99 and DER95 each, among ours and among the paper's; both name their rows."""
    shown = error_rates(part, table)
    frame = shown.frame("html")
    assert frame.loc[("MSP", "ours"), ("test", "")] == "<b>20.10</b> | 20.10"
    assert frame.loc[("ASH", "ours"), ("test", "")] == "50.10 | <b>17.10</b>"
    theirs = frame[("test", "")].xs("paper", level=1)
    assert theirs["MSP"].startswith("<b>") and not theirs["KNN"].startswith("<b>")
    cell = part[(part["test_set"] == "tiles") & (part["method"] == "knn")].set_index("metric")
    rows = f"{cell.loc['der99', 'rows']} {cell.loc['der95', 'rows']}"
    assert f'title="rows {rows}"' in shown.html()


def test_the_caption_says_what_is_compared(part, table, printed):
    """Tier, runs and the paper's table are named, or that one of both is not there."""
    assert error_rates(part, table).caption == (
        "cifar10_mini with resnet8, tier mini: means over 2 runs, above the paper's Table 1, "
        "imagenet with RN50. Below a test set that stands in for one of the paper, that one is "
        "named. DER99 | DER95 in per cent ↓; bold: lowest of the column."
    )
    own = comparison(table[table["backbone"] == "vit4"], printed, published_as={}, families={})
    assert "the paper has no such table" in error_rates(own, table).caption
    alone = printed_alone(printed[printed["backbone"] == "Swin-B"])
    shown = error_rates(alone, table)
    assert shown.frame().index.tolist() == [(title, "paper") for title in ("MSP", "Energy", "KNN")]
    assert shown.frame().shape[1] == 9 and "alone: there is no run" in shown.caption


def test_the_zoo(table, table_of):
    """A line for each model with its best score marked; what failed comes last, with its message.

    The same model on another data set has a line of its own.
    """
    shown = tables.zoo(table, methods=METHODS)
    frame = shown.frame("html")
    assert frame.index.tolist() == ["resnet8", "vit4", "vgg_8"]
    assert frame.columns.tolist() == ["accuracy ↑", *METHODS.values()]
    assert frame.loc["resnet8"].tolist() == ["70.0", "<b>25.1</b>", "35.1", "45.1", "55.1"]
    assert frame.loc["vit4"].str.startswith("<b>").tolist() == [False] * 4 + [True]
    assert frame.loc["vgg_8"].tolist() == ["–"] * 5
    assert shown.caption.endswith("Not evaluated: vgg_8 (no <head> found).")
    lacking = {"model": "vit4", "notes": "no folder"}
    lacking = table_of([record("network", "failed", "sun", 1.0, **lacking)], paper="human_centric")
    both = tables.zoo(pd.concat([table, lacking]), methods=METHODS)
    assert both.frame("html").equals(frame)  # a set that is not there is no model that failed
    assert "Not at hand, and in no mean: sun (no folder)." in both.caption
    evaluated = table[table["metric"] != "failed"]
    assert "Not evaluated" not in tables.zoo(evaluated, methods=METHODS).caption
    lost = {"notes": "no image of class 2"}
    records = [record("rmds", "failed", "test", 1.0, model=one, **lost) for one in frame.index[:2]]
    more = tables.zoo(pd.concat([table, table_of(records, paper="human_centric")]), methods=METHODS)
    assert more.caption.endswith("Could not be had: rmds of resnet8, vit4 (no image of class 2).")
    assert len(more.frame()) == 3
    other = table.assign(data_set="digits")
    both = pd.concat([table, other.assign(row=results.row_ids(other))])
    lines = [*product(("cifar10_mini", "digits"), frame.index)]
    assert tables.zoo(both, methods=METHODS).frame().index.tolist() == lines


def test_bad_input(part, table):
    """Nothing to show is refused by name."""
    with pytest.raises(ValueError, match="part: no detection error rate of these scores"):
        tables.error_rates(part, table, methods={"gen": "GEN"})
    with pytest.raises(ValueError, match="part: empty"):
        error_rates(part.iloc[:0], table)
    with pytest.raises(ValueError, match="table: no average der99 of these scores"):
        tables.zoo(table, methods={"gen": "GEN"})


def test_the_main_table_by_hand(table_of):
    """Means, ranks and counts over networks, and the rule that accepts all.

    One by a strategy has a column of its own.
    """
    records = []
    models = (("resnet8", 0.75, "msp"), ("vit4", 0.25, "vim"), ("vit4+augmix", 0.5, "dice"))
    for model, accuracy, best in models:
        own = {"model": model, "data_set": "cifar10"}
        records.append(record("network", "accuracy", "test", accuracy, **own))
        for method in PAPER_METHODS:
            error = 0.25 if method == best else 0.5
            for test_set in ("test", "mazes", "average"):
                records.append(record(method, "der99", test_set, error, **own))
            held = own | {"variant": "held-out threshold"}
            records.append(record(method, "der99", "average", 0.625, **held))
    parameters = SimpleNamespace(tier="mini", architectures=["resnet8", "vit4"],
                                 strategies=["augmix"], data_set="cifar10")  # fmt: skip
    shown = tables.main_table(table_of(records, paper="human_centric"), parameters)
    assert "2 networks trained here" in shown.caption and "right on 25 to 75 %" in shown.caption
    assert "label-shifted: mazes." in shown.caption
    frame = shown.frame()
    assert frame.loc["MSP"].tolist() == ["37.5 (31.5)", "3.2 (3.2)", "1 (3)", "62.5", "50.0"]
    assert frame.loc["DICE"].tolist() == ["50.0 (60.0)", "5.5 (7.9)", "0 (0)", "62.5", "25.0"]
    assert "of 1 network trained here, each by one of the paper's strategies" in shown.caption
    # (1/4 + 1) / 2 and (3/4 + 1) / 2
    assert frame.loc["accept everything"].tolist() == ["75.0", "", "", "", ""]


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["a8", "a14+augmix"], "2 networks trained here"),
        (["b.x"], "1 network that others trained"),
        (["a8", "b.x", "b.x+augmix", "c+distilled"],
         "4 networks, 1 trained here, 2 that others trained, 1 fine-tuned from these"),
    ],
)  # fmt: skip
def test_a_caption_says_who_trained_the_networks(names, words):
    parameters = SimpleNamespace(architectures={"a8": {}, "a14": {}}, strategies={"augmix": {}})
    assert tables._networks_in_words(names, parameters) == words


def test_near_and_far_sets_have_a_table_of_their_own(table, table_of):
    """Means over models; the best of a column is bold."""
    rates = {"msp": 0.5, "energy": 0.25}
    records = [
        record(name, metric, place, rate + ("far" in place) / 10, model=model)
        for (name, rate), metric, place, model in product(
            rates.items(), ("der99", "auroc"), ("near", "far"), ("a", "b")
        )
    ]
    made = tables.near_and_far(table_of(records, paper="human_centric"), methods=METHODS)
    frame = made.frame()
    assert frame.index.tolist() == ["MSP", "Energy"]
    assert frame.to_numpy().tolist() == [
        ["50.0", "60.0", "50.0", "60.0"], ["25.0", "35.0", "25.0", "35.0"],
    ]  # fmt: skip
    cells = made.cells.set_index(["method", "column"])["bold"]
    assert cells.xs("Energy").tolist() == [
        name.startswith("DER99") for name in cells.xs("Energy").index
    ]
    with pytest.raises(ValueError, match="no means over near and far sets"):
        tables.near_and_far(table, methods=METHODS)
