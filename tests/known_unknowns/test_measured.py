"""The numbers of an audit hold at their levels, and the page shows how often."""

import numpy as np
import pandas as pd
import pytest

from benchmarks import audits, guarantees, labels, small, unlabelled
from helpers.modules import ROOT
from known_unknowns.auditing.sentences import render

PAGE = ROOT / "book/audit_measured.md"
#: Numbers of the tables, with their words on the page.
VALIDATION = {
    "accuracy": "accuracy: interval",
    "aurc": "AURC: interval",
    "risk": "guaranteed risk",
    "smallest": "smallest guaranteed risk",
    "average": "risk on average, 5 %",
    "by answer": "guaranteed risk of each answer",
    "worse answers": "answers that exceed the risk",
    "rejected": "coverage on average, 90 %",
    "conditional coverage": "coverage for one draw",
}
NEW = {
    "bound": "lower bound of unlike images",
    "moved": "share that another mixture explains",
    "rest": "lower bound of changed and unknown images",
    "list": "list of unlike images",
    "drift": "drift",
    "bracket": "bracket of the accuracy",
    "accepted": "largest risk of accepted answers, by the bracket",
    "labelled accuracy": "accuracy by labels",
    "labelled risk": "risk of accepted answers by labels",
    "labelled unknown": "share of unknown images by labels",
    "verdict": "guarantee confirmed or broken",
    "production": "guaranteed risk on new images, 300 labels",
}
CHANGES = {
    "corrupted images": "corrupted",
    "another mixture": "mixture",
    "groups of five images": "groups",
}
#: Columns of the comparison for new kinds of images, with the label of a row.
KINDS = {
    "all": "all {}",
    "kind": "new kind: {}",
    "change": "test images with {}",
    "share": "{:.0%} unknown images",
}
SHOWN = ("risk", "bound", "bracket", "accepted", "labelled accuracy", "labelled risk")


@pytest.fixture(scope="module")
def table():
    return pd.read_csv(audits.STORED)


def false_and_answered(rows, name):
    """Return in which share of the draws a number is false, and in which it exists."""
    draws = rows["draws"].sum()
    answered = rows[f"{name}, answers"].sum()
    count = answered if name in audits.IF_ANSWERED else draws
    return rows[name].sum() / count if count else np.nan, answered / draws if draws else 0


def rows_of_numbers(table, names):
    """Return the lines of a table with a row for each number."""
    lines = []
    for name, words in names.items():
        rows = table[table["labels"] == (300 if name == "production" else 60)]
        if name == "drift":  # of equal distributions
            rows = rows[(rows["unknown"] == 0) & rows["change"].isin(["none", "groups"])]
        cells = []
        for change in audits.CASES:
            of_change = rows[rows["change"] == change]
            wrong, answered = false_and_answered(of_change, name)
            cells.append(f"{100 * wrong:.1f} / {100 * answered:.0f}" if answered else "–")
        groups = rows.groupby(["change", "unknown", "images"])
        worst = np.nanmax([false_and_answered(group, name)[0] for _, group in groups])
        allowed = f"{100 * audits.ALLOWED[name]:.0f} %"
        lines.append("| " + " | ".join([words, allowed, *cells, f"{100 * worst:.1f} %"]) + " |")
    return lines


def rows_of_cases(table):
    """Return the lines of the table by share, number of images and corruption."""
    table = table[table["labels"] == 60]
    clean = table[table["change"] == "none"]
    cases = {f"{100 * share:g} % unknown": part for share, part in clean.groupby("unknown")}
    cases |= {f"{images:,} images": part for images, part in clean.groupby("images")}
    cases |= {words: table[table["change"] == change] for words, change in CHANGES.items()}
    lines = []
    for words, rows in cases.items():
        cells = []
        for name in SHOWN:
            wrong, answered = false_and_answered(rows, name)
            cells.append(f"{100 * wrong:.0f} / {100 * answered:.0f}")
        lines.append("| " + " | ".join([words, *cells]) + " |")
    return lines


