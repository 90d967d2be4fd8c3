"""The notebooks' house rules; that their outputs are true is checked by ``pytest --nbval``."""

import ast
import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from helpers.papers.parameters import home

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = sorted((ROOT / "notebooks").rglob("*.ipynb"))
each = pytest.mark.parametrize(
    "path", NOTEBOOKS, ids=lambda path: f"{path.parent.name}/{path.stem}"
)


def cells(path: Path, kind: str) -> list[dict]:
    """Return the cells of one kind, their sources joined."""
    found = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [
        cell | {"source": "".join(cell["source"]), "tags": cell["metadata"].get("tags", [])}
        for cell in found
        if cell["cell_type"] == kind
    ]


def converted(path: Path) -> bool:
    """Tell whether a paper has `Parameters`; goes, with what asks it, when the last one has."""
    return find_spec(f"{home(path.parent.name)}.parameters") is not None


def test_there_are_notebooks():
    papers = {path.parent.name for path in NOTEBOOKS}
    chapters = {"gscore", "human_centric", "openset_calibration", "uimnet", "unknown_detection"}
    others = {
        "audit": {"audit"},
        "synthesis": {"training", "evaluation", "figures", "ledger", "published"},
    }
    assert papers == chapters | set(others)
    for paper in papers:
        stems = {path.stem for path in NOTEBOOKS if path.parent.name == paper}
        assert stems == others.get(paper, {"dataset", "training", "evaluation", "figures"})


@each
def test_shape(path):
    prose, code = cells(path, "markdown"), cells(path, "code")
    title = prose[0]["source"].splitlines()
    assert title[0].startswith("# ") and title[2].startswith("**")
    assert "```{admonition} What this notebook reproduces" in prose[0]["source"]
    assert "## Summary" in prose[-2]["source"] and "## Exercises" in prose[-1]["source"]
    assert code[0]["tags"] == ["parameters"]
    if not converted(path):
        assert code[1]["source"].endswith("\n\ncheck_parameters(globals())")
        return
    assert "parameters = " in code[1]["source"] and "**overrides" in code[1]["source"]
    assert not any("globals()" in cell["source"] for cell in code)


@each
def test_parameters_are_a_tier_a_few_knobs_and_overrides(path):
    """What is None is as the tier's file says, so that each value stands in one place."""
    if converted(path):
        source = cells(path, "code")[0]["source"]
        names = [ast.unparse(node.targets[0]) for node in ast.parse(source).body]
        assert names[0] == "tier" and names[-1] == "overrides"
        assert len(source.splitlines()) <= 15


@each
def test_cells_are_few_and_short(path):
    """The parameters, a list of declarations, apart."""
    code = cells(path, "code")
    lengths = [len(cell["source"].splitlines()) for cell in code[1:]]
    assert 10 <= len(code) <= 20
    assert max(lengths) <= 25
    assert sum(lengths) <= 150


@each
def test_functions_are_short_and_there_are_no_classes(path):
    for cell in cells(path, "code"):
        for node in ast.walk(ast.parse(cell["source"])):
            assert not isinstance(node, ast.ClassDef)
            if isinstance(node, ast.FunctionDef):
                assert node.end_lineno - node.lineno < 12, node.name


@each
def test_every_parameter_is_typed(path):
    """Where it has no class that says so."""
    nodes = [] if converted(path) else ast.parse(cells(path, "code")[0]["source"]).body
    for node in nodes:
        assert isinstance(node, ast.AnnAssign), ast.unparse(node)


@each
def test_outputs_are_stored_and_clean(path):
    code = cells(path, "code")
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    streams = [out.get("name") for cell in code for out in cell["outputs"]]
    assert "stderr" not in streams
    assert path.stat().st_size < 1_500_000


@each
def test_some_outputs_are_compared_strictly(path):
    strict = [
        cell
        for cell in cells(path, "code")
        if cell["outputs"] and "nbval-ignore-output" not in cell["tags"]
    ]
    assert strict


@each
def test_numbers_in_the_summary_are_glued(path):
    glued = {
        out["metadata"]["scrapbook"]["name"]
        for cell in cells(path, "code")
        for out in cell["outputs"]
        if "scrapbook" in out.get("metadata", {})
    }
    used = [
        part.split("`")[1]
        for cell in cells(path, "markdown")
        for part in cell["source"].split("{glue:text}")[1:]
    ]
    assert used and set(used) <= glued
