from itertools import product

import pandas as pd
import pytest

from helpers.papers import load
from helpers.papers.gscore import tables
from helpers.papers.gscore.skills import skills_of
from helpers.report import published
from helpers.report.tables.comparisons import printed_alone

RMSE = {"kmeans_l2": 0.08, "ude_wasserstein": 0.03, "ude_l2": 0.05, "confidence": 0.4}
SETS = {"waves": 0.9, "dice": 0.6, "maps": 0.3}  # and their FPR95


def record(method, metric, value, **others):
    return {"test_set": "all", "method": method, "metric": metric, "value": value} | others


@pytest.fixture(scope="module")
def table(table_of):
    """Two detectors, of which the paper has one; two runs, each with two sets to predict."""
    records, proposed = [record("network", "accuracy", 0.7, test_set="test")], "ude_wasserstein"
    for run, detector in product(range(2), ("gen", "msp")):
        for (evaluator, value), metric in product(RMSE.items(), ("fpr95", "auroc", "aupr")):
            errors = f"{detector}/{evaluator}", f"rmse_{metric}", value + 0.01 * run
            records.append(record(*errors, run=run))
        for kind, metric in product(("pearson", "spearman"), tables.METRIC_TITLES):
            name, value = f"{kind}_{metric}", -0.9 + 0.1 * run
            records.append(record(f"{detector}/{proposed}", name, value, run=run))
    for run, name in ((0, "waves"), (0, "maps"), (1, "dice"), (1, "maps")):
        cell = {"value": SETS[name] + 0.04, "run": run, "test_set": name}
        records.append(record(f"msp/{proposed}", "predicted_fpr95", **cell))
    for variant, name in product(("meta", "test"), SETS):
        value = SETS[name] if variant == "test" else 0.0
        records.append(record("msp", "fpr95", value, test_set=name, variant=variant))
    return table_of(records, paper="gscore")


@pytest.fixture(scope="module")
def part(table):
    return tables.compare(table)[0]


def test_errors_of_evaluators_stand_above_the_papers(part):
    """Baselines first; a detector or an evaluator that the paper lacks has no number of it.

    The lowest of a column is bold, ours and the paper's; a cell of ours names its rows.
    """
    styled = tables.rmse(part)
    frame = styled.frame()
    both = [(name, source) for name in ("confidence", "k-means + ℓ2", "UDE + Wasserstein")
            for source in ("ours", "paper")]  # fmt: skip
    lines = [("constant", "ours"), *both[:4], ("UDE + ℓ2", "ours"), *both[4:]]
    assert frame.index.tolist() == lines
    assert frame.columns.tolist() == [*product(("FPR95", "AUROC"), ("MSP", "gen"))]
    assert frame["FPR95", "MSP"][both[4:]].tolist() == ["3.50 ± 0.71", "3.46 ± 0.63"]
    assert frame["FPR95", "gen"]["UDE + Wasserstein", "paper"] == "–"
    marks = styled.frame("html").map(lambda cell: cell.startswith("<b>"))
    assert marks.index[marks["AUROC", "MSP"]].tolist() == both[4:]
    assert marks.index[marks["AUROC", "gen"]].tolist() == both[4:5]
    own = part[(part["method"] == "gen/ude_l2") & (part["metric"] == "rmse_auroc")]
    assert f'title="rows {own["rows"].item()}"' in styled.html()


def test_correlations_have_the_six_metrics_across(part):
    """Pearson's above Spearman's, ours above the paper's."""
    styled = tables.correlations(part)
    frame = styled.frame()
    assert frame.columns.tolist() == list(tables.METRIC_TITLES.values())
    assert frame.index.map("/".join).tolist() == [
        "MSP/Pearson/ours", "MSP/Pearson/paper", "MSP/Spearman/ours", "MSP/Spearman/paper",
        "gen/Pearson/ours", "gen/Spearman/ours",
    ]  # fmt: skip
    assert frame.loc[("MSP", "Pearson", "ours"), "FPR95"] == "−0.850 ± 0.071"
    assert frame.loc[("MSP", "Pearson", "paper"), "FPR95"] == "−0.977"
    assert frame.loc[("MSP", "Spearman", "paper"), "AUPR"] == "0.794"


def test_means_over_test_sets_are_of_the_sets_that_a_run_predicts(table):
    """Truths are taken on the same sets, mixed with test images; rows are named."""
    means = tables.over_test_sets(table)
    assert (means["variant"] == "primary").all()
    wide = means.pivot(index="run", columns="metric", values="value")
    assert wide["fpr95"].tolist() == pytest.approx([0.6, 0.45])
    assert wide["predicted_fpr95"].tolist() == pytest.approx([0.64, 0.49])
    assert wide["accuracy"][0] == pytest.approx(0.7)
    row = means[(means["metric"] == "fpr95") & (means["run"] == 1)]["row"].item()
    behind = table[table["row"].isin(row.split())]
    assert set(behind["test_set"]) == {"dice", "maps"} and set(behind["variant"]) == {"test"}


