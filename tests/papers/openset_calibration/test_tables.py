import re

import numpy as np
import pandas as pd
import pytest

from helpers.papers import all_tables as tables
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
    "published_as": {"digits": "SVHN", "cifar10_mini": "CIFAR10"},
    "families": {"resnet8": "ResNet", "densenet16": "DenseNet"},
}


def made_up(runs=2, variant="primary", data_sets=("digits", "cifar10_mini", "own")):
    generator = np.random.default_rng(0)
    return results.tidy(
        [
            {
                "tier": "mini",
                "paper": "openset_calibration",
                "data_set": data_set,
                "backbone": backbone,
                "run": run,
                "method": method,
                "calibration": calibration,
                "variant": variant,
                "metric": metric,
                "value": generator.random(),
                "images": 10,
            }
            for run in range(runs)
            for data_set in data_sets
            for backbone in ("densenet16", "resnet8")
            for method in ("open-set + OpenMax", "open-set", "closed-set")
            for calibration in ("before", "after")
            for metric in ("accuracy", "ece", "brier", "ece_floor")
        ],
        MADE,
    )


@pytest.fixture(scope="module")
def printed():
    return published.load("openset_calibration")


@pytest.fixture(scope="module")
def comparison(printed):
    return tables.comparison(made_up(), printed, **NAMES)


def part(comparison, data_set="digits", backbone="resnet8"):
    own = (comparison["data_set"] == data_set) & (comparison["backbone"] == backbone)
    return comparison[own]


def test_every_number_beside_its_own_of_the_paper(comparison, printed):
    table = made_up()
    assert len(comparison) == 6 * 18  # ece_floor is not in the paper
    row = comparison.iloc[1]
    where = ["data_set", "backbone", "method", "calibration", "metric"]
    ours = table[(table[where] == row[where].tolist()).all(axis=1)]
    assert row["mean"] == pytest.approx(ours["value"].mean())
    assert row["std"] == pytest.approx(ours["value"].std())
    assert row["runs"] == 2 and row["rows"].split() == ours["row"].tolist()
    theirs = ["CIFAR10", "ResNet", *row[where[2:]]]
    assert row["paper"] == printed[(printed[where] == theirs).all(axis=1)]["value"].item()
    assert row["difference"] == pytest.approx(row["mean"] - row["paper"])


def test_in_the_order_of_the_paper(comparison):
    order = comparison.drop_duplicates(["data_set", "backbone"])
    assert order["table"].tolist() == ["I", "II", "III", "IV", "", ""]
    assert order["data_set"].tolist()[:2] == ["cifar10_mini", "digits"]
    first = comparison[comparison["table"] == "I"]
    assert first["method"].unique().tolist() == ["closed-set", "open-set", "open-set + OpenMax"]


def test_a_data_set_that_the_paper_does_not_have(comparison):
    own = part(comparison, "own")
    assert own["paper"].isna().all() and own["difference"].isna().all()
    shown = tables.styler(own).data
    assert set(shown.columns.get_level_values(1)) == {"ours"}
    assert tables.caption(own).endswith("the paper has no such table.")


def test_what_cannot_be_compared_is_refused(comparison, printed):
    with pytest.raises(
        ValueError, match="unknown data set of the paper 'SVNH'; did you mean 'SVHN'"
    ):
        tables.comparison(made_up(), printed, **NAMES | {"published_as": {"digits": "SVNH"}})
    with pytest.raises(ValueError, match="unknown backbone of the paper 'Resnet'"):
        tables.comparison(made_up(), printed, **NAMES | {"families": {"resnet8": "Resnet"}})
    both = pd.concat([made_up(), made_up(variant="fixed threshold")])
    with pytest.raises(ValueError, match=r"several variants \(fixed threshold, primary\)"):
        tables.comparison(both, printed, **NAMES)
    with pytest.raises(ValueError, match="one data set and backbone expected, got cifar10_mini"):
        tables.styler(comparison)
    with pytest.raises(ValueError, match="part: empty"):
        tables.caption(comparison.iloc[:0])


