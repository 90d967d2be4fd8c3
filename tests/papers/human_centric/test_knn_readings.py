"""KNN with features that are not divided by their norms: the committed rows, and the page."""

from itertools import product

from helpers.files import project_root
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
