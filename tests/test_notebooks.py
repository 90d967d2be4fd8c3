"""Notebooks on Colab; `pytest --nbval` compares them with their outputs."""

import re
import subprocess
import sys

import matplotlib.pyplot as plt
import nbformat

from helpers.modules import ROOT
from helpers.tables import figures


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