def test_networks_have_true_and_predicted_rates(table):
    """Ours beside the network that it stands for, and the paper's others alone.

    Table 2 has several networks on CIFAR-10, table 3 one on each other data set.
    """
    printed = published.load("gscore").query("table == '2' and backbone != 'ResNet-18'")
    others = table.assign(data_set="cifar100", row=[f"other {row}" for row in table["row"]])
    own, means = tables.compare(pd.concat([table, others], ignore_index=True))
    assert set(own["data_set"]) == {"cifar10_mini"} and set(own["paper_backbone"]) == {"DLA"}
    styled = tables.networks(pd.concat([means, printed_alone(printed)]))
    frame = styled.frame()
    assert frame.index.tolist()[:4] == [
        ("cifar10_mini", "resnet8", "ours"),
        ("cifar10_mini", "resnet8", "paper, CIFAR-10, ResNet-18"),
        ("cifar100", "resnet8", "ours"),
        ("cifar100", "resnet8", "paper, CIFAR-100, DLA"),
    ]
    assert len(frame) == 4 + 3 and set(frame.index[4:].get_level_values(2)) == {"paper"}
    assert frame.iloc[0].tolist() == ["70.00", "52.50 ± 10.61", "56.50 ± 10.61"]
    assert frame.iloc[3].tolist() == ["71.36", "86.60", "88.31"]
    assert "Paper: Tables 2 and 3" in styled.caption and "over 1 to 2 runs" in styled.caption


def test_printed_numbers_stand_alone_where_there_are_none_of_ours():
    """All seven evaluators, and a caption that says so."""
    styled = tables.rmse(printed_alone(published.load("gscore").query("table in ['1', '6']")))
    assert {source for _, source in styled.frame().index} == {"paper"}
    assert len(styled.frame()) == 7
    assert "The paper's Tables 1 and 6, CIFAR-10 with DLA, alone" in styled.caption


def test_the_main_table_has_means_over_networks(table):
    """Of the first detector; the paper's number in brackets."""
    parameters = load("gscore", "mini", repeats=2)
    truths = table.assign(metric=table["metric"].where(table["variant"] != "test", "auroc"))
    shown = tables.main_table(truths, parameters)
    assert shown.frame().index.tolist() == ["confidence", "k-means + ℓ2", "UDE + Wasserstein"]
    assert shown.frame().loc["UDE + Wasserstein"].tolist() == ["3.5 (3.5)", "3.5 (3.6)"]
    assert "mixed with each of 3 unlabelled data sets; tier `mini`, 8 epochs." in shown.caption
    assert shown.caption.startswith("1 network on four fifths of cifar10_mini (70 to 70 % right)")
    published = truths.assign(backbone="resnet20.akamaster_cifar10")
    caption = tables.main_table(pd.concat([published, truths]), parameters).caption
    assert "and 1 network that others have trained on cifar10_mini (" in caption
    caption = tables.main_table(published, parameters).caption
    assert caption.startswith("1 network that others") and "tier `mini`. Error" in caption


def test_the_first_network_of_each_data_set_stands_for_dla(table):
    """Networks that know one ID set each have a first one on each."""
    names = {"cifar10": "resnet20.akamaster_cifar10", "cifar100": "densenet100.dice_cifar100"}
    both = [
        table.assign(
            data_set=data_set, backbone=name, row=[f"{name} {row}" for row in table["row"]]
        )
        for data_set, name in names.items()
    ]
    frame = tables.networks(tables.compare(pd.concat(both, ignore_index=True))[1]).frame()
    assert frame.index.get_level_values(2).tolist() == [
        "ours", "paper, CIFAR-10, ResNet-18", "ours", "paper, CIFAR-100, DLA",
    ]  # fmt: skip


def test_bad_input(part, table):
    """What would mix numbers, or shows nothing, is refused by name."""
    for call, own, message in (
        (tables.rmse, pd.concat([part, part.assign(backbone="vit")]), "part: several of backbone"),
        (tables.rmse, part[part["metric"] == "none"], "part: no rmse_fpr95 or rmse_auroc"),
        (tables.correlations, part.assign(method="msp/gmm_kl"), "no correlation of ude_wasser"),
        (tables.networks, table[:0].assign(runs=1), "part: no accuracy or"),
        (tables.over_test_sets, table[table["metric"] == "fpr95"], "table: no predictions"),
        (tables.compare, table[table["variant"] != "test"], "no fpr95 of msp on waves, which is"),
    ):
        with pytest.raises(ValueError, match=message):
            call(own)


def test_skill_stands_below_errors_and_correlations_and_beside_predictions(table, part):
    """Truths 0.9, 0.6 and 0.3 are missed by 0.04 each, and the constant is 0."""
    skill = skills_of(table)
    styled = tables.rmse(part, skill)
    cell = styled.frame()["FPR95", "MSP"]["UDE + Wasserstein", "skill"]
    value = 1 - 4 * 0.04**2 / (0.9**2 + 0.6**2 + 2 * 0.3**2)
    assert cell.startswith(f"{value:.2f} [") and "guessing" not in cell
    frame = tables.correlations(part[part["method"].str.startswith("msp/")], skill).frame()
    assert frame.loc[("MSP", "skill", "ours"), "FPR95"] == cell
    assert (
        tables.networks(tables.compare(table)[1], skill)
        .frame()
        .map(str)
        .isin([cell])
        .any(axis=None)
    )
