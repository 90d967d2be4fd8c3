"""Readings of KNN and trainings of one size: the committed rows, and the page."""

from itertools import product

from helpers.files import project_root
from helpers.papers.human_centric.parameters import PAPER_METHODS
from helpers.tables import results

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
    assert lost.min() == 0
    assert f"keeping to KNN loses {100 * lost.max():.1f} points" in PAGE.read_text("utf-8")