def test_the_table_on_the_page(comparison):
    own = part(comparison)
    shown = tables.styler(own).data
    assert shown.shape == (6, 9)
    assert shown.index.tolist()[:2] == [("closed-set", "before"), ("closed-set", "after")]
    assert shown.columns.get_level_values(0).unique().tolist() == ["Brier", "ECE", "Accuracy"]
    number = own[(own["method"] == "open-set") & (own["calibration"] == "after")]
    number = number[number["metric"] == "ece"].iloc[0]
    cells = shown.loc[("open-set", "after"), "ECE"]
    assert cells["ours"] == f"{number['mean']:.3f} ± {number['std']:.3f}"
    assert cells["paper"] == "0.204"
    assert float(cells["Δ"].replace("−", "-")) == pytest.approx(number["difference"], abs=5e-4)
    html = tables.styler(own).to_html()
    assert html == tables.styler(own).to_html()
    assert not re.search(r"color|background|#[0-9a-f]{3}", html)  # the page's theme decides


def test_overview_has_mean_and_deviation_of_each_group():
    table = made_up(data_sets=("digits",))
    shown = tables.overview(table, ["ece", "accuracy"]).data
    assert list(shown.columns) == ["ece", "accuracy"]
    assert len(shown) == 2 * 3 * 2  # backbones, methods, before and after
    own = table.query("backbone == 'resnet8' and method == 'open-set' and calibration == 'after'")
    values = own.loc[own["metric"] == "ece", "value"]
    expected = f"{values.mean():.3f} ± {values.std():.3f}"
    assert shown.loc[("digits", "resnet8", "open-set", "after"), "ece"] == expected
    partial = table[(table["metric"] != "ece") | (table["method"] != "closed-set")]
    absent = tables.overview(partial, ["ece", "accuracy"]).data
    assert absent.loc[("digits", "resnet8", "closed-set", "after"), "ece"] == "–"
    with pytest.raises(ValueError, match="table: empty"):
        tables.overview(table, ["nothing"])


def test_a_number_names_the_rows_behind_it(comparison):
    part = comparison.query("data_set == 'digits' and backbone == 'resnet8'")
    page = tables.styler(part).to_html()
    for rows in part.loc[part["metric"].isin(tables.TITLES), "rows"]:
        assert f'title="rows {rows}"' in page
    table = made_up(data_sets=("digits",))
    page = tables.overview(table, ["ece"]).to_html()
    for rows in results.summary(table[table["metric"] == "ece"])["rows"]:
        assert f'title="rows {rows}"' in page


def test_the_caption_says_what_is_compared(comparison, printed):
    caption = tables.caption(part(comparison))
    assert caption == (
        "digits with resnet8, tier mini, for the paper's SVHN with ResNet: mean ± standard"
        " deviation over 2 runs, beside the paper's Table II; Δ is ours − paper."
    )
    single = part(tables.comparison(made_up(runs=1), printed, **NAMES))
    assert ": 1 run, beside" in tables.caption(single)
    assert "±" not in tables.styler(single).to_html()


def test_latex(comparison, tmp_path):
    path = tmp_path / "table.tex"
    tables.to_latex(part(comparison, "cifar10_mini"), path)
    latex = path.read_text(encoding="utf-8")
    for rule in (r"\toprule", r"\midrule", r"\bottomrule"):
        assert latex.count(rule) == 1
    assert r"\caption{cifar10\_mini with resnet8, tier mini" in latex
    assert r"$\pm$" in latex and latex.isascii()
    body = latex[latex.index(r"\midrule") : latex.index(r"\bottomrule")].splitlines()[1:]
    assert [line.count("&") for line in body] == [10] * 6


def test_csv_keeps_every_digit_and_the_rows(comparison, tmp_path):
    path = tmp_path / "comparison.csv"
    tables.to_csv(comparison, path)
    again = pd.read_csv(path, keep_default_na=False, na_values={"paper": "", "difference": ""})
    assert again["mean"].tolist() == comparison["mean"].tolist()
    assert again["rows"].tolist() == comparison["rows"].tolist()
    assert again["table"].tolist() == comparison["table"].tolist()
