from pathlib import Path

import pandas as pd
import pytest

from helpers.papers import PAPERS
from helpers.papers.parameters import values_of
from helpers.report import published, results
from helpers.report.tables.published import agreement, counterparts, coverage, uncompared

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


def test_every_printed_number_is_compared_or_says_why_not():
    """Compared and not compared together are all that the papers print."""
    numbers = (
        ("closed-set", "brier", "test", "before", [0.265]),
        ("open-set", "ece", "test", "after", [0.2]),
    )
    tables = {
        (tier, "openset_calibration"): table("openset_calibration", *numbers, tier=tier)
        for tier in ("small", "small_cpu")
    }
    tables["small", "unknown_detection"] = table(
        "unknown_detection", ("odin", "auroc", "near", "", [0.7]), data_set="cifar100"
    )
    tables["small", "uimnet"] = table("uimnet", ("erm", "accuracy", "test", "before", [0.5]))
    found = counterparts(PAPERS, tables)
    counts, missing = coverage(found), uncompared(found).groupby("paper")["numbers"].sum()
    printed = {paper: len(published.load(paper)) for paper in published.papers()}
    printed["openset_calibration"] = 90  # one accuracy is printed for both temperatures
    assert counts["printed"].loc[list(printed)].to_dict() == printed
    assert (counts["compared"] + missing)[list(printed)].to_dict() == printed
    assert counts.loc["openset_calibration", ["compared", "small", "small_cpu"]].tolist() == [2] * 3


def test_a_harder_test_set_is_no_order_of_methods():
    """Both sets have the opposite order of methods; ranked together, they would look alike."""
    values = {"easy": [0.1, 0.2, 0.3], "hard": [0.7, 0.8, 0.9]}
    found = pd.DataFrame(
        [("p", "t", "aurc", "", "", "", name, there, here, here - there, 0.0, "")
         for name, one in values.items() for there, here in zip(one, one[::-1], strict=True)],
        columns=["paper", "tier", "metric", "data_set", "backbone", "calibration", "test_set",
                 "published", "reproduced", "difference", "deviations", "unit"],
    )  # fmt: skip
    assert found["published"].corr(found["reproduced"], "spearman") > 0.5
    assert agreement(found)["rank_correlation"].item() == pytest.approx(-1)


@pytest.mark.parametrize("paper", ["openset_calibration", "unknown_detection"])
def test_every_network_of_the_parameter_files_has_a_nearest(paper):
    for file in sorted(ROOT.glob(f"params/*/{paper}.yaml")):
        assert set(values_of(file)["networks"]) <= set(PAPERS[paper].networks)
