import re

import pandas as pd
import pytest

from helpers.papers import all_tables as tables
from helpers.papers.human_centric.roles import PAPER_METHODS
from helpers.report import published, results

MADE = {
    "seed": 0,
    "parameters": "0" * 12,
    "code": "0.1.0+0",
    "versions": "{}",
    "device": "cpu, 1 thread",
    "seconds": 1.0,
}
NAMES = {
    "published_as": {"cifar10_mini": "imagenet", "corrupted": "imagenet_c", "tiles": "textures"},
    "families": {"resnet8": "RN50"},
}
SETS = ["test", "corrupted", "tiles", "bubbles", "label-shifted", "average"]
ACCURACY = {"test": 0.7, "corrupted": 0.5}
SHOWN = ["msp", "energy", "knn", "ash"]  # the paper has no ASH
METHODS = {name: PAPER_METHODS.get(name, name.upper()) for name in SHOWN}


def record(method, metric, test_set, value, *, run=0, model="resnet8", **others):
    return {
        "tier": "mini",
        "paper": "human_centric",
        "data_set": "cifar10_mini",
        "backbone": model,
        "images": 100,
        "method": method,
        "metric": metric,
        "test_set": test_set,
        "value": value,
        "run": run,
    } | others


@pytest.fixture(scope="module")
def table():
    """Two models and one that failed; on resnet8 MSP is best in DER99, ASH in DER95."""
    records = []
    for size, model in enumerate(["resnet8", "vit4"]):
        for run in range(2):
            own = {"run": run, "model": model}
            for place, method in enumerate(SHOWN):
                for column, test_set in enumerate(SETS):
                    higher = (column + 0.2 * run) / 100
                    rate = 0.2 + (size + place * (1 - 2 * size)) / 10 + higher
                    records.append(record(method, "der99", test_set, rate, **own))
                    rate = 0.2 - place / 100 + higher
                    records.append(record(method, "der95", test_set, rate, **own))
            for test_set, share in ACCURACY.items():
                records.append(record("network", "accuracy", test_set, share, **own))
    failed = {"model": "vgg_8", "notes": "no <head> found"}
    records.append(record("network", "failed", "test", 1.0, **failed))
    return results.tidy(records, MADE)


@pytest.fixture(scope="module")
def printed():
    return published.with_averages(published.load("human_centric"))


@pytest.fixture(scope="module")
def part(table, printed):
    own = table[table["backbone"] == "resnet8"]
    return tables.comparison(own, printed, **NAMES)


def styled(part, table):
    return tables.error_rates_styler(part, table, methods=METHODS)


def test_the_layout_is_the_papers(part, table):
    """Scores in the paper's order, ours above the paper's; sets in the paper's order, then ours."""
    frame = styled(part, table).data
    assert frame.index.tolist() == [
        *((title, who) for title in ("MSP", "Energy", "KNN") for who in ("ours", "paper")),
        ("ASH", "ours"),
        ("accept everything", "ours"),
    ]
    assert frame.columns.tolist() == [
        ("tiles", "for textures"),
        ("test", ""),
        ("corrupted", "for imagenet_c"),
        ("bubbles", ""),
        ("average", ""),
    ]
    assert frame.loc[("Energy", "ours"), ("bubbles", "")] == "33.10 | 22.10"
    assert frame.loc[("MSP", "paper"), ("bubbles", "")] == "–"


def test_the_papers_numbers_are_its_own(part, table, printed):
    """Those of the model and the set that ours stand in for, and an average of its cells."""
    frame = styled(part, table).data
    own = printed[(printed["backbone"] == "RN50") & (printed["method"] == "knn")]
    own = own.set_index(["test_set", "metric"])["value"] * 100
    shown = frame.loc[("KNN", "paper")]
    for ours, theirs in (("tiles", "textures"), ("average", "average")):
        plain = re.sub("<.*?>", "", shown[ours].item())
        assert plain == f"{own[theirs, 'der99']:.2f} | {own[theirs, 'der95']:.2f}"
    assert shown["average"].item().startswith("70.34")


def test_accepting_everything_errs_where_the_model_does(part, table):
    """1 - accuracy where there is one, all images of a label-shifted set, and their mean."""
    line = styled(part, table).data.loc[("accept everything", "ours")]
    assert line.tolist() == ["100.00", "30.00", "50.00", "100.00", "70.00"]
    without = table[table["metric"] != "accuracy"]
    assert "accept everything" not in styled(part, without).to_html()


def test_the_lowest_of_a_column_is_bold(part, table, tmp_path):
    """DER99 and DER95 each, among ours and among the paper's, on the page and in LaTeX."""
    frame = styled(part, table).data
    assert frame.loc[("MSP", "ours"), ("test", "")] == "<b>20.10</b> | 20.10"
    assert frame.loc[("ASH", "ours"), ("test", "")] == "50.10 | <b>17.10</b>"
    theirs = frame[("test", "")].xs("paper", level=1)
    assert theirs["MSP"].startswith("<b>") and not theirs["KNN"].startswith("<b>")
    path = tmp_path / "table.tex"
    tables.error_rates_to_latex(part, table, path, methods=METHODS)
    latex = path.read_text(encoding="utf-8")
    assert latex.isascii() and r"\textbf{20.10} $\mid$ 20.10" in latex and "<b>" not in latex
    assert [latex.count(rule) for rule in (r"\toprule", r"\midrule", r"\bottomrule")] == [1, 1, 1]


