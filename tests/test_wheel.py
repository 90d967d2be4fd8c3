"""The wheel has one name; `workflow/bare.py` installs it next to files with usual names."""

import runpy
from pathlib import Path

import pytest

SETUP = runpy.run_path(str(Path(__file__).parents[1] / "setup.py"))


@pytest.mark.parametrize(
    ("line", "moved"),
    [
        ("from helpers.data import load", "from known_unknowns._helpers.data import load"),
        ("from helpers import checks", "from known_unknowns._helpers import checks"),
        ("    import pictures", "    from known_unknowns import _pictures as pictures"),
        (
            "import helpers.scores",
            "import known_unknowns._helpers.scores\nfrom known_unknowns import _helpers as helpers",
        ),
        ("import helpers.tables as t", "import known_unknowns._helpers.tables as t"),
        ('code = f"helpers.{name}"', 'code = f"known_unknowns._helpers.{name}"'),
        ("import helpers_of_mine", "import helpers_of_mine"),
        ("helpers.scores.create(name)", "helpers.scores.create(name)"),
        ('"helpers of a user"', '"helpers of a user"'),
        ("#: see `helpers.data`", "#: see `helpers.data`"),
    ],
)
def test_imports_and_names_of_modules_are_changed(line, moved):
    assert SETUP["renamed"](line) == moved


def test_an_import_that_the_build_cannot_change_stops_it():
    left = SETUP["renamed"]("import os, helpers\nimport pictures  # ours\nimport helpers.scores")
    assert SETUP["unmoved"](left) == ["helpers", "pictures"]
