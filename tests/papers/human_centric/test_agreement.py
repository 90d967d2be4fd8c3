"""The built chapter reproduces the committed numbers of tier `pretrained` on slices."""

import pandas as pd
import pytest

from helpers.files import project_root
from synthesis.agreement import FILE

# numbers that miss their interval: by chance 43 of 863, the others depend on 2,000 training
# images for the fit and the threshold, instead of 50,000
EXCEPTIONS = 77
OTHER_PROCESSORS = 12


@pytest.fixture(scope="module")
def compared():
    """The numbers that the build compared with the committed numbers."""
    file = project_root() / "runs" / "mini" / "human_centric" / FILE
    if not file.is_file():
        pytest.skip(f"no {file}: the book has not been built")
    return pd.read_parquet(file)


def test_the_build_has_as_many_exceptions_as_expected(compared):
    assert len(compared) == 863
    assert abs((~compared["agrees"]).sum() - EXCEPTIONS) <= OTHER_PROCESSORS


def test_scores_without_a_fit_agree_on_nine_of_ten_numbers(compared):
    unfitted = compared["method"].isin(["network", "msp", "energy", "gradnorm"])
    assert compared[unfitted]["agrees"].mean() >= 0.9
