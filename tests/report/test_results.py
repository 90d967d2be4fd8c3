import json

import numpy as np
import pandas as pd
import pytest

from helpers.report import results

MADE = results.provenance({}, seed=3, device="cpu, 1 thread", seconds=2.0)


def record(**changes):
    place = dict(tier="mini", paper="openset_calibration", data_set="digits", backbone="resnet8")
    number = dict(run=0, method="open-set", calibration="after", metric="ece", value=0.25)
    return place | number | {"images": 40} | changes


@pytest.fixture
def table():
    generator = np.random.default_rng(0)
    return results.tidy(
        [
            record(run=run, metric=metric, value=generator.random(), bootstrap=replicates)
            for run, replicates in ((0, generator.random(5)), (1, ()))
            for metric in ("ece", "brier")
        ],
        MADE,
    )


def same(one, other):
    pd.testing.assert_frame_equal(one, other)  # compares the arrays of `bootstrap` too
    return True


def test_written_and_read_again_the_table_is_the_same(table, tmp_path):
    path = tmp_path / "new" / "results.parquet"
    results.write(table, path)
    again = results.read(path)
    assert same(again, table)
    assert again.columns.tolist() == results.SCHEMA.names
    assert again["bootstrap"][0].dtype == np.float32
    assert again["value"].dtype == np.float64
    assert [len(replicates) for replicates in again["bootstrap"]] == [5, 5, 0, 0]
    assert [file.name for file in path.parent.iterdir()] == ["results.parquet"]


def test_the_row_names_the_number_and_not_its_value():
    one = results.tidy([record(), record(run=1), record(value=0.5, variant="v")], MADE)
    other = results.tidy([record(value=0.75)], {**MADE, "seed": 4})
    assert one["row"][0] == other["row"][0]
    assert one["row"].nunique() == 3
    assert one["row"].str.fullmatch("[0-9a-f]{12}").all()
    assert results.tidy([record(run=np.int64(0))], MADE)["row"][0] == one["row"][0]
    noted = results.tidy([record(notes="3 images unreadable")], MADE)
    assert noted["row"][0] == one["row"][0] and noted["notes"][0] == "3 images unreadable"


def test_several_files_are_read_into_one_table(table, tmp_path):
    paths = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    results.write(table[table["run"] == 0], paths[0])
    results.write(table[table["run"] == 1], paths[1])
    assert same(results.read(paths), table)
    with pytest.raises(ValueError, match=r"a\.parquet: the same identity"):
        results.read([paths[0], paths[0]])
    with pytest.raises(ValueError, match="no file given"):
        results.read([])


def test_duplicates_are_refused_by_name(tmp_path):
    with pytest.raises(ValueError, match=r"same identity.*data_set=digits.*metric=ece"):
        results.tidy([record(), record(value=0.5)], MADE)
    twice = results.tidy([record()], MADE)
    path = tmp_path / "results.parquet"
    with pytest.raises(ValueError, match="same identity"):
        results.write(pd.concat([twice, twice]), path)
    assert not path.exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"value": float("nan")}, "column value: missing or NaN"),
        ({"value": None}, "column value: missing or NaN"),
        ({"value": float("inf")}, "column value: infinite"),
        ({"value": "high"}, "column value"),
        ({"bootstrap": [0.1, float("nan")]}, "column bootstrap: NaN"),
        ({"run": "first"}, "column run"),
        ({"images": 0}, "column images"),
        ({"method": ""}, "column method: empty"),
        ({"test_set": ""}, "column test_set: empty"),
        ({"notes": None}, "column notes: missing"),
        ({"calibration": "afterwards"}, "did you mean 'after'"),
        ({"metrics": "ece"}, "did you mean 'metric'"),
    ],
)
def test_a_bad_record_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        results.tidy([record(**changes)], MADE)


def test_missing_columns_and_empty_tables_are_refused(table, tmp_path):
    incomplete = record()
    del incomplete["images"]
    with pytest.raises(ValueError, match="no images"):
        results.tidy([incomplete], MADE)
    with pytest.raises(ValueError, match="empty"):
        results.tidy([], MADE)
    with pytest.raises(ValueError, match="no column seed"):
        results.write(table.drop(columns="seed"), tmp_path / "r.parquet")
    with pytest.raises(ValueError, match="no rows"):
        results.write(table.iloc[:0], tmp_path / "r.parquet")
    with pytest.raises(ValueError, match="not the hash"):
        results.write(table.assign(run=table["run"] + 7), tmp_path / "r.parquet")


def test_a_truncated_file_is_named(table, tmp_path):
    path = tmp_path / "results.parquet"
    results.write(table, path)
    whole = path.read_bytes()
    for length in (0, 3, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match=r"results\.parquet: not a whole.*rerun the notebook"):
            results.read(path)
    with pytest.raises(FileNotFoundError, match=r"other\.parquet"):
        results.read(tmp_path / "other.parquet")


def test_an_altered_file_is_never_half_used(table, tmp_path):
    path = tmp_path / "results.parquet"
    results.write(table, path)
    whole = path.read_bytes()
    refused = 0
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
            assert same(again, table)
    assert refused > 50


def test_summary_is_over_runs(table):
    part = table[table["metric"] == "ece"]
    row = results.summary(table).iloc[0]
    assert row["mean"] == pytest.approx(part["value"].mean())
    assert row["std"] == pytest.approx(np.std(part["value"], ddof=1))
    assert row["runs"] == 2
    assert row["rows"].split() == part["row"].tolist()
    assert results.summary(table)["metric"].tolist() == ["ece", "brier"]
    single = results.summary(table[table["run"] == 0])
    assert single["std"].isna().all() and single["runs"].eq(1).all()


def test_summary_refuses_to_mix_numbers(table):
    with pytest.raises(ValueError, match="differ in metric"):
        results.summary(table, by=["data_set"])
    with pytest.raises(ValueError, match="did you mean 'method'"):
        results.summary(table, by=["methods"])
    with pytest.raises(ValueError, match="empty"):
        results.summary(table.iloc[:0])


def test_provenance_says_where_a_number_comes_from():
    made = results.provenance({"b": [1], "a": 2}, seed=5, device="cpu, 1 thread", seconds=0.5)
    assert made["seed"] == 5 and made["seconds"] == 0.5
    assert made["device"] == "cpu, 1 thread"
    assert {"python", "numpy", "torch", "torchvision", "timm", "helpers"} == set(
        json.loads(made["versions"])
    )
    reordered = results.provenance({"a": 2, "b": [1]}, seed=5, device="cpu", seconds=1)
    changed = results.provenance({"a": 3, "b": [1]}, seed=5, device="cpu", seconds=1)
    assert reordered["parameters"] == made["parameters"] != changed["parameters"]
    assert results.tidy([record()], made)["code"][0] == results.code_version()
    with pytest.raises(ValueError, match="parameters"):
        results.provenance({"a": float("nan")}, seed=5, device="cpu", seconds=1)
