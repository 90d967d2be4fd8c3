from pathlib import Path

import pandas as pd
import pytest

from helpers.papers import PAPERS
from helpers.papers.parameters import values_of
from helpers.report import published, results
from helpers.report.tables.comparisons import (
    caption_of,
    comparison,
    head_stand_ins,
    overview,
    printed_alone,
    stack_sources,
)
from helpers.report.tables.published import counterparts, printed_once
from tests.report.claim_tables import table_of

ROOT = Path(__file__).resolve().parent.parent.parent


def table(paper, *numbers, **columns):
    """A results table of (method, metric, test set, calibration) with the values of its runs."""
    names = ("method", "metric", "test_set", "calibration")
    records = [
        dict(zip(names, key, strict=True)) | {"run": run, "value": value}
        for *key, values in numbers
        for run, value in enumerate(values)
    ]
    shared = dict(tier="small", data_set="cifar10", backbone="resnet14", paper=paper)
    return table_of(records, **shared | columns)


def test_an_overview_has_metrics_across_and_names_test_sets_only_if_there_are_several():
    numbers = [("b", "ece", "near", "", [0.1, 0.3]), ("a", "ece", "near", "", [0.5, 0.5]),
               ("b", "accuracy", "near", "", [0.25, 0.25])]  # fmt: skip
    shown = overview(table("uimnet", *numbers), ["accuracy", "ece"])
    assert shown.caption == "Mean ± standard deviation over 2 runs."
    assert shown.markdown().splitlines() == [
        "| data_set | backbone | method | calibration | accuracy | ece |",
        "| --- | --- | --- | --- | --- | --- |",
        "| cifar10 | resnet14 | b |  | 0.250 ± 0.000 | 0.200 ± 0.141 |",
        "| cifar10 | resnet14 | a |  | – | 0.500 ± 0.000 |",
    ]
    more = table("uimnet", *numbers, ("b", "ece", "far", "", [0.1]))
    assert overview(more, ["ece"]).markdown().startswith("| data_set | test_set | backbone |")


def test_a_comparison_is_in_the_order_of_the_paper():
    """Numbers that the paper does not print come last; a stand-in is named above its column."""
    place = {"data_set": "CIFAR10", "backbone": "ResNet", "calibration": "", "table": "I"}
    printed = pd.DataFrame(
        [{"method": method, "metric": "ece", "test_set": name, "value": value, "std": 0.01}
         for method, name, value in (("b", "SVHN", 0.3), ("a", "near", 0.5))]
    ).assign(**place, source="")  # fmt: skip
    ours = table("uimnet", *[(method, "ece", name, "", [0.2, 0.4])
                             for method in "ab" for name in ("near", "letters")])  # fmt: skip
    names = {"published_as": {"cifar10": "CIFAR10", "letters": "SVHN"},
             "families": {"resnet14": "ResNet"}}  # fmt: skip
    both = comparison(ours, printed, **names)
    assert (both["method"] + " " + both["test_set"]).tolist() == [
        "b letters", "a near", "a letters", "b near",
    ]  # fmt: skip
    assert both["difference"][:2].tolist() == pytest.approx([0.0, -0.2])
    assert both["paper"].isna().tolist() == [False, False, True, True]
    stacked, across = head_stand_ins(stack_sources(both))
    assert across == ["test_set", "beside"] and stacked["source"].value_counts()["paper"] == 2
    assert set(stacked["beside"][stacked["test_set"] == "letters"]) == {"for SVHN"}
    assert caption_of(both).startswith(
        "cifar10 with resnet14, tier small: mean ± standard deviation over 2 runs, above the"
        " paper's Table I, CIFAR10 with ResNet. Below a test set that stands in"
    )
    alone = printed_alone(printed)
    assert alone["paper"].tolist() == [0.3, 0.5] and alone["mean"].isna().all()
    for wrong in (names | {"families": {"x": "VGG"}}, names | {"published_as": {"x": "MNIST"}}):
        with pytest.raises(ValueError, match="of the paper"):
            comparison(ours, printed, **wrong)
    other = ours.assign(tier="paper")
    with pytest.raises(ValueError, match="table: several of tier"):
        comparison(pd.concat([ours, other]), printed, **names)


