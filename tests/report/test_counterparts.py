from pathlib import Path

import pandas as pd
import pytest

from helpers.papers import PAPERS
from helpers.papers.parameters import values_of
from helpers.report import published, results
from helpers.report.tables.published import counterparts, printed_once

ROOT = Path(__file__).resolve().parent.parent.parent
MADE = results.provenance({}, seed=0, device="cpu, 1 thread", seconds=1.0)


def table(paper, *numbers, **columns):
    """A results table of (method, metric, test set, calibration) with the values of its runs."""
    names = ("method", "metric", "test_set", "calibration")
    shared = dict(tier="small", data_set="cifar10", backbone="resnet14", images=100) | columns
    records = [
        shared | dict(zip(names, key, strict=True)) | {"paper": paper, "run": run, "value": value}
        for *key, values in numbers
        for run, value in enumerate(values)
    ]
    return results.tidy(records, MADE)


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
    found = counterparts(PAPERS, {("mini", "unknown_detection"): own}).set_index("test_set")[
        "stand_ins"
    ]
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


@pytest.mark.parametrize("paper", ["openset_calibration", "unknown_detection"])
def test_every_network_of_the_parameter_files_has_a_nearest(paper):
    for file in sorted(ROOT.glob(f"params/*/{paper}.yaml")):
        assert set(values_of(file)["networks"]) <= set(PAPERS[paper].networks)
