import os
import signal
import subprocess
import sys

import pytest

from helpers import files


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    target = tmp_path / "a.txt"
    target.write_text("old")
    message = r"a\.txt could not be written: no space left"
    with pytest.raises(OSError, match=message), files.atomic_path(target) as temporary:
        temporary.write_text("half")
        raise OSError("no space left on device")
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


KILLED = """
import os, pathlib, signal, sys
from helpers import files

with files.atomic_path(pathlib.Path(sys.argv[1])) as temporary:
    temporary.write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_process_that_is_killed_while_it_writes_leaves_the_old_file(tmp_path):
    target = tmp_path / "a.txt"
    target.write_text("old")
    killed = subprocess.run([sys.executable, "-c", KILLED, target])
    assert killed.returncode == -signal.SIGKILL
    assert target.read_text() == "old"
    assert [name for name in os.listdir(tmp_path) if not name.startswith(".")] == ["a.txt"]


def test_folders_are_made_and_names_are_hidden_while_writing(tmp_path):
    with files.atomic_path(tmp_path / "new" / "a.npz") as temporary:
        assert temporary.name.startswith(".")
        assert temporary.suffix == ".npz"
    assert (tmp_path / "new" / "a.npz").exists()


def test_roots_come_from_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("DATA_ROOT", str(tmp_path))
    monkeypatch.delenv("CACHE_ROOT", raising=False)
    assert files.data_root() == tmp_path
    assert files.cache_root() == files.project_root() / "cache"
    monkeypatch.setenv("CACHE_ROOT", "relative")
    assert files.cache_root() == files.project_root() / "relative"
