"""The wheel has one name; `workflow/bare.py` installs it next to files with usual names."""

import runpy
from pathlib import Path

import pytest

from tests.mistakes import beside

MOVED = beside(__file__, "moved.yaml")
SETUP = runpy.run_path(str(Path(__file__).parents[1] / "setup.py"))


@pytest.mark.parametrize(("line", "moved"), MOVED.items())
def test_imports_and_names_of_modules_are_changed(line, moved):
    assert SETUP["renamed"](line) == moved


def test_an_import_that_the_build_cannot_change_stops_it():
    left = SETUP["renamed"]("import os, helpers\nimport pictures  # ours\nimport helpers.scores")
    assert SETUP["unmoved"](left) == ["helpers", "pictures"]
