from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from helpers.papers.openset_calibration.tables import calibration_errors, main_table
from helpers.report import published, results
from helpers.report.tables.comparisons import comparison
from helpers.report.tables.summaries import overview

NAMES = {
    "published_as": {"digits": "SVHN", "cifar10_mini": "CIFAR10"},
    "families": {"resnet8": "ResNet", "densenet16": "DenseNet"},
}


@pytest.fixture(scope="module")
def made_up(table_of):
    def build(runs=2, variant="primary", data_sets=("digits", "cifar10_mini", "own")):
        generator = np.random.default_rng(0)
        return table_of(
            [
                dict(data_set=data_set, backbone=backbone, run=run, method=method,
                     calibration=calibration, metric=metric, value=generator.random())
                for run in range(runs)
                for data_set in data_sets
                for backbone in ("densenet16", "resnet8")
                for method in ("open-set + OpenMax", "open-set", "closed-set")
                for calibration in ("before", "after")
                for metric in ("accuracy", "ece", "brier", "ece_floor")
            ],
            paper="openset_calibration",
            variant=variant,
        )  # fmt: skip

    return build


@pytest.fixture(scope="module")
def printed():
    return published.load("openset_calibration")


@pytest.fixture(scope="module")
def compared(made_up, printed):
    return comparison(made_up(), printed, **NAMES)


def part(compared, data_set="digits"):
    return compared[(compared["data_set"] == data_set) & (compared["backbone"] == "resnet8")]


def test_every_number_beside_its_own_of_the_paper(compared, printed, made_up):
    table = made_up()
    assert len(compared) == 6 * 18  # ece_floor is not in the paper
    row = compared.iloc[1]
    where = ["data_set", "backbone", "method", "calibration", "metric"]
    ours = table[(table[where] == row[where].tolist()).all(axis=1)]
    assert row["mean"] == pytest.approx(ours["value"].mean())
    assert row["std"] == pytest.approx(ours["value"].std())
    assert row["runs"] == 2 and row["rows"].split() == ours["row"].tolist()
    theirs = ["CIFAR10", "ResNet", *row[where[2:]]]
    assert row["paper"] == printed[(printed[where] == theirs).all(axis=1)]["value"].item()
    assert row["difference"] == pytest.approx(row["mean"] - row["paper"])


def test_in_the_order_of_the_paper(compared):
    order = compared.drop_duplicates(["data_set", "backbone"])
    assert order["table"].tolist() == ["I", "II", "III", "IV", "", ""]
    assert order["data_set"].tolist()[:2] == ["cifar10_mini", "digits"]
    first = compared[compared["table"] == "I"]
    assert first["method"].unique().tolist() == ["closed-set", "open-set", "open-set + OpenMax"]


def test_a_data_set_that_the_paper_does_not_have(compared):
    own = part(compared, "own")
    assert own["paper"].isna().all() and own["difference"].isna().all()
    shown = calibration_errors(own)
    assert set(shown.frame().columns.get_level_values(1)) == {"ours"}
    assert shown.caption.endswith("the paper has no such table.")


def test_what_cannot_be_compared_is_refused(compared, printed, made_up):
    table = made_up()
    with pytest.raises(ValueError, match="data set of the paper 'SVNH'; did you mean 'SVHN'"):
        comparison(table, printed, **NAMES | {"published_as": {"digits": "SVNH"}})
    with pytest.raises(ValueError, match="unknown backbone of the paper 'Resnet'"):
        comparison(table, printed, **NAMES | {"families": {"resnet8": "Resnet"}})
    both = pd.concat([table, made_up(variant="fixed threshold")])
    with pytest.raises(ValueError, match=r"several of variant \(fixed threshold, primary\)"):
        comparison(both, printed, **NAMES)
    with pytest.raises(ValueError, match="part: several of data_set"):
        calibration_errors(compared)
    with pytest.raises(ValueError, match="part: empty"):
        calibration_errors(compared.iloc[:0])


