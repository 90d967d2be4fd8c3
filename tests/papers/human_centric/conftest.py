"""What the tests of the human-centric chapter share."""

import pytest


@pytest.fixture(autouse=True)
def own_folders(tmp_path, monkeypatch):
    """Nothing is found, and nothing left behind."""
    for name in ("CACHE_ROOT", "DATA_ROOT", "HF_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
