import re
from itertools import product

import pytest

from helpers.papers.parameters import load
from helpers.papers.unknown_detection.parameters import METHODS
from helpers.papers.unknown_detection.tables import beside, by_imagenet, detection, main_table
from helpers.report import published
from helpers.report.tables.comparisons import comparison, printed_alone

NAMES = {
    "published_as": {"cifar10_mini": "CIFAR-40", "digits": "SVHN"},
    "families": {"resnet8": "ResNet18"},
}
SETS = {
    "accuracy": ["test"],
    "aurc": ["test", "union"],
    "fpr_at_tpr": ["bubbles", "near", "digits"],  # the paper has no bubbles
    "auroc": ["near", "digits"],
}


@pytest.fixture(scope="module")
def table(table_of):
    """Values in [0, 1] that differ for every method and test set, and a little for runs."""
    records = [
        dict(test_set=test_set, run=run, method=method, metric=metric,
             value=(number + 10 * place + 0.2 * run) / 100)
        for metric, sets in SETS.items()
        for place, test_set in enumerate(sets, start=1)
        for number, method in enumerate(METHODS)
        for run in range(1 if method == "ensemble" else 2)
    ]  # fmt: skip
    return table_of(records, paper="unknown_detection")


@pytest.fixture(scope="module")
def printed():
    return published.load("unknown_detection")


@pytest.fixture(scope="module")
def part(table, printed):
    return comparison(table, printed, **NAMES)


def test_each_number_beside_that_of_its_own_test_set(part, table):
    """A stand-in gets the numbers of what it stands in for; a set of our own gets none."""
    assert len(part) == len(METHODS) * sum(map(len, SETS.values()))
    cell = part.set_index(["test_set", "metric", "method"])
    digits = cell.loc[("digits", "auroc", "crl"), ["paper", "paper_std"]]
    assert digits.tolist() == pytest.approx([0.7838, 0.0166])
    assert cell.loc[("near", "auroc", "crl"), "paper"] == pytest.approx(0.7295)
    assert cell.loc[("union", "aurc", "baseline"), "paper"] == pytest.approx(0.7355)
    assert cell.loc["bubbles"]["paper"].isna().all()
    ours = table.query("test_set == 'union' and metric == 'aurc' and method == 'baseline'")
    assert cell.loc[("union", "aurc", "baseline"), "rows"].split() == ours["row"].tolist()


def test_the_layout_is_the_papers(part):
    """Methods in the paper's order, ours above the paper's, scaled, with two decimals."""
    shown = detection(part, metrics=["accuracy", "aurc"])
    frame = shown.frame()
    assert frame.index.tolist() == list(product(METHODS.values(), ("ours", "paper")))
    tasks = "unknown detection", "misclassification"
    assert frame.columns.tolist() == [
        ("ACC ↑ (%)", "test"), *(("AURC ↓ (×1000)", task) for task in tasks)
    ]  # fmt: skip
    assert frame.loc[[("Baseline", "ours"), ("Baseline", "paper")]].to_numpy().tolist() == [
        ["10.10 ± 0.14", "201.00 ± 1.41", "101.00 ± 1.41"],
        ["74.43 ± 0.51", "735.50 ± 3.92", "75.25 ± 2.68"],
    ]
    assert frame.loc[("Deep Ensemble", "paper")].tolist() == ["79.45", "693.49", "47.27"]
    page = shown.html()
    rows = part.loc[part["metric"].isin(["accuracy", "aurc"]), "rows"]
    assert all(f'title="rows {names}"' in page for names in rows)
    assert shown.caption == (
        "cifar10_mini with resnet8, tier mini: mean ± standard deviation over 1 to 2 runs, above "
        "the paper's Table 5, CIFAR-40 with ResNet18. Bold: best of the column; underlined: best "
        "without Outlier Exposure."
    )


def test_what_stands_in_is_named_and_what_the_paper_lacks_is_empty(part):
    """Near comes first; the third line of the head names the paper's own set."""
    shown = detection(part, metrics=["fpr_at_tpr"])
    assert [head[1:] for head in shown.frame().columns] == [
        ("near", ""), ("digits", "for SVHN"), ("bubbles", ""),
    ]  # fmt: skip
    assert shown.frame().loc[("CRL", "paper")].tolist() == ["85.69 ± 1.33", "82.74 ± 2.55", "–"]
    assert "Below a test set that stands in" in shown.caption


