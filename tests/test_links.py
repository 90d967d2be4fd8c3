"""The check of a rendered book's links finds what is broken, and only that."""

from pathlib import Path

import pytest
import yaml

import book

BOOK = yaml.safe_load(Path(__file__).with_name("links.yaml").read_text("utf-8"))


@pytest.mark.parametrize("message", BOOK["added"])
def test_what_is_broken_is_named(tmp_path, message):
    added = BOOK["added"][message]
    for name, text in BOOK["pages"].items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text + added * (name == "book/intro.html"))
    problems = book.problems(tmp_path)
    assert len(problems) == bool(added) and message in "".join(problems)
