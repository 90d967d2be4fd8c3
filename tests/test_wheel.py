"""The wheel has one name; `workflow/bare.py` installs it next to files with usual names."""

import runpy
import subprocess
import sys

import pytest

from helpers.modules import ROOT
from tests.mistakes import beside

MOVED = beside(__file__, "moved.yaml")
SETUP = runpy.run_path(str(ROOT / "setup.py"))


@pytest.mark.parametrize(("line", "moved"), MOVED.items())
def test_imports_and_names_of_modules_are_changed(line, moved):
    assert SETUP["renamed"](line) == moved


def test_an_import_that_the_build_cannot_change_stops_it():
    left = SETUP["renamed"]("import os, helpers\nimport pictures  # ours\nimport helpers.scores")
    assert SETUP["unmoved"](left) == ["helpers", "pictures"]
    of_the_book = "from helpers.papers import run\nfrom helpers import outputs, tables"
    gone = ["known_unknowns._helpers.papers.run", "known_unknowns._helpers.tables"]
    assert SETUP["unmoved"](SETUP["renamed"](of_the_book)) == gone


def test_a_type_checker_knows_the_names_of_the_package(tmp_path):
    """The wheel has the mark of a typed package; a wrong name and a wrong type are errors."""
    assert (ROOT / "known_unknowns" / "py.typed").is_file()
    lines = (
        "from known_unknowns import Rejector, audit, bench, check_score",
        "audited = audit({}, risk=0.1, unit='text')",
        "rejector: Rejector | None = audited.rejector",
        "sentences: list[str] = audited.summary()",
        "results: dict[str, str] = check_score(lambda logits: logits.max(axis=1))",
        "table = bench(lambda logits: logits.max(axis=1)).means()",
        "wrong: str = audited.accuracy",
        "import known_unknowns; known_unknowns.adit({})",
    )
    (tmp_path / "user.py").write_text("\n".join(lines), encoding="utf-8")
    settings = ("--config-file", str(ROOT / "pyproject.toml"), "--follow-imports", "silent")
    command = [sys.executable, "-m", "mypy", *settings, str(tmp_path / "user.py")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert [line.partition("error: ")[2][:40] for line in done.stdout.splitlines()[:-1]] == [
        "Incompatible types in assignment (expres",
        'Module has no attribute "adit"; maybe "a',
    ]
