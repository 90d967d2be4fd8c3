"""The README shows what the committed results say."""

from pathlib import Path

import readme

ROOT = Path(__file__).resolve().parent.parent.parent


def test_the_readmes_are_up_to_date():
    """That of the repository, and that of the committed results."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert readme.filled(text) == text
    assert (ROOT / "results" / "README.md").read_text(encoding="utf-8") == readme.details()


def test_only_what_is_between_the_markers_changes():
    text = f"before\n{readme.START}\nold\n{readme.END}\nafter\n"
    renewed = readme.filled(text)
    assert renewed.startswith(f"before\n{readme.START}\n")
    assert renewed.endswith(f"{readme.END}\nafter\n")
    assert "old" not in renewed.split(readme.START)[1].split(readme.END)[0].splitlines()