def rows_of_few_images(table):
    """Return the lines of the table of few images: the coverage of each network and method."""
    wide = table.pivot(index="images", columns=["network", "method"], values="coverage")
    methods = ["half", "all", "on average"]
    columns = [(network, method) for network in small.NETWORKS for method in methods]
    return [
        f"| {images:,} | " + " | ".join(row.map("{:.2f}".format)) + " |"
        for images, row in wide[columns].iterrows()
    ]


def rows_of_libraries(table):
    """Return some lines of the comparison with other libraries, for scores without ties."""
    table = table[table["scores"].eq("smooth") & table["images"].isin([100, 300, 1000, 5000])]
    cells = table.pivot_table("coverage", ["network", "risk", "images"], "method")
    return [
        f"| {network}, {risk:.0%} | {images:,} | ".replace("%", " %")
        + " | ".join(row.map("{:.3f}".format))
        + " |"
        for (network, risk, images), row in cells.iterrows()
        if (network, risk) in (("CIFAR-10", 0.05), ("CIFAR-100", 0.1))
    ]


def read_kinds():
    """Return the comparison for new kinds of images."""
    rows = pd.read_parquet(unlabelled.STORED)
    return rows.assign(all="mixtures", rejector=rows["coverage"].notna())


def rows_of_kinds(table):
    """Return the lines of the table of new kinds of images."""
    lines = []
    for column, label in KINDS.items():
        for name, part in table.groupby(column):
            means = part[["accuracy", "accepted", "rejector", "coverage", "exceeded"]].mean()
            cells = " | ".join(means.map("{:.0%}".format)).replace("nan%", "–").replace("%", " %")
            words = "unchanged test images" if name == "none" else label.format(name)
            if column != "share" or name in (0.4, 0.8):
                lines.append(f"| {words.replace('%', ' %')} | {len(part):,} | {cells} |")
    return lines


def test_each_number_of_an_audit_holds_at_its_level(table):
    """A tolerance of one in ten thousand for chance; each cell has at least 200 draws."""
    cells = table.groupby(["change", "labels", "unknown", "images"])["draws"].sum()
    assert cells.min() >= 200
    assert len(cells) == 56
    assert audits.failing(table) == []


def test_a_cell_below_its_level_is_reported(table):
    """In one cell, each number is false in three times as many draws as allowed."""
    rows = table["images"].eq(200) & table["unknown"].eq(0.05) & table["change"].eq("none")
    bad = table.astype(dict.fromkeys(audits.ALLOWED, float))
    for name, allowed in audits.ALLOWED.items():
        bad.loc[rows, f"{name}, answers"] = bad["draws"]
        bad.loc[rows, name] = 3 * allowed * bad["draws"]
    reported = audits.failing(bad)
    for name in audits.ALLOWED:
        assert any(f", 0.05, 200): {name}, " in cell for cell in reported), name


def test_the_page_shows_the_simulated_audits(table):
    page = PAGE.read_text("utf-8")
    lines = [*rows_of_numbers(table, VALIDATION), *rows_of_numbers(table, NEW)]
    for line in (*lines, *rows_of_cases(table)):
        assert line in page, line
    draws = table.groupby("labels")["draws"].sum()
    assert f"{draws.sum():,.0f} audits" in page
    bracket = table["narrow"].sum() / table["bracket, answers"].sum()
    assert f"at most 30 points wide in {100 * bracket:.0f} %" in page


def test_the_page_shows_that_all_of_few_images_keep_more():
    """A guarantee of all images keeps more than one of half of them, and both hold."""
    page = PAGE.read_text("utf-8")
    table = pd.read_csv(small.STORED)
    assert all(line in page for line in rows_of_few_images(table))
    wide = table.pivot(index=["network", "images"], columns="method")
    assert (wide["coverage"]["all"] > wide["coverage"]["half"]).all()
    assert wide["violated"][["all", "half"]].max(axis=None) <= 0.05
    risks = wide["risk"]["on average"].groupby("network").max()
    assert (risks <= pd.Series(small.NETWORKS)).all()
    worst = 100 * wide["violated"][["all", "half"]].max(axis=None)
    assert f"too large in at most {worst:.1f} % of the draws" in page
    exceeded = 100 * wide["violated"]["on average"]
    words = f"the risk is too large in {exceeded.min():.0f} to {exceeded.max():.0f} % of the draws"
    assert words in page


