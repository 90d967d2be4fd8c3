"""GPUs are dealt out, one to each process that asks; tried with their names alone."""

import os
import select
import subprocess
import sys
from pathlib import Path

import gpus
import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
ASKING = """
import gpus, os, sys
gpus.take({})
print(os.environ[gpus.VISIBLE], flush=True)
sys.stdin.read()
"""


@pytest.fixture
def ask(tmp_path):
    """Return a function that starts a process which takes a GPU and keeps it until told to end."""
    started = []

    def start(names, side_by_side=1):
        paths = {"PYTHONPATH": str(ROOT / "workflow"), "TMPDIR": str(tmp_path)}
        begun = subprocess.Popen(
            [sys.executable, "-c", ASKING.format(side_by_side)],
            env=os.environ | paths | {"CUDA_VISIBLE_DEVICES": names},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        started.append(begun)
        return begun

    yield start
    for one in started:
        one.kill()
        one.communicate()


def test_each_process_has_its_own_and_the_next_waits_for_one(ask):
    one, other = ask("4,GPU-7f"), ask("4,GPU-7f")
    assert {each.stdout.readline() for each in (one, other)} == {"4\n", "GPU-7f\n"}
    late = ask("4,GPU-7f")
    waiting, *_ = select.select([late.stdout], [], [], 3)
    assert not waiting
    other.kill()
    assert late.stdout.readline() in ("4\n", "GPU-7f\n")


def test_more_processes_than_gpus_share_them_evenly(ask):
    begun = [ask("0,1", 2) for _ in range(4)]
    assert sorted(one.stdout.readline() for one in begun) == ["0\n", "0\n", "1\n", "1\n"]


def test_gpus_are_counted_as_the_driver_lists_them(tmp_path, monkeypatch):
    monkeypatch.delenv(gpus.VISIBLE, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert gpus.visible() == []
    program = tmp_path / "nvidia-smi"
    lines = [
        "GPU 0: NVIDIA A (UUID: GPU-1)",
        "  MIG 1g.10gb Device 0: (UUID: MIG-2)",
        "GPU 1: NVIDIA A",
    ]
    program.write_text("#!/bin/sh\n" + "".join(f"echo '{line}'\n" for line in lines))
    program.chmod(0o755)
    assert gpus.visible() == ["0", "1"]
