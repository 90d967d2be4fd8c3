"""Mutants are what they say, and one that no test notices is told from one that is noticed."""

import ast
import doctest
import json
import subprocess
import sys

import pandas as pd

import trials
from trials import branches, mutants, types

SOURCE = '''
"""A module."""
from __future__ import annotations


def share(part: int, whole: int = 10) -> float:
    """Return a share."""
    if part > whole or not whole:
        raise ValueError(f"part: at most {whole} expected")
    return part / whole
'''


def test_their_examples():
    for module in (mutants, types):
        assert doctest.testmod(module).failed == 0


def test_each_mutant_differs_in_one_place_and_can_be_compiled():
    found = mutants.mutants(SOURCE)
    assert {one[1] for one in found} == {
        "number", "condition", "comparison", "operation", "negation",
    }  # fmt: skip
    whole = ast.unparse(ast.parse(SOURCE)).splitlines()
    for _, _, _, way, new in found:
        tree = mutants.mutated(SOURCE, way, new)
        compile(tree, "a.py", "exec")
        lines = ast.unparse(tree).splitlines()
        assert sum(a != b for a, b in zip(lines, whole, strict=True)) == 1
    assert not [one for one in found if "expected" in one[2]]  # messages are left alone


def test_a_mutant_is_noticed_and_the_module_as_it_is_passes():
    """In a process of its own, in which nothing of the package is imported."""
    program = """
import ast, json, sys
from trials import mutants
module = "helpers.metrics.thresholds"
source = mutants.file_of(module).read_text()
way, new = next(one[3:] for one in mutants.mutants(source) if one[2].startswith("1 - outside"))
for name in mutants.NEEDED:
    __import__(name)
mutants._forget_the_package()
trees = [ast.parse(source), mutants.mutated(source, way, new)]
json.dump([mutants.tried(module, tree)[0] for tree in trees], sys.stdout)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=mutants.ROOT, capture_output=True, text=True
    )
    assert json.loads(done.stdout or "null") == ["survived", "killed"], done.stderr


def test_a_sample_is_the_same_for_a_seed_and_of_the_module():
    module = "helpers.metrics.detection"
    first, again, other = (mutants.sample(module, seed, 5) for seed in (0, 0, 1))
    assert [one[:3] for one in first] == [one[:3] for one in again] != [one[:3] for one in other]
    for name, files in mutants.TESTS.items():
        assert mutants.file_of(name).exists()
        assert all((mutants.ROOT / file).exists() for file in files)


def test_what_coverage_says_becomes_rows(monkeypatch):
    summary = {"num_statements": 5, "covered_lines": 4, "num_branches": 2, "covered_branches": 1}
    file = "helpers/metrics/records.py"
    found = {"files": {file: {"summary": summary, "missing_lines": [1],
                              "missing_branches": [[3, 5]]}}}  # fmt: skip
    (row,) = branches.rows(found)
    assert (row["room"], row["branches_taken"], row["exceptions"]) == ("metrics", 1, "")
    assert row["missing"].endswith("| from __future__ import annotations")
    line = "from __future__ import annotations"
    monkeypatch.setitem(branches.EXCEPTIONS, f"{file}: {line}", "why")
    (row,) = branches.rows(found)
    assert "annotations" not in row["missing"] and row["exceptions"] == line


def test_each_exception_is_a_line_that_there_is():
    for place, why in branches.EXCEPTIONS.items():
        file, _, line = place.partition(": ")
        lines = (trials.ROOT / file).read_text(encoding="utf-8").splitlines()
        assert [one.strip() for one in lines].count(line) == 1 and why


def test_no_branch_of_the_committed_rows_is_missing_without_a_reason():
    rows = pd.read_csv(trials.ROOT / "trials" / "results" / "branches.csv")
    assert rows["missing"].dropna().empty
    assert rows["branches"].sum() > 1000
