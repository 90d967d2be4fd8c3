"""A shortened part of `make faults`, and that a defect would be seen."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from trials.faults import DEFECTS, OUTCOMES, children, flips, kinds

ROOT = Path(__file__).resolve().parent.parent.parent


def test_few_of_all_faults_leave_no_defect(tmp_path):
    """In a process of its own, since it makes copies of itself; another seed than the whole."""
    command = [sys.executable, "-m", "trials.faults", "--few", "--seed", "7", "--out", tmp_path]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert not done.returncode, done.stdout + done.stderr
    table = pd.read_csv(tmp_path / "faults.csv")
    assert set(table["outcome"]) <= OUTCOMES.keys() and table["cases"].sum() > 300
    for name in kinds.KINDS:
        altered = table[(table["file"] == name) & table["fault"].isin(flips.ALTERED)]
        assert (altered["outcome"] == "refused").any(), name
    assert "made anew" in set(table["outcome"]) and "the same" in set(table["outcome"])


def careless(path):
    """Read a file without a look at whether it is whole."""
    return kinds.digest(np.frombuffer(path.read_bytes()[:800], np.uint8))


def helpless(path):
    raise KeyError("logits")


def nameless(path):
    raise ValueError("it is damaged")


@pytest.mark.parametrize(
    ("read", "expected"),
    [(careless, "taken"), (helpless, "crash"), (nameless, "vague"), (None, "lost")],
)
def test_a_reader_with_a_defect_is_seen(tmp_path, monkeypatch, read, expected):
    path = tmp_path / "a.bin"
    kind = kinds.Kind(".bin", lambda path, seed: None, read or (lambda path: path.unlink()))
    monkeypatch.setitem(flips.KINDS, "toy", kind)
    path.write_bytes(b"\1" + bytes(799))
    before = kinds.digest(np.zeros(800, np.uint8))
    assert flips.outcome(path, "toy", before, [])[0] == expected and expected in DEFECTS


def test_a_careful_reader_is_seen_too(tmp_path, monkeypatch):
    def careful(path):
        raise ValueError(f"{path}: it is damaged")

    monkeypatch.setitem(flips.KINDS, "toy", kinds.Kind(".bin", None, careful))
    (tmp_path / "a.bin").write_bytes(bytes(8))
    assert flips.outcome(tmp_path / "a.bin", "toy", "", [])[0] == "refused"


def test_what_is_executed_is_seen(tmp_path):
    """In a child, for what is watched once is watched until the process ends."""

    def read():
        import os
        import pickle

        seen = children.watch()
        pickle.loads(pickle.dumps(os.path.join))
        return seen

    assert children.run(read).result == ["pickle.find_class"]


def test_a_killed_child_has_no_result():
    import time

    found = children.run(lambda: time.sleep(60), kill_after=0.2)
    assert (found.result, found.signal) == (None, 9) and found.seconds < 30
    assert children.run(lambda: [1, 2]).result == [1, 2]
