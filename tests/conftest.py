import os
import sys
from unittest import mock

import pytest

os.environ["MPLBACKEND"] = "Agg"


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture(autouse=True)
def same_environment():
    """A command that a test calls sets variables; the next test does not see the variables."""
    with mock.patch.dict(os.environ):
        yield


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Change to an empty folder, and return its path."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def root(tmp_path, monkeypatch):
    """Return the empty folder of packs and downloads; the cache is next to it."""
    monkeypatch.setenv("CACHE_ROOT", str(tmp_path / "cache"))
    monkeypatch.setenv("DATA_ROOT", str(tmp_path / "data"))
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


@pytest.fixture(scope="session")
def table_of():
    """Return a function that makes a results table of records and of their shared fields."""
    from tests.synthesis.claim_tables import table_of

    return table_of
