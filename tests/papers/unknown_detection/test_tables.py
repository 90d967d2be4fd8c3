import re

import pandas as pd
import pytest

from helpers.papers import all_tables as tables
from helpers.papers.unknown_detection.protocol import METHODS
from helpers.report import published, results

MADE = {
    "seed": 0,
    "parameters": "0" * 12,
    "code": "0.1.0+0",
    "versions": "{}",
    "device": "cpu, 1 thread",
    "seconds": 1.0,
}
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


def number(method, metric, test_set, run):
    """A value in [0, 1] that differs for every method and test set, and a little for runs."""
    place = list(METHODS).index(method) + 10 * (SETS[metric].index(test_set) + 1)
    return (place + 0.2 * run) / 100


@pytest.fixture(scope="module")
def table():
    return results.tidy(
        [
            {
                "tier": "mini",
                "paper": "unknown_detection",
                "data_set": "cifar10_mini",
                "test_set": test_set,
                "backbone": "resnet8",
                "run": run,
                "method": method,
                "metric": metric,
                "value": number(method, metric, test_set, run),
                "images": 10,
            }
            for metric, sets in SETS.items()
            for test_set in sets
            for method in METHODS
            for run in range(1 if method == "ensemble" else 2)
        ],
        MADE,
    )


@pytest.fixture(scope="module")
def printed():
    return published.load("unknown_detection")


@pytest.fixture(scope="module")
def part(table, printed):
    return tables.comparison(table, printed, **NAMES)


def shown(part, *metrics):
    return tables.detection_styler(part, methods=METHODS, metrics=metrics)


def test_each_number_beside_that_of_its_own_test_set(part, table):
    """A stand-in gets the numbers of what it stands in for; a set of our own gets none."""
    assert len(part) == len(METHODS) * sum(map(len, SETS.values()))
    cell = part.set_index(["test_set", "metric", "method"])
    assert cell.loc[("digits", "auroc", "crl"), "paper"] == pytest.approx(0.7838)
    assert cell.loc[("digits", "auroc", "crl"), "paper_std"] == pytest.approx(0.0166)
    assert cell.loc[("near", "auroc", "crl"), "paper"] == pytest.approx(0.7295)
    assert cell.loc[("union", "aurc", "baseline"), "paper"] == pytest.approx(0.7355)
    assert cell.loc["bubbles"]["paper"].isna().all()
    ours = table.query("test_set == 'union' and metric == 'aurc' and method == 'baseline'")
    assert cell.loc[("union", "aurc", "baseline"), "rows"].split() == ours["row"].tolist()


def test_the_layout_is_the_papers(part):
    """Methods in the paper's order, ours above the paper's, scaled, with two decimals."""
    frame = shown(part, "accuracy", "aurc").data
    assert frame.index.tolist() == [
        (title, who) for title in METHODS.values() for who in ("ours", "paper")
    ]
    assert frame.columns.tolist() == [
        ("ACC ↑ (%)", "test"),
        ("AURC ↓ (×1000)", "unknown detection"),
        ("AURC ↓ (×1000)", "misclassification"),
    ]
    assert frame.loc[("Baseline", "ours")].tolist() == [
        "10.10 ± 0.14", "201.00 ± 1.41", "101.00 ± 1.41",
    ]  # fmt: skip
    assert frame.loc[("Baseline", "paper")].tolist() == [
        "74.43 ± 0.51", "735.50 ± 3.92", "75.25 ± 2.68",
    ]  # fmt: skip
    assert frame.loc[("Deep Ensemble", "paper")].tolist() == ["79.45", "693.49", "47.27"]


def test_what_stands_in_is_named_and_what_the_paper_lacks_is_empty(part):
    """Near comes first; the third line of the head names the paper's own set."""
    frame = shown(part, "fpr_at_tpr").data
    assert [head[1:] for head in frame.columns] == [
        ("near", ""), ("digits", "for SVHN"), ("bubbles", ""),
    ]  # fmt: skip
    assert frame.loc[("CRL", "paper")].tolist() == ["85.69 ± 1.33", "82.74 ± 2.55", "–"]
    assert "stands in" in tables.detection_caption(part, metrics=["fpr_at_tpr"])
    assert "stands in" not in tables.detection_caption(part, metrics=["accuracy", "aurc"])


def test_the_best_and_the_best_without_outliers_are_marked(part, tmp_path):
    """Bold and underlined, among ours and among the paper's; lower is better for AURC and FPR."""
    path = tmp_path / "table.tex"
    tables.detection_to_latex(part, path, methods=METHODS, metrics=["fpr_at_tpr", "auroc"])
    lines = path.read_text(encoding="utf-8").splitlines()
    marks = {
        (line.partition(" &")[0], number): re.findall(r"\\(\w+)\{", cell)
        for line in lines
        if " & ours & " in line
        for number, cell in enumerate(line.split(" & ")[2:])
    }
    marked = {key: names for key, names in marks.items() if names}
    lowest = {("Baseline", column): ["textbf", "underline"] for column in range(3)}
    highest = {("OpenMax", column): ["textbf", "underline"] for column in (3, 4)}
    assert marked == lowest | highest
    svhn = next(line for line in lines if line.startswith(r" & paper & 88.33"))
    assert svhn.split(" & ")[3] == r"\textbf{21.27 $\pm$ 7.19}"  # Outlier Exposure: not underlined
    assert sum(r"\underline{78.70 $\pm$ 4.92}" in line for line in lines) == 1  # OpenMax


