from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from helpers.papers.openset_calibration.tables import calibration_errors, main_table
from helpers.report import published, results
from helpers.report.tables.comparisons import comparison, overview

NAMES = {
    "published_as": {"digits": "SVHN", "cifar10_mini": "CIFAR10"},
    "families": {"resnet8": "ResNet", "densenet16": "DenseNet"},
}
PRINTED = published.load("openset_calibration")


@pytest.fixture(scope="module")
def table(table_of):
    generator = np.random.default_rng(0)
    return table_of(
        [
            dict(data_set=data_set, backbone=backbone, run=run, method=method,
                 calibration=calibration, metric=metric, value=generator.random())
            for run in range(2)
            for data_set in ("digits", "cifar10_mini", "own")
            for backbone in ("densenet16", "resnet8")
            for method in ("open-set + OpenMax", "open-set", "closed-set")
            for calibration in ("before", "after")
            for metric in ("accuracy", "ece", "brier", "ece_floor")
        ],
        paper="openset_calibration",
    )  # fmt: skip


@pytest.fixture(scope="module")
def compared(table):
    return comparison(table, PRINTED, **NAMES)


def part(compared, data_set="digits"):
    return compared[(compared["data_set"] == data_set) & (compared["backbone"] == "resnet8")]


def test_every_number_has_the_papers_number_in_the_papers_order(compared, table):
    assert len(compared) == 6 * 18  # ece_floor is not in the paper
    row = compared.iloc[1]
    where = ["data_set", "backbone", "method", "calibration", "metric"]
    ours = table[(table[where] == row[where].tolist()).all(axis=1)]
    assert [row["mean"], row["std"]] == pytest.approx([ours["value"].mean(), ours["value"].std()])
    assert row["runs"] == 2 and row["rows"].split() == ours["row"].tolist()
    theirs = ["CIFAR10", "ResNet", *row[where[2:]]]
    assert row["paper"] == PRINTED[(PRINTED[where] == theirs).all(axis=1)]["value"].item()
    assert row["difference"] == pytest.approx(row["mean"] - row["paper"])
    order = compared.drop_duplicates(["data_set", "backbone"])
    assert order["table"].tolist() == ["I", "II", "III", "IV", "", ""]
    first = compared[compared["table"] == "I"]
    assert first["method"].unique().tolist() == ["closed-set", "open-set", "open-set + OpenMax"]
    with pytest.raises(ValueError, match="data set of the paper 'SVNH'; did you mean 'SVHN'"):
        comparison(table, PRINTED, **NAMES | {"published_as": {"digits": "SVNH"}})


def test_the_table_has_ours_the_papers_and_the_difference(compared):
    rows = part(compared)
    shown = calibration_errors(rows)
    frame = shown.frame()
    assert frame.shape == (6, 9)
    ece = rows.query("method == 'open-set' and calibration == 'after' and metric == 'ece'").iloc[0]
    cells = frame.loc[("open-set", "after"), "ECE"]
    assert cells["ours"] == f"{ece['mean']:.3f} ± {ece['std']:.3f}" and cells["paper"] == "0.204"
    assert float(cells["Δ"].replace("−", "-")) == pytest.approx(ece["difference"], abs=5e-4)
    assert all(f'title="rows {names}"' in shown.html() for names in rows["rows"])
    alone = calibration_errors(part(compared, "own")).frame()
    assert set(alone.columns.get_level_values(1)) == {"ours"}
    with pytest.raises(ValueError, match="part: several of data_set"):
        calibration_errors(compared)


def test_the_main_table_has_the_papers_errors_in_brackets_and_the_matched_tail(table):
    """Openmax has the matched tail if there is one."""
    table = table.query("data_set == 'cifar10_mini' and backbone == 'resnet8'")
    parameters = SimpleNamespace(tier="mini", networks={"resnet8": {"epochs": 3}})
    matched = table[table["method"] == "open-set + OpenMax"].assign(variant="matched tail")
    both = pd.concat([table, matched.assign(value=0.125)])
    both = both.assign(row=results.row_ids(both))
    plain, shown = (main_table(one, parameters).frame() for one in (table, both))
    own = table.query("method == 'open-set' and calibration == 'after' and metric == 'ece'")
    expected = f"{own['value'].mean():.3f} ± {own['value'].std():.3f} (0.230)"
    assert plain.shape == (3, 2) and plain.loc["open-set", "after"] == expected
    assert shown.loc["open-set + OpenMax, matched tail", "after"] == "0.125 ± 0.000 (0.197)"
    assert shown.iloc[:2].equals(plain.iloc[:2])


def test_overview_has_mean_and_deviation_of_each_group(table):
    table = table[table["data_set"] == "digits"]
    frame = overview(table, ["ece", "accuracy"]).frame()
    assert frame.shape == (2 * 3 * 2, 2)  # backbones, methods, before and after
    partial = table[(table["metric"] != "ece") | (table["method"] != "closed-set")]
    absent = overview(partial, ["ece", "accuracy"]).frame()
    assert absent.loc[("digits", "resnet8", "closed-set", "after"), "ece"] == "–"
    with pytest.raises(ValueError, match="table: empty"):
        overview(table, ["nothing"])
