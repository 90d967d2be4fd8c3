"""The numbers of an audit hold at their levels, and the page shows how often."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks import audits
from known_unknowns.auditing.sentences import render
from known_unknowns.few_labels import labelled_share

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "book/audit_measured.md"
#: Numbers of the tables, with their words on the page.
VALIDATION = {
    "accuracy": "accuracy: interval",
    "aurc": "AURC: interval",
    "risk": "guaranteed risk",
    "smallest": "smallest risk that can be guaranteed",
    "average": "risk on average, 5 %",
    "by answer": "guaranteed risk of each answer",
    "worse answers": "answers that exceed the risk",
    "rejected": "coverage on average, 90 %",
    "conditional coverage": "coverage for one draw",
}
NEW = {
    "bound": "lower bound of unlike images",
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
SHOWN = ("risk", "bound", "bracket", "accepted", "labelled accuracy", "labelled risk")


@pytest.fixture(scope="module")
def table():
    return pd.read_csv(audits.STORED)


def false_and_answered(rows, name):
    """Return in which share of the draws a number is false, and in which it exists."""
    draws = rows["draws"].sum()
    answered = rows[f"{name}, answers"].sum()
    count = answered if name in audits.IF_ANSWERED else draws
    return rows[name].sum() / count if count else np.nan, answered / draws


def rows_of_numbers(table, names):
    """Return the lines of a table with a row for each number."""
    lines = []
    for name, words in names.items():
        rows = table[table["labels"] == (300 if name == "production" else 60)]
        if name == "drift":  # of equal distributions
            rows = rows[(rows["unknown"] == 0) & (rows["change"] == "none")]
        cells = []
        for change in ("none", "corrupted"):
            of_change = rows[rows["change"] == change]
            if len(of_change):
                wrong, answered = false_and_answered(of_change, name)
                cells += [f"{100 * wrong:.1f} %", f"{100 * answered:.0f} %"]
            else:
                cells += ["–", "–"]
        groups = rows.groupby(["change", "unknown", "images"])
        worst = max(false_and_answered(group, name)[0] for _, group in groups)
        allowed = f"{100 * audits.ALLOWED[name]:.0f} %"
        lines.append("| " + " | ".join([words, allowed, *cells, f"{100 * worst:.1f} %"]) + " |")
    return lines


def rows_of_cases(table):
    """Return the lines of the table by share, number of images and corruption."""
    table = table[table["labels"] == 60]
    clean = table[table["change"] == "none"]
    cases = {f"{100 * share:g} % unknown": part for share, part in clean.groupby("unknown")}
    cases |= {f"{images:,} images": part for images, part in clean.groupby("images")}
    cases["corrupted images"] = table[table["change"] == "corrupted"]
    lines = []
    for words, rows in cases.items():
        cells = []
        for name in SHOWN:
            wrong, answered = (f"{100 * number:.0f} %" for number in false_and_answered(rows, name))
            cells.append(f"{wrong} ({answered})" if answered != "0 %" else "– (0 %)")
        lines.append("| " + " | ".join([words, *cells]) + " |")
    return lines


def test_each_number_of_an_audit_holds_at_its_level(table):
    """A tolerance of one in ten thousand for chance; each cell has at least 200 draws."""
    cells = table.groupby(["change", "labels", "unknown", "images"])["draws"].sum()
    assert cells.min() >= 200
    assert len(cells) == 2 * (6 * 3 + 2 * 2)
    assert audits.failing(table) == []


@pytest.mark.parametrize("name", audits.ALLOWED)
def test_a_cell_below_its_level_is_reported(table, name):
    """One network with 200 images is false in three times as many draws as allowed."""
    rows = table["images"].eq(200) & table["unknown"].eq(0.05) & table["change"].eq("none")
    bad = table.astype({name: float})
    bad.loc[rows, f"{name}, answers"] = bad["draws"]
    bad.loc[rows, name] = 3 * audits.ALLOWED[name] * bad["draws"]
    assert any(f": {name}, " in cell for cell in audits.failing(bad))


def test_the_page_shows_the_simulated_audits(table):
    page = PAGE.read_text("utf-8")
    lines = [*rows_of_numbers(table, VALIDATION), *rows_of_numbers(table, NEW)]
    for line in (*lines, *rows_of_cases(table)):
        assert line in page, line
    draws = table.groupby("labels")["draws"].sum()
    assert f"{draws.sum():,} audits" in page
    assert f"{table['cpu_seconds'].sum() / 60:.0f} CPU minutes" in page
    bracket = table["narrow"].sum() / table["bracket, answers"].sum()
    assert f"at most 30 points wide in {bracket:.0%}" in page.replace(" %", "%")
