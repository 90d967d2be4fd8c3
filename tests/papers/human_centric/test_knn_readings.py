"""Readings of KNN and trainings of one size: the committed rows, and the page."""

from itertools import product

import pandas as pd

from helpers.files import project_root
from helpers.papers.human_centric.parameters import PAPER_METHODS
from helpers.tables import results
from synthesis.claims import load_claims

PRETRAINED = project_root() / "results/pretrained"
PAGE = (project_root() / "book/fidelity_human_centric.md").read_text("utf-8")


def test_the_page_shows_both_readings_of_knn():
    unchanged = results.read(PRETRAINED / "human_centric-knn.parquet")
    table = results.read(PRETRAINED / "human_centric.parquet")
    table = table[table["backbone"].isin(unchanged["backbone"])].set_index("method")
    for variant, images in product(["primary", "fresh threshold"], ["average", "label-shifted"]):
        where = f"metric == 'der99' and variant == {variant!r} and test_set == {images!r}"
        (other,) = unchanged.query(where)["value"]
        values = [*table.query(where).loc[["msp", "knn"], "value"], other]
        assert " | ".join(f"{100 * value:.1f}" for value in values) in PAGE


def test_four_trainings_of_one_size_have_three_best_scores():
    rows = results.read(PRETRAINED / "human_centric.parquet")
    rows = rows[rows["backbone"].str.match("resnet20[^+]*$") & rows["method"].isin(PAPER_METHODS)]
    where = "metric == 'der99' and variant == 'fresh threshold' and test_set == 'average'"
    rates = rows.query(where).pivot(index="backbone", columns="method", values="value")
    assert sorted(rates.idxmin(axis=1)) == ["gradnorm", "knn", "vim", "vim"]
    lost = rates["knn"] - rates.min(axis=1)
    assert f"keeping to KNN loses {100 * lost.max():.1f} points" in PAGE


def test_two_networks_of_other_families_change_no_verdict():
    ours = results.read(PRETRAINED / "human_centric.parquet")
    others = results.read(PRETRAINED / "human_centric-families.parquet")
    averages = others.query("metric == 'der99' and test_set == 'average'").set_index("method")
    for _, rows in averages.groupby("backbone"):
        rates = 100 * rows["value"][["msp", "knn"]]
        assert " | ".join(rates.map("{:.1f}".format)) in PAGE
    assert {*rows.groupby("variant")["value"].idxmin()} == {"msp"}  # of Tiniest, the last network
    claims = load_claims("human_centric")
    both = pd.concat([ours, others], ignore_index=True)
    before, after = (claims.verdicts(claims.check(table))["verdict"] for table in (ours, both))
    assert after.equals(before)
