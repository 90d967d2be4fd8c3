"""Figures of the tool have the look of the book, without an import from the book's tables."""

import tomllib
from fnmatch import fnmatch
from pathlib import Path

import matplotlib.pyplot as plt

from helpers.modules import ROOT
from helpers.tables.figures import use_style
from known_unknowns import LOOK


def test_the_tool_and_the_book_have_one_look():
    with plt.rc_context():
        use_style()
        book = dict(plt.rcParams)
    with plt.style.context(LOOK):
        assert dict(plt.rcParams) == book


def test_the_wheel_contains_every_file_of_the_tool():
    """setuptools leaves out a file whose ending no pattern names."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    patterns = project["tool"]["setuptools"]["package-data"]["*"]
    files = [path for path in (ROOT / "known_unknowns").rglob("*.*") if path.is_file()]
    for file in files:
        named = any(fnmatch(file.name, Path(pattern).name) for pattern in patterns)
        assert named or file.suffix in (".py", ".pyc"), file
