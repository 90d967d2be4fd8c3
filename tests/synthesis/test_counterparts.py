import pandas as pd
import pytest

from helpers.files import project_root
from helpers.papers import PAPERS
from helpers.papers.parameters import values_of
from helpers.tables import comparisons
from synthesis.counterparts import counterparts, printed_once
from tests.synthesis.claim_tables import table_of


def table(paper, *numbers, **columns):
    """A results table of (method, metric, test set, calibration) with the values of its runs."""
    names = ("method", "metric", "test_set", "calibration", "run", "value")
    rows = [(*key, *pair) for *key, values in numbers for pair in enumerate(values)]
    records = [dict(zip(names, row, strict=True)) for row in rows]
    shared = dict(tier="small", data_set="cifar10", backbone="resnet20", paper=paper)
    return table_of(records, **shared | columns)


def test_a_comparison_is_in_the_order_of_the_paper():
    """Numbers that the paper does not print come last; a stand-in is named above its column."""
    shared = {"data_set": "CIFAR10", "backbone": "ResNet", "calibration": "", "table": "I"}
    shared |= {"metric": "ece", "std": 0.01, "source": ""}
    numbers = {"method": ["b", "a"], "test_set": ["SVHN", "near"], "value": [0.3, 0.5]}
    printed = pd.DataFrame(numbers).assign(**shared)
    sets = [(method, name) for method in "ab" for name in ("near", "letters")]
    ours = table("uimnet", *[(method, "ece", name, "", [0.2, 0.4]) for method, name in sets])
    names = {"published_as": {"cifar10": "CIFAR10", "letters": "SVHN"}}
    names["families"] = {"resnet20": "ResNet"}
    both = comparisons.comparison(ours, printed, **names)
    order = ["b letters", "a near", "a letters", "b near"]
    assert (both["method"] + " " + both["test_set"]).tolist() == order
    assert both["difference"][:2].tolist() == pytest.approx([0.0, -0.2])
    assert both["paper"].isna().tolist() == [False, False, True, True]
    stacked = comparisons.stack_sources(both)
    assert stacked["source"].value_counts()["paper"] == 2
    assert comparisons.name_of(both, "main") == "small-cifar10-resnet20-main"
    with pytest.raises(ValueError, match="cells: several of backbone"):
        comparisons.name_of(pd.concat([both, both.assign(backbone="vit")]))
    for changes in ({"families": {"x": "VGG"}}, {"published_as": {"x": "MNIST"}}):
        with pytest.raises(ValueError, match="of the paper"):
            comparisons.comparison(ours, printed, **names | changes)
    with pytest.raises(ValueError, match="table: several of tier"):
        comparisons.comparison(pd.concat([ours, ours.assign(tier="paper")]), printed, **names)


def test_a_printed_number_is_next_to_our_mean():
    """Table 5 prints 74.43 +- 0.51 % for the baseline's accuracy; ours is the mean of two runs."""
    shared = {"data_set": "cifar100", "backbone": "resnet18"}
    ours = table("unknown_detection", ("baseline", "accuracy", "test", "", [0.72, 0.74]), **shared)
    (row,) = counterparts(PAPERS, {("small", "unknown_detection"): ours}).to_dict("records")
    numbers = [row[name] for name in ("published", "published_std", "reproduced")]
    assert numbers == pytest.approx([0.7443, 0.0051, 0.73])
    other = "cifar100: other classes drawn than for CIFAR-40"  # and the paper's own network
    assert (row["stand_ins"], row["table"]) == (other, "5")
    assert row["runs"] == 2 and row["rows"].split() == ours["row"].tolist()


def test_stand_ins_are_named():
    """A data set, a test set and a network; what joins test sets is named too."""
    numbers = (
        ("odin", "auroc", "chars74k_natural", "", [0.9]),
        ("odin", "aurc", "paper_union", "", [0.8]),
    )
    shared = {"data_set": "cifar100_mini", "backbone": "resnet20", "tier": "mini"}
    ours = table("unknown_detection", *numbers, **shared)
    beside = counterparts(PAPERS, {("mini", "unknown_detection"): ours})
    assert dict(zip(beside["test_set"], beside["stand_ins"], strict=True)) == {
        "chars74k_natural": "cifar100_mini for CIFAR-40, chars74k_natural for SVHN, "
        "resnet20 for ResNet18",
        "union": "cifar100_mini for CIFAR-40, resnet20 for ResNet18, union: of the sets at hand",
    }


def test_the_first_network_stands_for_dla_in_correlations_alone():
    """Accuracy and predictions are set beside the network that is nearest in kind."""
    numbers = [("msp/ude_wasserstein", "pearson_fpr95", "all", "", [-0.9]),
               ("msp/ude_wasserstein", "predicted_fpr95", "digits", "", [0.4]),
               ("network", "accuracy", "test", "", [0.8])]  # fmt: skip
    tested, ours = ("msp", "fpr95", "digits", "", [0.5]), []
    for name in ("resnet20", "vit"):
        ours.append(table("gscore", *numbers, backbone=name))
        ours.append(table("gscore", tested, backbone=name, variant="test"))
    beside = counterparts(PAPERS, {("small", "gscore"): pd.concat(ours)}).set_index("metric")
    assert set(beside["backbone"]) == {"resnet20"}
    assert beside[["table", "paper_backbone", "reproduced"]].T.to_dict("list") == {
        "pearson_fpr95": ["4", "DLA", -0.9], "accuracy": ["2", "ResNet-18", 0.8],
        "fpr95": ["2", "ResNet-18", 0.5], "predicted_fpr95": ["2", "ResNet-18", 0.4],
    }  # fmt: skip


def test_an_accuracy_counts_once_though_it_is_printed_for_both_temperatures():
    """Tiers are compared one by one; a paper without printed numbers is left out."""
    numbers = [("closed-set", "accuracy", "test", when, [0.9]) for when in ("before", "after")]
    numbers.append(("open-set", "ece", "test", "after", [0.2]))
    paper, tiers = "openset_calibration", ("paper", "small")
    tables = {(tier, paper): table(paper, *numbers, tier=tier) for tier in tiers}
    tables["small", "uimnet"] = table("uimnet", ("erm", "accuracy", "test", "before", [0.5]))
    compared = counterparts(PAPERS, tables)
    expected = [(tier, metric) for tier in tiers for metric in ("accuracy", "ece")]
    assert sorted(zip(compared["tier"], compared["metric"], strict=True)) == expected
    assert len(printed_once("openset_calibration")) == 90


def test_every_network_but_the_transformer_has_a_nearest():
    for paper in ("openset_calibration", "unknown_detection"):
        for file in project_root().glob(f"params/*/{paper}.yaml"):
            assert {*values_of(file)["networks"]} <= {*PAPERS[paper].networks, "vit"}
