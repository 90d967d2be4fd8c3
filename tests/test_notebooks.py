"""The rules of notebooks; ``pytest --nbval`` checks that their outputs are true."""

import ast
import json
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

from helpers.report import figures

ROOT = Path(__file__).resolve().parent.parent
EVERY = sorted((ROOT / "notebooks").rglob("*.ipynb"))
each = pytest.mark.parametrize("path", EVERY, ids=lambda path: f"{path.parent.name}/{path.stem}")


def cells(path: Path, kind: str) -> list[dict]:
    """Return the cells of one kind, their sources joined."""
    return [
        cell | {"source": "".join(cell["source"]), "tags": cell["metadata"].get("tags", [])}
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]
        if cell["cell_type"] == kind
    ]


@each
def test_the_result_comes_first_then_the_parameters_then_the_setup(path):
    """A parameter that is None has the value of the tier's file, so that no value is twice."""
    code = cells(path, "code")
    if path.parent.name != "audit":  # whose result is the reader's
        result, *code = code
        assert result["tags"] == ["remove-input"] and result["outputs"]
    assert [cell["tags"] for cell in code[:2]] == [["parameters"], ["hide-input"]]
    assert code[0]["source"].splitlines()[-1].startswith("overrides")
    assert "**overrides" in code[1]["source"]


@each
def test_cells_and_functions_are_short_and_outputs_are_clean(path):
    code = cells(path, "code")
    nodes = [node for cell in code for node in ast.walk(ast.parse(cell["source"]))]
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef)]
    assert not [node.name for node in functions if node.end_lineno - node.lineno >= 12]
    assert not [node.name for node in nodes if isinstance(node, ast.ClassDef)]
    assert max(cell["source"].count("\n") for cell in code) < 40
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    assert "stderr" not in {out.get("name") for cell in code for out in cell["outputs"]}
    assert path.stat().st_size < 2_000_000


@each
def test_numbers_in_the_summary_are_glued(path):
    outputs = [out.get("metadata", {}) for cell in cells(path, "code") for out in cell["outputs"]]
    glued = {out["scrapbook"]["name"] for out in outputs if "scrapbook" in out}
    prose = " ".join(cell["source"] for cell in cells(path, "markdown"))
    used = {text.split("`")[1] for text in prose.split("{glue:text}")[1:]}
    assert used and used <= glued


def test_the_shared_style_is_sharp_enough_and_fits_the_column():
    """On a screen of 1,300 pixels, of which a page's column has 704."""
    with plt.rc_context():
        figures.use_style()
        dpi, (width, _) = plt.rcParams["figure.dpi"], plt.rcParams["figure.figsize"]
        assert dpi >= 96 and dpi * width <= 704
        sizes = [plt.rcParams[f"{name}.labelsize"] for name in ("xtick", "ytick", "axes")]
        assert min(*sizes, plt.rcParams["legend.fontsize"]) / 72 * dpi >= 9
