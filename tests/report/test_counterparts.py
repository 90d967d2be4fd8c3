from pathlib import Path

import pandas as pd
import pytest

from helpers.papers import PAPERS
from helpers.papers.parameters import values_of
from helpers.report import published, results
from helpers.report.tables.published import (
    agreement,
    counterparts,
    coverage,
    uncompared,
)

ROOT = Path(__file__).resolve().parent.parent.parent
MADE = results.provenance({}, seed=0, device="cpu, 1 thread", seconds=1.0)


def table(
    paper, *numbers, data_set="cifar10", backbone="resnet14", tier="small", variant="primary"
):
    """A results table of (method, metric, test set, calibration) with the values of its runs."""
    return results.tidy(
        [
            {
                "tier": tier, "paper": paper, "data_set": data_set, "backbone": backbone,
                "variant": variant, "run": run, "method": method, "metric": metric,
                "test_set": test_set, "calibration": calibration, "value": value, "images": 100,
            }
            for method, metric, test_set, calibration, *values in numbers
            for run, value in enumerate(values)
        ],
        MADE,
    )  # fmt: skip


def test_a_difference_is_in_printed_deviations_where_there_are_some():
    """Table 5 prints 74.43 +- 0.51 % for the baseline's accuracy; ours is the mean of two runs."""
    own = table("unknown_detection", ("baseline", "accuracy", "test", "", 0.72, 0.74),
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
    own = table("unknown_detection", ("odin", "auroc", "woodgrain", "", 0.9),
                ("odin", "aurc", "union", "", 0.8), data_set="cifar10_mini", backbone="resnet8",
                tier="mini")  # fmt: skip
    found = counterparts(PAPERS, {("mini", "unknown_detection"): own}).set_index("test_set")[
        "stand_ins"
    ]
    both = "cifar10_mini for CIFAR-40, {}resnet8 for ResNet18"
    assert found["woodgrain"] == both.format("woodgrain for DTD, ")
    assert found["union"] == both.format("") + ", union: of the sets at hand"


def test_the_first_network_stands_for_dla_in_correlations_alone():
    """Accuracy and predictions are set beside the network that is nearest in kind."""
    one = [("msp/ude_wasserstein", "pearson_fpr95", "all", "", -0.9),
           ("msp/ude_wasserstein", "predicted_fpr95", "digits", "", 0.4),
           ("network", "accuracy", "test", "", 0.8)]  # fmt: skip
    own = pd.concat([
        *(table("gscore", *one, backbone=name) for name in ("resnet20", "vit")),
        *(table("gscore", ("msp", "fpr95", "digits", "", 0.5), backbone=name, variant="test")
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


@pytest.fixture(scope="module")
def found():
    """Two tiers of one paper, one of another, and a paper that has no printed numbers here."""
    calibration = table("openset_calibration", ("closed-set", "brier", "test", "before", 0.265),
                        ("open-set", "ece", "test", "after", 0.2))  # fmt: skip
    again = calibration.assign(tier="small_cpu")
    detection = table("unknown_detection", ("odin", "auroc", "near", "", 0.7), data_set="cifar100")
    return counterparts(
        PAPERS,
        {
            ("small", "openset_calibration"): calibration,
            ("small_cpu", "openset_calibration"): again.assign(row=results.row_ids(again)),
            ("small", "unknown_detection"): detection.assign(backbone="resnet20"),
            ("small", "uimnet"): table("uimnet", ("erm", "accuracy", "test", "before", 0.5)),
        },
    )


def test_every_printed_number_is_compared_or_says_why_not(found):
    """Compared and not compared together are all that the papers print."""
    counts, rest = coverage(found), uncompared(found)
    missing = rest.groupby("paper")["numbers"].sum()
    for paper in published.papers():
        printed = published.load(paper)
        if paper == "openset_calibration":  # one accuracy is printed for both temperatures
            printed = printed[
                (printed["metric"] != "accuracy") | (printed["calibration"] != "after")
            ]
            assert len(printed) == 90
        assert counts.loc[paper, "printed"] == len(printed)
        assert counts.loc[paper, "compared"] + missing[paper] == counts.loc[paper, "printed"]
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