def test_a_difference_is_in_printed_deviations_where_there_are_some():
    """Table 5 prints 74.43 +- 0.51 % for the baseline's accuracy; ours is the mean of two runs."""
    own = table("unknown_detection", ("baseline", "accuracy", "test", "", [0.72, 0.74]),
                data_set="cifar100", backbone="resnet18")  # fmt: skip
    (row,) = counterparts(PAPERS, {("small", "unknown_detection"): own}).to_dict("records")
    assert (row["published"], row["published_std"]) == pytest.approx((0.7443, 0.0051))
    assert row["reproduced"] == pytest.approx(0.73) and row["runs"] == 2
    assert row["deviations"] == pytest.approx((0.73 - 0.7443) / 0.0051)
    other = "cifar100: other classes drawn than for CIFAR-40"  # and the paper's own network
    assert (row["unit"], row["stand_ins"], row["table"]) == ("published", other, "5")
    assert row["rows"].split() == own["row"].tolist()


def test_stand_ins_are_named():
    """A data set, a test set and a network; what joins test sets is named too."""
    own = table("unknown_detection", ("odin", "auroc", "woodgrain", "", [0.9]),
                ("odin", "aurc", "union", "", [0.8]), data_set="cifar10_mini", backbone="resnet8",
                tier="mini")  # fmt: skip
    found = counterparts(PAPERS, {("mini", "unknown_detection"): own})
    found = found.set_index("test_set")["stand_ins"]
    both = "cifar10_mini for CIFAR-40, {}resnet8 for ResNet18"
    assert found["woodgrain"] == both.format("woodgrain for DTD, ")
    assert found["union"] == both.format("") + ", union: of the sets at hand"


def test_the_first_network_stands_for_dla_in_correlations_alone():
    """Accuracy and predictions are set beside the network that is nearest in kind."""
    one = [("msp/ude_wasserstein", "pearson_fpr95", "all", "", [-0.9]),
           ("msp/ude_wasserstein", "predicted_fpr95", "digits", "", [0.4]),
           ("network", "accuracy", "test", "", [0.8])]  # fmt: skip
    own = pd.concat([
        *(table("gscore", *one, backbone=name) for name in ("resnet20", "vit")),
        *(table("gscore", ("msp", "fpr95", "digits", "", [0.5]), backbone=name, variant="test")
          for name in ("resnet20", "vit")),
    ])  # fmt: skip
    found = counterparts(PAPERS, {("small", "gscore"): own})
    beside = found.set_index("metric")[["table", "backbone", "paper_backbone", "reproduced"]]
    assert {name: tuple(row) for name, row in beside.iterrows()} == {
        "pearson_fpr95": ("4", "resnet20", "DLA", -0.9),
        "accuracy": ("2", "resnet20", "ResNet-18", 0.8),
        "fpr95": ("2", "resnet20", "ResNet-18", 0.5),
        "predicted_fpr95": ("2", "resnet20", "ResNet-18", 0.4),
    }


def test_an_accuracy_counts_once_though_it_is_printed_for_both_temperatures():
    """Tiers are compared one by one; a paper without printed numbers is left out."""
    own = table("openset_calibration", ("closed-set", "accuracy", "test", "before", [0.9]),
                ("closed-set", "accuracy", "test", "after", [0.9]),
                ("open-set", "ece", "test", "after", [0.2]))  # fmt: skip
    small_cpu = own.assign(tier="small_cpu")
    tables = {
        ("small", "openset_calibration"): own,
        ("small_cpu", "openset_calibration"): small_cpu.assign(row=results.row_ids(small_cpu)),
        ("small", "uimnet"): table("uimnet", ("erm", "accuracy", "test", "before", [0.5])),
    }
    compared = counterparts(PAPERS, tables)
    numbers = [("small", "accuracy"), ("small", "ece")]
    numbers += [("small_cpu", metric) for _, metric in numbers]
    assert sorted(zip(compared["tier"], compared["metric"], strict=True)) == numbers
    assert len(printed_once("openset_calibration")) == 90
    assert len(printed_once("unknown_detection")) == len(published.load("unknown_detection"))


def test_every_network_of_the_parameter_files_has_a_nearest():
    for paper in ("openset_calibration", "unknown_detection"):
        for file in ROOT.glob(f"params/*/{paper}.yaml"):
            assert set(values_of(file)["networks"]) <= set(PAPERS[paper].networks)
