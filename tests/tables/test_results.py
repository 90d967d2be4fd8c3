import json

import numpy as np
import pandas as pd
import pytest

from helpers.tables import results

MACHINE = dict(seed=5, device="cpu, 1 thread", seconds=0.5)
MADE = results.provenance({}, **MACHINE)
NUMBER = dict(run=0, method="open-set", calibration="after", metric="ece", value=0.25, images=40)
PLACE = dict(tier="mini", paper="openset_calibration", data_set="digits", backbone="resnet8")


def record(**changes):
    return PLACE | NUMBER | changes


@pytest.fixture
def table():
    drawn = np.random.default_rng(0).random(9)
    first = [record(metric=name, bootstrap=drawn[:5]) for name in ("ece", "brier")]
    second = [record(metric=name, run=1) for name in ("ece", "brier")]
    pairs = zip([*first, *second], drawn[5:], strict=True)
    return results.tidy([row | {"value": value} for row, value in pairs], MADE)


@pytest.fixture
def path(table, tmp_path):
    results.write(table, tmp_path / "new" / "results.parquet")
    return tmp_path / "new" / "results.parquet"


same = pd.testing.assert_frame_equal  # compares the arrays of `bootstrap` too


def test_written_and_read_again_the_table_is_the_same(table, path):
    again = results.read(path)
    same(again, table)
    assert again.columns.tolist() == results.SCHEMA.names
    assert again["bootstrap"][0].dtype == np.float32
    assert again["value"].dtype == np.float64
    assert [len(replicates) for replicates in again["bootstrap"]] == [5, 5, 0, 0]
    assert [file.name for file in path.parent.iterdir()] == ["results.parquet"]


def test_the_row_names_the_number_and_not_its_value():
    first = results.tidy([record(), record(run=1), record(value=0.5, variant="v")], MADE)["row"]
    assert first.nunique() == 3
    assert first.str.fullmatch("[0-9a-f]{12}").all()
    for changes in ({"value": 0.75}, {"run": np.int64(0)}, {"notes": "3 images unreadable"}):
        table = results.tidy([record(**changes)], {**MADE, "seed": 4})
        assert table["row"][0] == first[0]
    assert table["notes"][0] == "3 images unreadable"


def test_several_files_are_read_into_one_table(table, tmp_path):
    *paths, together = (tmp_path / f"{name}.parquet" for name in ("a", "b", "all"))
    for run, path in enumerate(paths):
        results.write(table[table["run"] == run], path)
    for read in (results.read(paths), results.join(paths, together), results.read(together)):
        same(read, table)
    with pytest.raises(ValueError, match=r"a\.parquet: the same identity"):
        results.read([paths[0], paths[0]])
    with pytest.raises(FileNotFoundError, match=r"other\.parquet"):
        results.read(tmp_path / "other.parquet")


def test_a_truncated_or_altered_file_is_never_half_used(table, path):
    whole = path.read_bytes()
    refused = 0
    for length in (0, 3, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match=r"results\.parquet: not a whole.*rerun the notebook"):
            results.read(path)
    for position in range(0, len(whole), 37):
        altered = bytearray(whole)
        altered[position] ^= 0x10
        path.write_bytes(altered)
        try:
            again = results.read(path)
        except ValueError as error:
            assert "results.parquet" in str(error)
            refused += 1
        else:  # a bit that parquet does not use, as in the statistics of a column
            same(again, table)
    assert refused > 50


def test_summary_is_over_runs(table):
    part = table[table["metric"] == "ece"]
    row = results.summary(table).iloc[0]
    assert row["mean"] == pytest.approx(part["value"].mean())
    assert row["std"] == pytest.approx(np.std(part["value"], ddof=1))
    assert row["runs"] == 2
    assert row["rows"].split() == part["row"].tolist()
    assert results.summary(table)["metric"].tolist() == ["ece", "brier"]


def test_provenance_has_the_origin_of_a_number():
    given = results.provenance({"b": [1], "a": 2}, **MACHINE)
    assert given | MACHINE == given == results.provenance({"a": 2, "b": [1]}, **MACHINE)
    assert given["parameters"] != results.provenance({"a": 3, "b": [1]}, **MACHINE)["parameters"]
    packages = {"python", "numpy", "torch", "torchvision", "timm", "helpers"}
    assert packages == set(json.loads(given["versions"]))
    assert results.tidy([record()], given)["code"][0] == results.code_version()
