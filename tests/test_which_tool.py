"""The page "Which tool for which question": its lines run, and do what it says."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parent.parent / "book" / "which_tool.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S)


@pytest.fixture(scope="module")
def names():
    """Return what the page's lines, one block after the other, have given names to."""
    names: dict = {}
    for block in BLOCKS:
        exec(compile(block, str(PAGE), "exec"), names)
    return names


def test_each_answer_is_one(names):
    assert names["found"].rejector is not None
    assert names["suspect"][200:].mean() > 2 * names["suspect"][:200].mean()
    assert names["listed"].chosen.any() and 0 < names["at_least"] < 1 / 3
    assert names["promised"].bound <= 0.05
    assert (names["scores"] >= names["accepted_always"]).mean() >= 0.9
    assert 0 <= names["open_set"] <= 1 and names["after"] < 0.05
    right = (names["new_logits"].argmax(axis=1) == names["truth"]).mean()
    assert right < names["accuracy"]["average_confidence"].value  # unknown images look surer
    assert names["foretold"]["auroc"].value > 0.7
    assert len(names["ranking"]) and 0 <= names["aurc"] < 0.1


def test_every_question_has_an_answer_of_ours_or_names_another():
    for section in re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.M)[1:]:
        title, _, text = section.partition("\n")
        assert title.endswith("?")
        assert "```" in text or "https://" in text or "{doc}" in text, title
