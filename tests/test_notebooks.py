"""The rules of notebooks; ``pytest --nbval`` checks that their outputs are true."""

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import nbformat
import pandas as pd
import papermill
import pytest
from papermill.exceptions import PapermillExecutionError

from helpers.tables import figures
from synthesis.chapters import CHAPTERS

ROOT = Path(__file__).resolve().parent.parent
EVERY = sorted((ROOT / "notebooks").rglob("*.ipynb"))
FOLDS = {"hide-output", "hide-cell", "remove-cell", "remove-output"}
each = pytest.mark.parametrize("path", EVERY, ids=lambda path: f"{path.parent.name}/{path.stem}")


def cells(path: Path, kind: str) -> list[dict]:
    """Return the cells of one kind, their sources joined."""
    every = json.loads(path.read_text(encoding="utf-8"))["cells"]
    for cell in every:
        cell |= {"source": "".join(cell["source"]), "tags": cell["metadata"].get("tags", [])}
    return [cell for cell in every if cell["cell_type"] == kind]


def test_every_chapter_has_its_notebooks():
    others = {"audit": {"audit"}, "beyond": {"without_labels"}}
    others["synthesis"] = {"evaluation", *CHAPTERS["synthesis"].about_all}
    for paper in {*CHAPTERS, *others}:
        stems = {path.stem for path in EVERY if path.parent.name == paper}
        assert stems == others.get(paper, {"dataset", "training", "evaluation", "figures"})


@each
def test_the_result_comes_first_then_the_parameters_then_the_setup(path):
    """A parameter that is None has the value of the tier's file, so that no value is twice."""
    result, given, loaded = cells(path, "code")[:3]
    if path.parent.name == "audit":  # whose result is the reader's
        given, loaded, _ = cells(path, "code")[:3]
    else:
        assert result["tags"] == ["remove-input"] and result["outputs"]
    assert given["tags"] == ["parameters"] and loaded["tags"] == ["hide-input"]
    names = [ast.unparse(node.targets[0]) for node in ast.parse(given["source"]).body]
    assert names[-1] == "overrides" and len(given["source"].splitlines()) <= 15
    assert "parameters = " in loaded["source"] and "**overrides" in loaded["source"]
    before, _, _ = loaded["source"].partition("overrides")
    assert "\ncheck_given()\n" in before and "\noverrides = {}" in given["source"]


@pytest.mark.parametrize(
    ("name", "message"),
    [("epoch", "did you mean 'epochs'"), ("bins", r"-y '\{overrides: \{NAME: VALUE\}\}'")],
)
def test_a_misspelt_name_of_papermill_stops_the_notebook(name, message, tmp_path):
    """Before, it ran for minutes with the defaults, and ended with status 0."""
    whole = nbformat.read(ROOT / "notebooks/openset_calibration/training.ipynb", 4)
    code = [cell for cell in whole.cells if cell.cell_type == "code"]
    whole.cells = code[1:3]
    nbformat.write(whole, tmp_path / "first.ipynb")
    paths = tmp_path / "first.ipynb", tmp_path / "out.ipynb"
    with pytest.raises(PapermillExecutionError, match=f"unknown parameter '{name}'.*{message}"):
        papermill.execute_notebook(*paths, {name: 3}, cwd=ROOT, progress_bar=False)
    papermill.execute_notebook(*paths, {"epochs": 3}, cwd=ROOT, progress_bar=False)


