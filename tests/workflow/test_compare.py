import sys

import compare
import pandas as pd
import pytest

from helpers.report import results
from tests.report.claim_tables import table_of


def table(value=0.5, replicate=0.25, metric="aurc", device="cpu") -> pd.DataFrame:
    rows = [{"metric": name, "value": value} for name in ("accuracy", metric)]
    shared = {"paper": "uimnet", "method": "erm", "bootstrap": [replicate]}
    return table_of(rows, **shared).assign(device=device)


@pytest.mark.parametrize(("changed", "words"), [
    ({"device": "another"}, "0 rows differ"),
    ({"value": 0.6, "replicate": 0.3}, "4 rows differ"),  # two in each folder
    ({"replicate": 0.3}, "4 rows differ"),
    ({"metric": "auroc"}, "2 rows differ"),
])  # fmt: skip
def test_what_differs_is_named(changed, words, tmp_path, monkeypatch, capsys):
    results.write(table(**changed), tmp_path / "now" / "uimnet" / "results.parquet")
    results.write(table(), tmp_path / "before" / "uimnet" / "results.parquet")
    monkeypatch.setattr(sys, "argv", ["", str(tmp_path / "now"), str(tmp_path / "before")])
    with pytest.raises(SystemExit) as stop:
        compare.main()
    assert stop.value.code == ("device" not in changed)
    assert capsys.readouterr().out.startswith(f"uimnet: {words}\n")
