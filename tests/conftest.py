import os
import sys

import pytest

from helpers.report import results

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


@pytest.fixture(scope="session")
def table_of():
    """Return a function that makes a results table of records, and of what they all share."""
    made = results.provenance({}, seed=0, device="cpu", seconds=1.0)
    base = dict(tier="mini", data_set="cifar10_mini", backbone="resnet8", run=0, images=100)

    def build(records, **shared):
        return results.tidy([base | shared | record for record in records], made)

    return build
