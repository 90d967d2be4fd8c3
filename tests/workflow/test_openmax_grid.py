"""OpenMax at each pair of its parameters: the committed rows, and the page that shows them."""

import re

import numpy as np
import pytest

from helpers.files import project_root
from helpers.tables import results

SMALL = project_root() / "results/small"
PAGE = project_root() / "book/fidelity_unknown_detection.md"
PAIR = r"(?P<kind>.*), alpha (?P<alpha>\d+), tail (?P<tail>\d+)"
AUTHORS = "flat weights, augmented statistics"


@pytest.fixture(scope="module")
def grid():
    table = results.read(SMALL / "unknown_detection-openmax.parquet")
    table = table.join(table["variant"].str.extract(PAIR).astype({"alpha": int, "tail": int}))
    return table.pivot_table("value", ["kind", "alpha", "tail", "run"], "metric")


def test_the_chosen_pairs_give_the_committed_rows(grid):
    """Of two networks the committed rows are from weights before the export, in float32."""
    table = results.read(SMALL / "unknown_detection.parquet").query("method == 'openmax'")
    chosen = table["notes"].str.extract(r"alpha (?P<alpha>\d+), tail (?P<tail>\d+)").astype(int)
    for variant, kind in {"primary": "falling weights", "authors": "flat weights"}.items():
        for row in table.join(chosen)[table["variant"] == variant].itertuples():
            if (row.test_set, row.metric) in (("test", "aurc"), ("near", "auroc")):
                pair = f"{kind}, plain statistics", row.alpha, row.tail, row.run
                assert grid.loc[pair, row.metric] == pytest.approx(row.value, abs=3e-4)


def test_the_page_shows_the_rows_and_the_answer(grid):
    means = grid.groupby(["kind", "alpha", "tail"]).mean()
    text = PAGE.read_text(encoding="utf-8")
    shown = re.findall(r"^\| (\d+) \| (.*) \|$", text, re.M)
    tails = sorted(means.index.unique("tail"))
    for alpha, cells in shown:
        for tail, cell in zip(tails, cells.split(" | "), strict=True):
            values = means.loc[(AUTHORS, int(alpha), tail)]
            risk, area, accuracy = 1000 * values["aurc"], 100 * values["auroc"], values["accuracy"]
            assert cell == f"{risk:.0f}, {area:.1f}, {100 * accuracy:.1f}"
    assert [alpha for alpha, _ in shown] == ["1", "5", "10", "20", "30", "40"]
    assert means["accuracy"][means["aurc"] > 0.15].max() == pytest.approx(0.54, abs=0.005)
    kept = means[means["accuracy"] > 0.8005 - 0.01]
    assert kept["aurc"].idxmax()[1:] == (40, 2)
    assert f"{1000 * kept['aurc'].max():.0f}" == "112"
    low = means[means["aurc"] < 0.2]["aurc"].unstack("kind")
    for weights in ("falling weights", "flat weights"):
        change = low[f"{weights}, plain statistics"] - low[f"{weights}, augmented statistics"]
        assert np.nanmax(change.abs()) < 0.0095
