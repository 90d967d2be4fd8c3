import os
import sys

import pytest

os.environ["MPLBACKEND"] = "Agg"


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture
def texts():
    """What texts say: those of a legend, of an axis, of an Axes."""

    def texts(shown):
        shown = shown.get_texts() if hasattr(shown, "get_texts") else shown
        return [text.get_text() for text in shown]

    return texts
