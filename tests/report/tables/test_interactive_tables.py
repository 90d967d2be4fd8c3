"""Interactive tables: all that they need is in them, and a bad frame is refused."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from helpers.report.tables.interactive import interactive

FRAME = pd.DataFrame(
    {"score": ["msp", "<b>&"], "set": ["near", "far"], "AUROC": [0.12345678, np.nan]}
)


def test_a_table_fetches_nothing():
    """What a page loads must be in the page: no script, style or image from elsewhere."""
    page = interactive(FRAME, caption="AUROC").data
    assert not re.search(r"""(src|from|import\()\s*=?\s*["']https?:""", page)
    assert not re.search(r"<link|unpkg\.com", page)


def test_a_table_waits_for_the_module_that_it_carries():
    """The name that the loader gives to the bundle must be the one that the table awaits."""
    page = interactive(FRAME).data
    (loaded,) = re.findall(r"window\.(\w+) \?\?=", page)
    assert f"await window.{loaded};" in page


def test_numbers_stay_numbers_and_text_is_escaped():
    """The data must hold every row, floats as numbers to sort by, and no HTML of the cells."""
    data = re.search(r'"data_json": ("(?:[^"\\]|\\.)*")', interactive(FRAME).data)[1]
    rows = json.loads(json.loads(data))
    assert rows == [["msp", "near", 0.1235], ["&lt;b&gt;&amp;", "far", "___NaN___"]]


def test_large_tables_stay_whole():
    """No row may be dropped to save bytes, however large the table."""
    page = interactive(pd.DataFrame({"number": np.arange(20_000)})).data
    assert "19999" in page


def test_the_same_table_gives_the_same_page():
    """Two calls must agree to the letter, or every execution would change the notebook."""
    assert interactive(FRAME, caption="one").data == interactive(FRAME, caption="one").data
    assert interactive(FRAME, caption="one").data != interactive(FRAME, caption="two").data


def test_bad_frames_are_refused():
    """An empty table, or a heading that is there twice, must be named."""
    with pytest.raises(ValueError, match="frame: empty"):
        interactive(FRAME.head(0))
    with pytest.raises(ValueError, match="column set is twice"):
        interactive(FRAME.set_axis(["score", "set", "set"], axis=1))