def test_a_number_alone_is_not_the_best_of_anything(part):
    """One method has nothing to be better than."""
    html = tables.detection_styler(part, methods={"crl": "CRL"}, metrics=["auroc"]).to_html()
    assert "text-decoration" not in html and "font-weight: bold" not in html


def test_where_all_are_the_same_none_is_the_best(part):
    level = part.assign(mean=part["mean"].where(part["metric"] != "accuracy", 0.5), paper=None)
    html = shown(level.astype({"paper": float}), "accuracy").to_html()
    assert "50.00" in html and "font-weight: bold" not in html


def test_the_page(part):
    """The same HTML each time, rows named under the pointer, and no colour set."""
    html = shown(part, "accuracy", "aurc").to_html()
    assert html == shown(part, "accuracy", "aurc").to_html()
    for rows in part.loc[part["metric"].isin(["accuracy", "aurc"]), "rows"]:
        assert f'title="rows {rows}"' in html
    assert not re.search(r"color|background|#[0-9a-f]{3}", html)
    assert html.count("font-weight: bold") == html.count("text-decoration: underline") > 0


def test_published_numbers_alone(printed, tmp_path):
    """A benchmark without a run of ours has the paper's rows only, and its caption says so."""
    alone = tables.printed_alone(printed[printed["table"] == "6"])
    frame = shown(alone, "accuracy", "auroc").data
    assert frame.index.tolist() == [(title, "paper") for title in METHODS.values()]
    assert frame.loc[("Deep Ensemble", "paper")].tolist()[:2] == ["84.30", "79.14"]
    assert tables.detection_caption(alone, metrics=["auroc"]).startswith(
        "The paper's Table 6, ImageNet-200 with ResNet-152, alone: there is no run of ours"
    )
    tables.to_csv(alone, tmp_path / "alone.csv")
    again = pd.read_csv(tmp_path / "alone.csv")
    assert again["paper"].tolist() == alone["paper"].tolist()


def test_ours_alone(table, printed):
    """Where the paper has no such table only ours are shown, and the caption says so."""
    own = tables.comparison(table, printed, published_as={}, families={})
    frame = shown(own, "accuracy").data
    assert {who for _, who in frame.index} == {"ours"}
    assert "the paper has no such table" in tables.detection_caption(own, metrics=["accuracy"])


def test_the_caption_says_what_is_compared(part):
    """Tier, runs (the ensemble has one) and the paper's table are named."""
    assert tables.detection_caption(part, metrics=["accuracy"]) == (
        "cifar10_mini with resnet8, tier mini: mean ± standard deviation over 1 to 2 runs, above "
        "the paper's Table 5, CIFAR-40 with ResNet18. Bold: best of the column; underlined: best "
        "without Outlier Exposure."
    )


def test_latex_needs_no_more_than_booktabs(part, tmp_path):
    """Plain ASCII, one rule of each kind, a cell for each column."""
    path = tmp_path / "table.tex"
    tables.detection_to_latex(part, path, methods=METHODS, metrics=["accuracy", "fpr_at_tpr"])
    latex = path.read_text(encoding="utf-8")
    assert latex.isascii() and r"FPR at 95 \% TPR $\downarrow$ (\%)" in latex
    assert [latex.count(rule) for rule in (r"\toprule", r"\midrule", r"\bottomrule")] == [1, 1, 1]
    body = latex[latex.index(r"\midrule") : latex.index(r"\bottomrule")].splitlines()[1:]
    assert [line.count(" & ") for line in body] == [5] * 18


def test_bad_input(part, table, printed):
    """Unknown names, nothing to show and mixed tables are refused by name."""
    with pytest.raises(ValueError, match="unknown metric 'auroq'; did you mean 'auroc'"):
        shown(part, "auroq")
    with pytest.raises(ValueError, match="part: no number of these methods and metrics"):
        tables.detection_styler(part, methods={"msp": "MSP"}, metrics=["auroc"])
    with pytest.raises(ValueError, match="part: empty"):
        tables.detection_caption(part.iloc[:0], metrics=["auroc"])
    with pytest.raises(
        ValueError, match="unknown data set of the paper 'SVNH'; did you mean 'SVHN'"
    ):
        tables.comparison(table, printed, **NAMES | {"published_as": {"digits": "SVNH"}})


def test_overview_names_the_test_sets_where_there_are_several(table):
    """The number of each test set has a line of its own."""
    frame = tables.overview(table, ["auroc", "fpr_at_tpr"]).data
    assert frame.index.names[1] == "test_set"
    line = ("cifar10_mini", "bubbles", "resnet8", "crl", "")
    assert frame.loc[line].tolist() == ["–", "0.111 ± 0.001"]
    assert "test_set" not in tables.overview(table, ["accuracy"]).data.index.names
