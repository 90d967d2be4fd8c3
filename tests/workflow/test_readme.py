"""README and front picture show what the committed results say."""

import re

import front
import glance
import openings
import pytest
import readme

from helpers.papers import PAPERS

README = readme.ROOT / "README.md"


def test_the_readmes_are_up_to_date():
    """That of the repository, and that of the committed results."""
    text = README.read_text(encoding="utf-8")
    assert readme.filled(text) == text
    assert (readme.RESULTS / "README.md").read_text(encoding="utf-8") == readme.details()


def test_the_picture_counts_the_verdicts_of_the_ledger():
    verdicts = front.stored()["verdicts"]
    assert verdicts == front.count_verdicts(glance.largest(readme.judged()))
    assert sum(verdicts.values()) == sum(len(PAPERS[name].claims.CLAIMS.claims)
                                         for name in glance.TITLES)  # fmt: skip


def test_the_effects_of_main_claims_have_plain_sentences():
    found = readme.judged()
    for name in glance.TITLES:
        own = found[(found["paper"] == name) & (found["claim"] == PAPERS[name].main_claim)]
        for effect in filter(None, own["decided_by"]):
            assert any(re.fullmatch(one, effect) for one in openings._MEASURED), effect


def test_only_what_is_between_the_markers_changes(monkeypatch):
    monkeypatch.setattr(readme, "block", lambda: "new table")
    monkeypatch.setattr(readme, "picture", lambda: "new picture")
    text = "a\n<!-- front:start -->\nold\n<!-- front:end -->\nb\n<!-- results:start -->\nold\n"
    text += "<!-- results:end -->\nc\n"
    picture, table = "old\n<!-- front", "old\n<!-- results"
    changed = text.replace(picture, f"new picture{picture[3:]}")
    assert readme.filled(text) == changed.replace(table, f"new table{table[3:]}")


def test_the_readme_is_short_and_begins_with_the_picture_and_a_command():
    text = README.read_text(encoding="utf-8")
    assert sum(bool(re.search(r"\w", word)) for word in text.split()) <= 900
    lines = text.splitlines()
    (picture,) = (place for place, line in enumerate(lines) if line.startswith("!["))
    assert picture < 10 and front.PICTURE.exists()
    first = text.partition("```console\n")[2].partition("```")[0]
    assert first.startswith("$ pip install .\n$ known-unknowns demo\n")
    assert lines.index("```") < 45


@pytest.mark.parametrize("tier", glance.TIERS)
def test_each_tier_is_in_the_readme(tier):
    assert f"\n| `{tier}`" in README.read_text(encoding="utf-8")
