"""Notebooks with papermill and on Colab; `pytest --nbval` compares them with their outputs."""

import re
import subprocess
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import nbformat
import papermill
import pytest
from papermill.exceptions import PapermillExecutionError

from helpers.tables import figures

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize(
    ("name", "message"),
    [("epoch", "did you mean 'epochs'"), ("bins", r"-y '\{overrides: \{NAME: VALUE\}\}'")],
)
def test_a_misspelt_name_of_papermill_stops_the_notebook(name, message, tmp_path):
    """Before, it ran for minutes with the defaults, and ended with status 0."""
    whole = nbformat.read(ROOT / "notebooks/openset_calibration/training.ipynb", 4)
    code = [cell for cell in whole.cells if cell.cell_type == "code"]
    whole.cells = code[:3]
    nbformat.write(whole, tmp_path / "first.ipynb")
    paths = tmp_path / "first.ipynb", tmp_path / "out.ipynb"
    with pytest.raises(PapermillExecutionError, match=f"unknown parameter '{name}'.*{message}"):
        papermill.execute_notebook(*paths, {name: 3}, cwd=ROOT, progress_bar=False)
    papermill.execute_notebook(*paths, {"epochs": 3}, cwd=ROOT, progress_bar=False)


def test_a_notebook_alone_fetches_what_it_reads(tmp_path):
    """Outside of a checkout, as after a download; only the installation is left out."""
    page = nbformat.read(ROOT / "notebooks/synthesis/ledger.ipynb", 4)
    (fetch,) = (cell.source for cell in page.cells if cell.id == "fetch")
    lines = re.sub(r"https://\S+(?=\"\))", f"{ROOT.as_uri()} known-unknowns", fetch).splitlines()
    assert lines.pop().endswith("""pip install -q ".[torch,book]"')""")
    lines[-3] = "if True:"  # the tests have installed the project
    code = """
sys.path.insert(0, "")  # as a notebook has it
from synthesis import chapters, findings
from synthesis.across.tables import headline
chapters.load("synthesis", "mini")
findings.find("temperature")
headline()
print(chapters.__file__)
"""
    (tmp_path / "first.py").write_text("\n".join(lines) + code)
    shown = subprocess.check_output([sys.executable, "first.py"], cwd=tmp_path, text=True)
    assert str(tmp_path / "known-unknowns") in shown


def test_the_shared_style_is_sharp_enough_and_fits_the_column():
    """On a screen of 1,300 pixels, of which a page's column has 704."""
    with plt.rc_context():
        figures.use_style()
        dpi, (width, _) = plt.rcParams["figure.dpi"], plt.rcParams["figure.figsize"]
        assert dpi >= 96 and dpi * width <= 704
        sizes = [plt.rcParams[f"{name}.labelsize"] for name in ("xtick", "ytick", "axes")]
        assert min(*sizes, plt.rcParams["legend.fontsize"]) / 72 * dpi >= 9
