import re
from pathlib import Path

import matplotlib
import pytest
import seaborn

from helpers.report import figures
from helpers.report.figures.style import SMALLEST

ROOT = Path(__file__).resolve().parents[3]


def test_the_style_is_for_all_figures():
    with matplotlib.rc_context():
        figures.use_style()
        assert matplotlib.rcParams["figure.figsize"] == [6, 4]
        assert matplotlib.rcParams["font.size"] == 11


def test_where_it_does_not_say_otherwise_the_style_is_that_of_seaborn():
    """Which is not imported for it; no figure asks for the default colour map."""
    own = {
        "axes.labelsize", "axes.spines.right", "axes.spines.top", "axes.titlesize", "font.size",
        "image.cmap", "legend.fontsize", "xtick.labelsize", "ytick.labelsize",
    }  # fmt: skip
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        figures.use_style()
        ours = dict(matplotlib.rcParams)
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        seaborn.set_theme(context="paper", style="ticks", palette="colorblind")
        theirs = dict(matplotlib.rcParams)
        shared = {*seaborn.plotting_context(), *seaborn.axes_style()} - own
    for name in shared:
        value = theirs[name]
        assert ours[name] == (pytest.approx(value) if isinstance(value, float) else value), name
    colours = [matplotlib.colors.to_rgb(one["color"]) for one in ours["axes.prop_cycle"]]
    assert colours == theirs["axes.prop_cycle"].by_key()["color"]


def test_no_figure_asks_for_letters_below_the_smallest():
    """From which `workflow/legible.py` computes how high they are on a page."""
    sources = [*ROOT.glob("helpers/**/*.py"), *ROOT.glob("notebooks/**/*.ipynb")]
    for path in sources:
        asked = re.findall(r"(?:font|label)size=\\?\W?([\w.-]+)", path.read_text(encoding="utf-8"))
        small = [size for size in asked if size.endswith("x-small")]
        small += [size for size in asked if size[0].isdigit() and float(size) < SMALLEST]
        assert not small, path