def test_the_best_and_the_best_without_outliers_are_marked(part):
    """Bold and underlined, among ours and among the paper's; lower is better for AURC and FPR."""
    frame = detection(part, metrics=["fpr_at_tpr", "auroc"]).frame("latex")
    ours = frame.xs("ours", level=1)
    marks = {
        (line, place): re.findall(r"\\(\w+)\{", cell)
        for line, cells in zip(ours.index, ours.to_numpy(), strict=True)
        for place, cell in enumerate(cells)
        if "\\" in cell
    }
    lowest = {("Baseline", column): ["textbf", "underline"] for column in range(3)}
    highest = {("OpenMax", column): ["textbf", "underline"] for column in (3, 4)}
    assert marks == lowest | highest
    svhn = frame.xs("paper", level=1).iloc[:, 1]
    assert svhn["Outlier Exposure"] == r"\textbf{21.27 ± 7.19}"  # not underlined
    assert svhn["OpenMax"] == r"\underline{78.70 ± 4.92}"


def test_where_all_are_the_same_none_is_the_best(part):
    """Nor is a number alone."""
    level = part.assign(mean=part["mean"].where(part["metric"] != "accuracy", 0.5), paper=None)
    page = detection(level.astype({"paper": float}), metrics=["accuracy"]).html()
    assert "50.00" in page and "<b>" not in page
    assert "<b>" not in detection(part, methods={"crl": "CRL"}, metrics=["auroc"]).html()


def test_ours_or_the_papers_alone(table, printed):
    """What has no counterpart stands alone, and the caption says so."""
    sixth = printed_alone(printed[printed["table"] == "6"])
    alone = detection(sixth, metrics=["accuracy", "auroc"])
    assert alone.frame().index.tolist() == [(title, "paper") for title in METHODS.values()]
    assert alone.frame().loc[("Deep Ensemble", "paper")].tolist()[:2] == ["84.30", "79.14"]
    caption = "The paper's Table 6, ImageNet-200 with ResNet-152, alone: there is no run of ours"
    assert alone.caption.startswith(caption)
    own = comparison(table, printed, published_as={}, families={})
    ours = detection(own, metrics=["accuracy"])
    assert {who for _, who in ours.frame().index} == {"ours"}
    assert "the paper has no such table" in ours.caption


def test_the_main_table_has_the_papers_numbers_in_brackets(table):
    shown = main_table(table, load("unknown_detection", "mini", far=["digits", "photographs"]))
    assert shown.frame().index.tolist() == list(METHODS.values())
    assert shown.frame().loc["Baseline"].tolist() == [
        "10.1 ± 0.1 (74.4)", "201 ± 1 (736)", "−473 ± 1 (122)", "101 ± 1 (75)", "10.1 ± 0.1 (72.2)",
    ]  # fmt: skip
    said = "digits, photographs far-OOD; tier `mini` (resnet8, stem stride 4, 8 epochs)"
    assert said in shown.caption


def test_precision_is_said_with_every_table(table, part):
    """Of ours; beside the paper's numbers alone there is nothing to say."""
    said = "Trained with float32 (cpu, 2 threads), bfloat16 (NVIDIA H200); the paper with float32."
    devices = table["run"].map({0: "cpu, 2 threads", 1: "NVIDIA H200"})
    numbers = beside(table.assign(device=devices))
    assert said in detection(numbers, metrics=["auroc"]).caption
    assert "Trained with" not in detection(part, metrics=["auroc"]).caption


def test_bad_input(part):
    """Unknown names and nothing to show are refused by name."""
    several = part.assign(backbone=range(len(part)))
    for given, methods, metric, message in (
        (part, METHODS, "auroq", "unknown metric 'auroq'; did you mean 'auroc'"),
        (part, {"msp": "MSP"}, "auroc", "part: no number of these methods and metrics"),
        (several, METHODS, "auroc", "part: several of backbone"),
    ):
        with pytest.raises(ValueError, match=message):
            detection(given, methods=methods, metrics=[metric])


def test_near_classes_by_imagenet_by_hand(table_of):
    """Two runs, 0.9 and 0.8 against classes that ImageNet has, 0.7 and 0.8 against the others."""
    values = {"near_in_imagenet": (0.9, 0.8), "near_not_in_imagenet": (0.7, 0.8)}
    records = [
        dict(test_set=name, run=run, method=method, metric="auroc", value=value + shift,
             bootstrap=[value + shift, value + shift + 0.02])
        for method, shift in (("baseline", 0.0), ("crl", 0.05))
        for name, both in values.items()
        for run, value in enumerate(both)
    ]  # fmt: skip
    records.append(records[0] | {"method": "edl"})  # without the other side
    found = by_imagenet(table_of(records, paper="unknown_detection"))
    assert list(found.index) == ["baseline", "crl"]
    assert found.loc["baseline"].tolist() == pytest.approx([85, 75, 10, 0, 20], abs=1e-9)
    assert found.loc["crl", "near_in_imagenet"] == pytest.approx(90)
