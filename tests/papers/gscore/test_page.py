"""The page of the chapter says of every estimator when not to use it."""

from pathlib import Path

import pytest

from helpers.labelfree import ACCURACY_ESTIMATORS
from helpers.papers.gscore.skills import ESTIMATOR_TITLES

PAGE = Path(__file__).resolve().parents[3] / "book" / "gscore.md"
TITLES = [*ESTIMATOR_TITLES.values(), *ACCURACY_ESTIMATORS.values()]


def advice(page: str) -> dict[str, str]:
    """Return the last cell of each row of tables whose last column says when not to use a thing."""
    found, inside = {}, False
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|"):
            inside = False
        elif "do not use it" in cells[-1]:
            inside = True
        elif inside:
            for name in cells[0].split(";"):
                found[name.partition("{")[0].strip()] = cells[-1]
    return found


@pytest.mark.parametrize("title", TITLES)
def test_each_estimator_has_a_row(title):
    assert len(advice(PAGE.read_text(encoding="utf-8"))[title]) > 10


def test_other_tables_are_no_advice():
    page = "| a | do not use it |\n| --- | --- |\n| b {cite:p}`c`; d | ever |\n\n| e | f |"
    assert advice(page) == {"---": "---", "b": "ever", "d": "ever"}