def test_the_table(compared, printed, made_up):
    own = part(compared)
    shown = calibration_errors(own)
    frame = shown.frame()
    assert frame.shape == (6, 9)
    assert frame.index.tolist()[:2] == [("closed-set", "before"), ("closed-set", "after")]
    assert frame.columns.get_level_values(0).unique().tolist() == ["Brier", "ECE", "Accuracy"]
    number = own[(own["method"] == "open-set") & (own["calibration"] == "after")]
    number = number[number["metric"] == "ece"].iloc[0]
    assert frame.index.tolist()[-1] == ("open-set + OpenMax, usual tail", "after")
    cells = frame.loc[("open-set", "after"), "ECE"]
    assert cells["ours"] == f"{number['mean']:.3f} ± {number['std']:.3f}"
    assert cells["paper"] == "0.204"
    assert float(cells["Δ"].replace("−", "-")) == pytest.approx(number["difference"], abs=5e-4)
    page = shown.html()
    assert all(f'title="rows {rows}"' in page for rows in own["rows"])
    assert shown.caption == (
        "digits with resnet8, tier mini, for the paper's SVHN with ResNet: mean ± standard"
        " deviation over 2 runs, beside the paper's Table II; Δ is ours − paper."
    )
    single = calibration_errors(part(comparison(made_up(runs=1), printed, **NAMES)))
    assert ": 1 run, beside" in single.caption and "±" not in single.html()


def test_the_main_table_has_the_papers_errors_in_brackets(made_up):
    table = made_up(data_sets=["cifar10_mini"]).query("backbone == 'resnet8'")
    networks = {"resnet8": {"stem_stride": 2, "epochs": 3}}
    shown = main_table(table, SimpleNamespace(tier="mini", networks=networks))
    assert shown.frame().shape == (3, 2)
    own = table.query("method == 'open-set' and calibration == 'after' and metric == 'ece'")
    expected = f"{own['value'].mean():.3f} ± {own['value'].std():.3f} (0.230)"
    assert shown.frame().loc["open-set", "after"] == expected
    assert "tier `mini` (resnet8, stem stride 2, 3 epochs)" in shown.caption


def test_the_main_table_has_openmax_as_its_claim_judges_it(made_up):
    """With the matched tail where there is one, whatever the tail of the primary choice gives."""
    table = made_up(data_sets=["cifar10_mini"]).query("backbone == 'resnet8'")
    matched = table[table["method"] == "open-set + OpenMax"].assign(variant="matched tail")
    both = pd.concat([table, matched.assign(value=0.125)])
    both = both.assign(row=results.row_ids(both))
    networks = {"resnet8": {"stem_stride": 2, "epochs": 3}}
    plain, shown = (
        main_table(one, SimpleNamespace(tier="mini", networks=networks)) for one in (table, both)
    )
    matched = shown.frame().loc["open-set + OpenMax, matched tail", "after"]
    assert matched == "0.125 ± 0.000 (0.197)"
    assert plain.frame().index[-1] == "open-set + OpenMax, usual tail"
    assert shown.frame().iloc[:2].equals(plain.frame().iloc[:2])
    said = "Matched tail: OpenMax refuses as many held-out images as the threshold."
    assert shown.caption.endswith(said) and said not in plain.caption


def test_overview_has_mean_and_deviation_of_each_group(made_up):
    table = made_up(data_sets=("digits",))
    shown = overview(table, ["ece", "accuracy"])
    assert list(shown.frame().columns) == ["ece", "accuracy"]
    assert len(shown.frame()) == 2 * 3 * 2  # backbones, methods, before and after
    assert shown.frame().index.names == ["data_set", "backbone", "method", "calibration"]
    own = table.query("backbone == 'resnet8' and method == 'open-set' and calibration == 'after'")
    own = own[own["metric"] == "ece"]
    expected = f"{own['value'].mean():.3f} ± {own['value'].std():.3f}"
    assert shown.frame().loc[("digits", "resnet8", "open-set", "after"), "ece"] == expected
    assert f'title="rows {" ".join(own["row"])}"' in shown.html()
    partial = table[(table["metric"] != "ece") | (table["method"] != "closed-set")]
    absent = overview(partial, ["ece", "accuracy"]).frame()
    assert absent.loc[("digits", "resnet8", "closed-set", "after"), "ece"] == "–"
    both = pd.concat([table, table.assign(test_set="near")])
    both = both.assign(row=results.row_ids(both))
    assert overview(both, ["ece"]).frame().index.names[1] == "test_set"
    with pytest.raises(ValueError, match="table: empty"):
        overview(table, ["nothing"])
