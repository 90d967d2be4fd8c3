"""The book that was built last reproduces the committed numbers, with the expected exceptions.

`make test` gives the folder of the build; without it, this is skipped.
"""

import pandas as pd
import pytest

from synthesis.agreement import FILE
from tests.mistakes import beside

#: Compared numbers and exceptions of each chapter, on a processor with AVX-512.
EXPECTED = beside(__file__, "agreement.yaml")
#: Other processors round in other ways, and more or fewer numbers lie just outside.
TOLERANCE = 0.02


@pytest.fixture
def build(pytestconfig):
    """Return the folder of the executed book."""
    if not (folder := pytestconfig.getoption("executed")):
        pytest.skip("no book given: --executed runs/mini")
    return pytestconfig.rootpath / folder


def test_each_chapter_of_the_book_reproduces_its_committed_numbers(build):
    counts = {}
    for file in sorted(build.glob(f"*/{FILE}")):
        agrees = pd.read_parquet(file, columns=["agrees"])["agrees"]
        counts[file.parent.name] = (len(agrees), int((~agrees).sum()))
    assert {name: compared for name, (compared, _) in counts.items()} == EXPECTED["compared"]
    expected = EXPECTED["exceptions"]
    allowed = {name: expected[name] + TOLERANCE * count for name, (count, _) in counts.items()}
    assert {name for name, (_, missed) in counts.items() if missed > allowed[name]} == set()