def test_the_page(part, table):
    """The same HTML each time, rows named under the pointer, and no colour set."""
    page = styled(part, table).to_html()
    assert page == styled(part, table).to_html()
    cell = part[(part["test_set"] == "tiles") & (part["method"] == "knn")].set_index("metric")
    assert f'title="rows {cell.loc["der99", "rows"]} {cell.loc["der95", "rows"]}"' in page
    assert not re.search(r"color|background|#[0-9a-f]{3}", page)


def test_the_caption_says_what_is_compared(part, table, printed):
    """Tier, runs and the paper's table are named, or that one of both is not there."""
    assert tables.error_rates_caption(part) == (
        "cifar10_mini with resnet8, tier mini: means over 2 runs, above the paper's Table 1, "
        "imagenet with RN50. DER99 | DER95 in per cent ↓; bold: lowest of the column. Below a "
        "test set that stands in for one of the paper, that one is named."
    )
    own = tables.comparison(
        table[table["backbone"] == "vit4"], printed, published_as={}, families={}
    )
    assert "the paper has no such table" in tables.error_rates_caption(own)
    alone = tables.printed_alone(printed[printed["backbone"] == "Swin-B"])
    frame = tables.error_rates_styler(alone, table, methods=METHODS).data
    assert frame.index.tolist() == [(title, "paper") for title in ("MSP", "Energy", "KNN")]
    assert frame.shape[1] == 9 and "alone: there is no run" in tables.error_rates_caption(alone)


def test_the_zoo(table, tmp_path):
    """A line for each model with its best score marked; one that failed comes last."""
    shown = tables.zoo_styler(table, methods=METHODS)
    assert shown.data.index.tolist() == ["resnet8", "vit4", "vgg_8"]
    assert shown.data.columns.name is None  # a page would head the models with it
    assert shown.data.columns.tolist() == ["accuracy ↑", *METHODS.values()]
    assert shown.data.loc["resnet8"].tolist() == ["70.0", "25.1", "35.1", "45.1", "55.1"]
    assert shown.data.loc["vgg_8"].tolist() == ["–"] * 5
    tables.zoo_to_latex(table, tmp_path / "zoo.tex", methods=METHODS)
    latex = (tmp_path / "zoo.tex").read_text(encoding="utf-8")
    marked = {
        line.split(" & ")[0]: [cell.startswith(r"\textbf") for cell in line.split(" & ")[2:]]
        for line in latex.splitlines()
        if " & " in line and line[0] != "&"
    }
    assert marked["resnet8"] == [True, False, False, False]
    assert marked["vit4"] == [False, False, False, True]  # there the order is reversed
    assert not any(marked[r"vgg\_8"])


def test_the_zoo_says_what_went_wrong(table):
    """The message of a model that failed is in the caption, and is no HTML."""
    assert tables.zoo_caption(table).endswith("Not evaluated: vgg_8 (no <head> found).")
    page = tables.zoo_styler(table, methods=METHODS).to_html()
    assert "no &lt;head&gt; found" in page and "<head>" not in page
    assert not re.search(r"color|background|#[0-9a-f]{3}", page)
    evaluated = table[table["metric"] != "failed"]
    assert "Not evaluated" not in tables.zoo_caption(evaluated)


def test_a_score_that_could_not_be_had_is_no_model_that_failed(table):
    """Several models with the same trouble are named together."""
    records = [
        record("rmds", "failed", "test", 1.0, model=model, notes="no image of class 2")
        for model in ("resnet8", "vit4")
    ]
    more = pd.concat([table, results.tidy(records, MADE)])
    said = tables.zoo_caption(more)
    assert said.endswith("Could not be had: rmds of resnet8, vit4 (no image of class 2).")
    assert len(tables.zoo_styler(more, methods=METHODS).data) == 3


def test_the_zoo_on_several_data_sets(table):
    """The same model on another data set has a line of its own."""
    other = table.assign(data_set="digits")
    both = pd.concat([table, other.assign(row=results.row_ids(other))])
    frame = tables.zoo_styler(both, methods=METHODS).data
    assert frame.index.tolist()[:3] == [
        ("cifar10_mini", "resnet8"),
        ("cifar10_mini", "vit4"),
        ("digits", "resnet8"),
    ]
    assert len(frame) == 6


def test_bad_input(part, table):
    """Nothing to show is refused by name."""
    with pytest.raises(ValueError, match="part: no detection error rate of these scores"):
        tables.error_rates_styler(part, table, methods={"gen": "GEN"})
    with pytest.raises(ValueError, match="part: empty"):
        tables.error_rates_caption(part.iloc[:0])
    with pytest.raises(ValueError, match="table: no average der99 of these scores"):
        tables.zoo_styler(table, methods={"gen": "GEN"})
