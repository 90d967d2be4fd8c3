import pytest


@pytest.fixture(scope="module", autouse=True)
def folders(tmp_path_factory):
    """All folders are empty and temporary; a module trains each network once."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("CACHE_ROOT", "DATA_ROOT", "HF_HOME"):
            patch.setenv(name, str(tmp_path_factory.mktemp(name)))
        yield
