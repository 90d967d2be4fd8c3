"""Readings of KNN and trainings of one size: the committed rows, and the page."""

from itertools import product

import pandas as pd

from helpers.files import project_root
from helpers.papers.human_centric.parameters import PAPER_METHODS
from helpers.tables import results
from synthesis.claims import load_claims

PRETRAINED = project_root() / "results/pretrained"
PAGE = project_root() / "book/fidelity_human_centric.md"


def test_the_page_shows_both_readings_of_knn():
    unchanged = results.read(PRETRAINED / "human_centric-knn.parquet")
    table = results.read(PRETRAINED / "human_centric.parquet")
    table = table[table["backbone"].isin(unchanged["backbone"])].set_index("method")
    for variant, images in product(["primary", "fresh threshold"], ["average", "label-shifted"]):
        where = f"metric == 'der99' and variant == {variant!r} and test_set == {images!r}"
        (other,) = unchanged.query(where)["value"]
        values = [*table.query(where).loc[["msp", "knn"], "value"], other]
        assert " | ".join(f"{100 * value:.1f}" for value in values) in PAGE.read_text("utf-8")


def test_four_trainings_of_one_size_have_three_best_scores():
    rows = results.read(PRETRAINED / "human_centric.parquet")
    rows = rows[rows["backbone"].str.match("resnet20[^+]*$") & rows["method"].isin(PAPER_METHODS)]
    where = "metric == 'der99' and variant == 'fresh threshold' and test_set == 'average'"
    rates = rows.query(where).pivot(index="backbone", columns="method", values="value")
    assert sorted(rates.idxmin(axis=1)) == ["gradnorm", "knn", "vim", "vim"]
    lost = rates["knn"] - rates.min(axis=1)
    assert f"keeping to KNN loses {100 * lost.max():.1f} points" in PAGE.read_text("utf-8")


def test_a_network_of_a_third_family_changes_no_verdict():
    ours = results.read(PRETRAINED / "human_centric.parquet")
    other = results.read(PRETRAINED / "human_centric-lmfrnet.parquet")
    averages = other.query("metric == 'der99' and test_set == 'average'")
    rates = 100 * averages.set_index(["method", "variant"])["value"]
    msp, fresh_msp, knn, fresh_knn = rates[["msp", "knn"]]
    text = f"{msp:.1f} % with MSP and {knn:.1f} % with KNN, with a fresh threshold {fresh_msp:.1f}"
    assert f"{text} and {fresh_knn:.1f} %" in PAGE.read_text("utf-8")
    claims = load_claims("human_centric")
    tables = (ours, pd.concat([ours, other], ignore_index=True))
    before, both = (claims.verdicts(claims.check(table))["verdict"].tolist() for table in tables)
    assert both == before
