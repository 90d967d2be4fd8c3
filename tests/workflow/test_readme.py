"""The README shows what the committed results say."""

from pathlib import Path

import readme

ROOT = Path(__file__).resolve().parent.parent.parent


def test_the_readmes_are_up_to_date():
    """That of the repository, and that of the committed results."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert readme.filled(text) == text
    assert (ROOT / "results" / "README.md").read_text(encoding="utf-8") == readme.details()


def test_only_what_is_between_the_markers_changes(monkeypatch):
    monkeypatch.setattr(readme, "block", lambda: "new")
    text = f"before\n{readme.START}\nold\n{readme.END}\nafter\n"
    assert readme.filled(text) == text.replace("old", "new")
