"""Which pins are left out where a torch is there already."""

import hashlib
from pathlib import Path

import install
import pytest

ROOT = Path(__file__).resolve().parent.parent.parent


def test_a_folder_of_something_else_is_left_as_it_is(tmp_path, monkeypatch):
    """And so is a file beside it that is called like the lock; an environment is replaced."""

    def stopped():
        raise InterruptedError

    monkeypatch.setattr(install, "torch_fits", stopped)
    folder, lock = tmp_path / "thesis", tmp_path / "thesis.lock"
    folder.mkdir()
    lock.write_text("mine")
    (folder / "thesis.tex").write_text("all of it")
    with pytest.raises(SystemExit, match="thesis is there and is no virtual environment"):
        install.main([str(folder)])
    assert (folder / "thesis.tex").read_text() == "all of it" and lock.read_text() == "mine"
    (folder / "pyvenv.cfg").touch()
    for allowed in (folder, tmp_path / "new"):
        with pytest.raises(InterruptedError):
            install.main([str(allowed)])
    assert lock.read_text() == "mine"


def test_a_new_command_of_ours_is_installed_without_anything_else(tmp_path, monkeypatch):
    """Where the pins are as they were; a second time nothing is done."""
    monkeypatch.setattr(install, "torch_fits", lambda: pytest.fail("all anew"))
    installed = []
    monkeypatch.setattr(install, "install", lambda folder, *what: installed.append(what))
    folder = tmp_path / "venv"
    folder.mkdir()
    (folder / "pyvenv.cfg").touch()
    state = hashlib.sha256(install.LOCK.read_bytes() + str(install.ROOT).encode()).hexdigest()
    (folder / ".installed").write_text(state)
    for _ in range(2):
        install.main([str(folder)])
    assert installed == [install.OURS] and f"{install.ROOT}[torch,book,test,lab]" in install.OURS


@pytest.mark.parametrize(
    ("version", "fits"), [("2.11.0", True), ("3.0.1+cu140", True), ("2.10.0", False), (None, False)]
)
def test_a_torch_fits_if_it_is_new_enough_and_imports_with_its_torchvision(
    tmp_path, monkeypatch, version, fits
):
    packages = tmp_path / "packages"
    (packages / "torchvision").mkdir(parents=True)
    (packages / "torch.py").write_text(f"__version__ = {version!r}")
    (packages / "torchvision" / "__init__.py").touch()
    (packages / "torchvision" / "ops.py").write_text("nms = None" if version else "1 / 0")
    monkeypatch.setenv("PYTHONPATH", str(packages))
    assert install.torch_fits() == fits
