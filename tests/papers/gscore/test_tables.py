"""Tables and skills of a made-up results table."""

from itertools import product

import pandas as pd
import pytest

from helpers.papers import load
from helpers.papers.gscore import tables
from helpers.papers.gscore.skills import METRIC_TITLES, pooled_skill, set_errors, skills
from helpers.report import published
from helpers.report.tables.comparisons import printed_alone

RMSE = {"kmeans_l2": 0.08, "ude_wasserstein": 0.03, "ude_l2": 0.05, "confidence": 0.4}
SETS = {"waves": 0.9, "dice": 0.6, "maps": 0.3, "fire": 0.5, "fish": 0.5}  # and their FPR95
UDE = "msp/ude_wasserstein"


def record(method, metric, value, **others):
    return {"test_set": "all", "method": method, "metric": metric, "value": value} | others


@pytest.fixture(scope="module")
def table(table_of):
    """Two detectors, of which the paper has one; two runs, each with two sets to predict."""
    records = [record("network", "accuracy", 0.7, test_set="test")]
    for run, detector in product(range(2), ("gen", "msp")):
        for (evaluator, value), metric in product(RMSE.items(), ("fpr95", "auroc", "aupr")):
            errors = f"{detector}/{evaluator}", f"rmse_{metric}", value + 0.01 * run
            records.append(record(*errors, run=run))
    for run, name in ((0, "waves"), (0, "maps"), (1, "dice"), (1, "maps")):
        cell = {"value": SETS[name] + 0.04, "run": run, "test_set": name}
        records.append(record(UDE, "predicted_fpr95", **cell))
    for variant, name in product(("meta", "test"), SETS):
        value, place = SETS[name] if variant == "test" else 0.0, {"test_set": name}
        records.append(record("msp", "fpr95", value, variant=variant, **place))
        gscores = 5.0 + (variant == "meta") * [*SETS].index(name)
        for method in ("msp/ude_l2", UDE):  # the second has stored predictions
            records.append(record(method, "gscore", gscores, variant=variant, **place))
    return table_of(records, paper="gscore")


def test_errors_of_evaluators_stand_above_the_papers(table):
    """Baselines first; the lowest of a column is bold; a cell of ours names its rows."""
    part = tables.compare(table)[0]
    styled = tables.rmse(part)
    frame = styled.frame()
    both = [(name, source) for name in ("confidence", "k-means + ℓ2", "UDE + Wasserstein")
            for source in ("ours", "paper")]  # fmt: skip
    assert frame.index.tolist() == [*both[:4], ("UDE + ℓ2", "ours"), *both[4:]]
    assert frame.columns.tolist() == [*product(("FPR95", "AUROC"), ("MSP", "gen"))]
    assert frame["FPR95", "MSP"][both[4:]].tolist() == ["3.50 ± 0.71", "3.46 ± 0.63"]
    assert frame["FPR95", "gen"]["UDE + Wasserstein", "paper"] == "–"
    marks = styled.frame("html").map(lambda cell: cell.startswith("<b>"))
    assert marks.index[marks["AUROC", "MSP"]].tolist() == both[4:]
    own = part[(part["method"] == "gen/ude_l2") & (part["metric"] == "rmse_auroc")]
    assert f'title="rows {own["rows"].item()}"' in styled.html()
    alone = tables.rmse(printed_alone(published.load("gscore").query("table in ['1', '6']")))
    assert len(alone.frame()) == 7 and {name for _, name in alone.frame().index} == {"paper"}
    for bad, message in (
        (pd.concat([part, part.assign(backbone="vit")]), "part: several of backbone"),
        (part[part["metric"] == "none"], "part: no rmse_fpr95 or rmse_auroc"),
    ):
        with pytest.raises(ValueError, match=message):
            tables.rmse(bad)


def test_means_are_over_the_sets_that_a_run_predicts(table):
    """The truths are of the same sets.  The first network of each data set stands for DLA."""
    other = table.assign(data_set="cifar100", row=[f"other {row}" for row in table["row"]])
    own, means = tables.compare(pd.concat([table, other], ignore_index=True))
    assert set(own["data_set"]) == {"cifar10_mini"} and set(own["paper_backbone"]) == {"DLA"}
    wide = means.set_index(["data_set", "metric"])
    assert wide["mean"]["cifar10_mini"].to_dict() == pytest.approx(
        {"accuracy": 0.7, "fpr95": (0.6 + 0.45) / 2, "predicted_fpr95": (0.64 + 0.49) / 2}
    )
    assert wide["paper_backbone"].groupby("data_set").unique().map(list).to_dict() == {
        "cifar10_mini": ["ResNet-18"], "cifar100": ["DLA"],
    }  # fmt: skip
    assert wide["paper"]["cifar100"].tolist() == pytest.approx([0.7136, 0.866, 0.8831])
    behind = table[table["row"].isin(wide["rows"]["cifar10_mini", "fpr95"].split())]
    assert set(behind["test_set"]) == {"waves", "dice", "maps"} and set(behind["variant"]) == {
        "test"
    }
    with pytest.raises(ValueError, match="table: no predictions"):
        tables.compare(table[table["metric"] == "fpr95"])


def test_the_main_table_has_means_over_networks(table):
    """Of the first detector; the paper's number in brackets."""
    parameters = load("gscore", "mini", repeats=2)
    truths = table.assign(metric=table["metric"].where(table["variant"] != "test", "auroc"))
    shown = tables.main_table(truths, parameters)
    assert shown.frame().index.tolist() == ["confidence", "k-means + ℓ2", "UDE + Wasserstein"]
    assert shown.frame().loc["UDE + Wasserstein"].tolist() == ["3.5 (3.5)", "3.5 (3.6)"]
    published = truths.assign(backbone="resnet20.akamaster_cifar10")
    caption = tables.main_table(pd.concat([published, truths]), parameters).caption
    assert "and 1 network that others have trained on cifar10_mini (70 to 70 % right)" in caption
    assert "mixed with each of 5 unlabelled data sets; tier `mini`, 8 epochs." in caption


def test_skills_are_of_stored_predictions_or_of_a_line(table):
    """Truths 0.9, 0.6 and 0.3 are missed by 0.04 each; the constant and the line are 0."""
    errors = set_errors(table, [*METRIC_TITLES])
    assert len(errors) == 2 * 2 * 2 and set(errors["metric"]) == {"fpr95"}
    found = skills(errors).set_index("evaluator")
    value = 1 - 4 * 0.04**2 / (0.9**2 + 0.6**2 + 2 * 0.3**2)
    assert found["value"].to_dict() == pytest.approx({"ude_wasserstein": value, "ude_l2": 0})
    assert found["text"]["ude_wasserstein"].startswith(f"{value:.2f} [")
    assert found["text"]["ude_l2"].endswith("no better than guessing")
    assert pooled_skill(errors[:4]) == found["text"]["ude_wasserstein"]
    assert pooled_skill(errors[:2]) == "" and skills(errors[:0]).empty
