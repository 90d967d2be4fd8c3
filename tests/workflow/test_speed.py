import numpy as np
import pandas as pd
import pytest
import speed

from benchmarks import pipeline

ROW = {
    "work": "AURC", "size": "10 images", "peer": "a peer", "ours": 1.0, "theirs": 3.0, "ratio": 3.0,
    "low": 2.0, "high": 4.0, "wanted": 2.0, "note": "in other units", "limit": "sorting",
    "machine": "some cores", "versions": "numpy 2",
}  # fmt: skip


@pytest.fixture
def results(tmp_path, monkeypatch):
    """Return a folder of made-up results of every benchmark, which the page is written from."""
    for name in speed.COMPARED:
        rows = [ROW, ROW | {"ratio": 1.5, "low": 1.0}, ROW | {"ratio": np.nan}]
        pd.DataFrame(rows).to_parquet(tmp_path / f"{name}.parquet")
    growth = [
        {"score": score, "step": step, "images": images, "seconds": images / 1e4, "memory": 7.0,
         "run": run, "machine": "some cores"}
        for score in ("msp", "together")
        for step in ("fit", "score")
        for run, sizes in (("alone", (100, 200)), ("all", (300,)))
        for images in sizes
        if score == "msp" or run == "all"
    ]  # fmt: skip
    pd.DataFrame(growth).to_parquet(tmp_path / "growth.parquet")
    pd.DataFrame({"part": ["a/step"]}).to_parquet(tmp_path / "pipeline.parquet")
    monkeypatch.setattr(speed, "RESULTS", tmp_path)
    monkeypatch.setattr(pipeline, "where_time_goes", lambda table: f"{len(table)} steps\n")
    return tmp_path


def test_every_comparison_is_shown_and_misses_are_named(results, tmp_path):
    page = speed.page(tmp_path)
    reached, missed = (
        "3.0 (2.0 to 4.0) | 2 | in other units |",
        "1.50 (1.00 to 4.0) | 2, **missed**",
    )
    for line in (reached, f"{missed} | in other units; sorting |", "not yet measured | 2 |"):
        assert page.count(line) == len(speed.COMPARED)
    count = len(speed.COMPARED)
    tally = (
        f"{2 * count} comparisons; {count} are as fast as was wanted, or faster, {count} are not"
    )
    assert f"{tally}, and {count} are not yet measured." in page
    assert {path.name for path in tmp_path.glob("*.svg")} == {"speed.svg", "growth.svg"}


def test_costs_and_the_pipeline_are_shown(results, tmp_path):
    page = speed.page(tmp_path)
    assert "| `msp` | 0.03 | 0.03 | 1.00 | 1.00 |" in page
    assert "fitted to 300 training images" in page and "1 steps" in page


COST = {"chapter": "uimnet", "networks": 480, "read": 7.2e9, "operations": 3.6e20, "kept": 2e12}


@pytest.mark.parametrize(("seconds", "hours"), [(10.0, "2,500"), (np.nan, "not yet measured")])
def test_hours_of_the_papers_tier_follow_from_what_is_measured(results, tmp_path, seconds, hours):
    """1,000 photographs in ten seconds are 100 a second, and a job has eight processes."""
    assert "What tier `paper` costs" not in speed.page(tmp_path)
    pd.DataFrame([COST]).to_parquet(tmp_path / "paper_cost.parquet")
    row = ROW | {"work": "photographs, 1 process", "ours": seconds, "images": 1000}
    pd.DataFrame([row]).to_parquet(tmp_path / "streaming.parquet")
    page = speed.page(tmp_path)
    assert f"| uimnet | 480 | 7,200 | {hours} | 360.0 | 1,000.0 | 2,000 |" in page


def test_what_an_audit_costs_is_shown_and_a_miss_is_named(results, tmp_path):
    assert "## An audit" not in speed.page(tmp_path)
    row = {"features": 1280, "sets": 3, "file": 512.0, "memory": 2048.0, "load": 1.5,
           "machine": "some cores"}  # fmt: skip
    rows = [row | {"work": "10,000 images", "cpu": seconds} for seconds in (4.9, 5.1)]
    pd.DataFrame(rows).to_parquet(tmp_path / "auditing.parquet")
    page = speed.page(tmp_path)
    for told in ("4.9 | 5 |", "5.1 | 5, **missed** |"):
        assert f"| 10,000 images | 1,280 | 3 | 0.5 | {told} 2.0 | 1.5 |" in page


def test_the_page_of_the_committed_results_is_written(tmp_path):
    """Whatever the numbers are, each benchmark has its section."""
    page = speed.page(tmp_path)
    for title in speed.COMPARED.values():
        assert f"## {title}\n" in page
