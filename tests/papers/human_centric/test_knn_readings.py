"""KNN with features that are not divided by their norms: the committed rows, and the page."""

import re

from helpers.files import project_root
from helpers.tables import results

PRETRAINED = project_root() / "results/pretrained"
PAGE = project_root() / "book/fidelity_human_centric.md"
VARIANTS = {"the paper's threshold": "primary", "fresh threshold": "fresh threshold"}
SETS = {"average of the sets": "average", "unknown images": "label-shifted"}


def test_the_page_shows_both_readings_of_knn():
    unchanged = results.read(PRETRAINED / "human_centric-knn.parquet")
    (network,) = unchanged["backbone"].unique()
    table = results.read(PRETRAINED / "human_centric.parquet").query("backbone == @network")
    shown = re.findall(r"^\| (.*), (.* threshold) \| (.*) \|$", PAGE.read_text("utf-8"), re.M)
    assert len(shown) == 4
    for images, threshold, cells in shown:
        where = f"metric == 'der99' and variant == {VARIANTS[threshold]!r}"
        where += f" and test_set == {SETS[images]!r}"
        of_table = table.query(where).set_index("method")["value"]
        values = [of_table["msp"], of_table["knn"], unchanged.query(where)["value"].item()]
        assert cells.split(" | ") == [f"{100 * value:.1f}" for value in values]
        assert values[2] > max(values[:2])