def test_the_methods_page_shows_how_often_intervals_of_few_labels_hold():
    """The rows of 60 labels of 1,000 images; ours holds in each row, and PPI++ does not."""
    table = pd.read_csv(labels.INTERVALS)
    page = (ROOT / "book/audit_methods.md").read_text("utf-8")
    for _, row in table.query("labels == 60 and images == 1000").iterrows():
        pairs = [f"{100 * row[name]:.0f} %, {row[f'{name}, width']:.3f}" for name in labels.METHODS]
        cells = [row["network"], f"{100 * row['unknown']:.0f} %", *pairs, f"{row['worth']:.0f}"]
        assert f"| {' | '.join(cells)} |" in page
    ends = f"{100 * table['ours'].min():.0f} to {100 * table['ours'].max():.0f} % of the draws"
    assert f"Ours holds in {ends}" in page


def test_no_valid_guarantee_keeps_more_than_ours():
    """Ties make the guarantee of zugzwang void, so it counts without ties alone."""
    page = PAGE.read_text("utf-8")
    table = pd.read_parquet(guarantees.STORED)
    assert all(line in page for line in rows_of_libraries(table))
    cells = table.pivot_table("coverage", ["network", "scores", "risk", "images"], "method")
    worse = []
    for (network, scores, risk, images), row in cells.iterrows():
        best = row.drop(["zugzwang"] if scores != "smooth" else []).max()
        # plain learn-then-test ends the first walk half an image earlier on average
        earlier = 0.5 / images if images < 300 else 0
        if row["ours"] < best - 0.005 - earlier:
            worse.append((network, scores, risk, images))
            assert f"{row['ours']:.3f}, and plain {row['plain']:.3f}" in page
    assert worse == [("CIFAR-100", "two digits", 0.01, 5000)]
    # 0.0475 = 0.05 * 0.95
    ours = table[table["method"] == "ours"]
    assert ours.query("violated > 0.05 + 3 * (0.0475 / draws) ** 0.5").empty


def test_the_page_shows_the_brackets_of_new_kinds():
    page = PAGE.read_text("utf-8")
    table = read_kinds()
    assert all(line in page for line in rows_of_kinds(table))
    for column in ("all", "kind", "change", "share", "network"):
        assert (table.groupby(column)[["accuracy", "accepted"]].mean() >= 0.9).all(axis=None)
    assert (table.groupby("change")["exceeded"].mean().dropna() <= 0.1).all()
    assert table["accuracy"].eq(0).sum() == 1
    many = table[table["share"] == 0.8]
    each = many.groupby("network")["accepted"].mean()
    words = f"holds in {many['accepted'].mean():.0%}, and on CIFAR-100 in {each.min():.0%}."
    assert words.replace("%", " %") in page
    held = table[table["stated"].isna()][["accuracy", "accepted"]].eq(1)
    assert held.all(axis=None)
    assert f"both brackets hold in all {len(held)}." in page


def test_the_sentence_on_the_bracket_has_the_numbers_of_the_simulation(table):
    """The least share over networks, of all mixtures and of those with few unknown images."""
    (sentence,) = render("about_bracket")
    groups = table.groupby(["network", "change", "unknown"])[["bracket", "bracket, answers"]].sum()
    held = 100 * (1 - groups["bracket"] / groups["bracket, answers"])
    few = held[held.index.get_level_values("unknown") <= 0.2]
    numbers = (
        f"at least {int(held.min())} of 100 mixtures in each case, and for {int(few.min())} of 100"
    )
    assert f"{numbers} with up to 20 %" in sentence
    words = f"80 % unknown images, the bracket holds in {int(held.min())} % of the audits"
    assert words in PAGE.read_text("utf-8")