def test_the_recipe_for_colab_gives_what_a_notebook_reads(tmp_path):
    """Outside of a checkout; only the installation is left out."""
    page = (ROOT / "book/how_to_run.md").read_text(encoding="utf-8")
    recipe = re.search(r"On Colab, execute this first:\n\n```ipython3\n(.*?)```", page, re.S)[1]
    clone, enter, install = recipe.splitlines()
    assert install == '%pip install -q ".[torch,book]"'
    clone = re.sub(r"https://\S+", ROOT.as_uri() + " known-unknowns", clone)
    first = """
import sys
sys.path.insert(0, "")  # as a notebook has it
from synthesis import chapters
from synthesis.across.tables import headline
chapters.load("synthesis", "mini")
headline()
print(chapters.__file__)
"""
    code = "\n".join([clone, enter, first])
    (tmp_path / "first.ipy").write_text(code)
    outside = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [sys.executable, "-m", "IPython", "--colors=NoColor", "first.ipy"]
    done = subprocess.run(command, cwd=tmp_path, env=outside, capture_output=True, text=True)
    assert str(tmp_path / "known-unknowns") in done.stdout, done.stdout + done.stderr


@each
def test_cells_are_short_and_stored_outputs_clean_and_some_compared(path):
    code = cells(path, "code")
    assert max(len(cell["source"].splitlines()) for cell in code) <= 40
    assert not [cell for cell in code if re.search(r"figure\.dpi|\bdpi=", cell["source"])]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    assert "stderr" not in {out.get("name") for cell in code for out in cell["outputs"]}
    assert path.stat().st_size < 2_000_000
    compared = str([cell["outputs"] for cell in code if "nbval-ignore-output" not in cell["tags"]])
    assert "output_type" in compared and not re.search(" at 0x[0-9a-f]{6}", compared)


def sizes(markdown: str) -> tuple[int, list[tuple[int, int]]]:
    """Return the number of words, and the rows and columns of each table, without folds."""
    text = re.sub(r"^(`{3,}).*?^\1$|\$\$.*?\$\$", "", markdown, flags=re.S | re.M)
    tables = [table.splitlines() for table in re.findall(r"(?:^\|.*\n?)+", text, re.M)]
    words = " ".join(line for line in text.splitlines() if not line.startswith("|")).split()
    return len(words), [(len(table) - 2, table[1].count("|") - 1) for table in tables]


@pytest.mark.parametrize("paper", CHAPTERS)
def test_an_overview_is_short_and_states_the_minutes(paper):
    """They are rounded from the measured CPU seconds, which another machine may change a little."""
    text = (ROOT / "book" / f"{paper}.md").read_text(encoding="utf-8")
    words, tables = sizes(text)
    assert words <= 900 and len(tables) <= 5
    # nine scores, and two rules without a score
    assert all(rows <= 11 and columns <= 7 for rows, columns in tables)
    seconds = pd.read_parquet(ROOT / "benchmarks/results/pipeline.parquet")["seconds"][paper]
    stated = re.search(r"need about (\d+) minutes? of one CPU core at tier `mini`", text)[1]
    assert abs(60 * int(stated) - seconds) <= 45


@each
def test_a_page_is_short(path):
    """What a page shows before its reader opens a fold; the limits are the design's."""
    words, tables = sizes("\n".join(cell["source"] for cell in cells(path, "markdown")))
    code = [cell for cell in cells(path, "code") if not FOLDS & {*cell["tags"]}]
    shown = [out.get("data", {}) for cell in code for out in cell["outputs"]]
    html = "\n".join("".join(data.get("text/html", "")) for data in shown)
    html = re.sub("<details.*?</details>", "", html, flags=re.S)
    for table in re.findall("<table.*?</table>", html, re.S):
        rows = re.findall("<tr.*?</tr>", table.split("</thead>")[-1], re.S)
        tables.append((len(rows), max((len(re.findall("<t[hd]", row)) for row in rows), default=0)))
    assert words <= 1000 and len(tables) <= 5
    # nine scores, and two rules without a score
    assert all(rows <= 11 and columns <= 7 for rows, columns in tables)
    assert sum("image/png" in data for data in shown) <= 5


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


def test_titles_of_pages_are_unique():
    titles = [cells(path, "markdown")[0]["source"].splitlines()[0] for path in EVERY]
    pages = [page.read_text(encoding="utf-8") for page in (ROOT / "book").glob("*.md")]
    titles += [re.search(r"^# .+$", page, re.M)[0] for page in pages]
    assert len(titles) == len(set(titles))
