import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from compare import difference

from helpers.report import results

ROOT = Path(__file__).resolve().parent.parent.parent


def table(value=0.5, replicate=0.25, metric="aurc", device="cpu") -> pd.DataFrame:
    rows = [
        {"tier": "mini", "paper": "uimnet", "data_set": "a", "backbone": "b", "run": 0,
         "method": "erm", "metric": name, "value": number, "images": 3, "bootstrap": [replicate]}
        for name, number in (("accuracy", 1.0), (metric, value))
    ]  # fmt: skip
    return results.tidy(rows, results.provenance({}, seed=0, device=device, seconds=1.0))


@pytest.mark.parametrize(
    ("changed", "kinds"),
    [
        ({"device": "another"}, []),
        ({"value": 0.6}, ["value"]),
        ({"replicate": 0.3}, ["replicates"]),
        ({"metric": "auroc"}, ["missing", "added"]),
    ],
)
def test_what_differs_is_named(changed, kinds):
    found = difference(table(**changed), table())
    assert [kind for kind, rows in found.items() if rows] == kinds


def test_the_command_ends_with_one_if_a_value_differs(tmp_path):
    for folder, value in (("now", 0.6), ("before", 0.5)):
        results.write(table(value), tmp_path / folder / "uimnet" / "results.parquet")
    for other, code in (("before", 1), ("now", 0)):
        command = [sys.executable, "workflow/compare.py", tmp_path / "now", tmp_path / other]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == code, done.stderr
