"""What waits for a GPU: its order, what is left out, and what time does to it; none is needed."""

import subprocess
import sys
import time
from pathlib import Path

import gpu
import pandas as pd
import pytest
import yaml
from gpu import Work

from helpers.report import results

ROOT = Path(__file__).resolve().parents[2]


def test_first_runs_of_all_methods_come_before_the_others(tmp_path):
    names = [one.name for one in gpu.plan(tmp_path)]
    assert names[:2] == ["tests", "speed"]
    unknown = [name.partition(", ")[2] for name in names if name.startswith("unknown_detection")]
    runs = [int(name.partition("/")[0]) for name in unknown]
    assert unknown[0] == "0/baseline" and runs == sorted(runs) and runs[-1] == 4
    first_of_second = names.index(f"unknown_detection, {unknown[runs.index(1)]}")
    others = [k for k, name in enumerate(names) if name.startswith("openset") and name[-2:] == "/0"]
    assert others and max(others) < first_of_second
    assert len({one.makes for one in gpu.plan(tmp_path)}) == len(names)


def test_chapters_are_those_that_ask_for_a_gpu():
    asked = yaml.safe_load((ROOT / "workflow" / "resources.yaml").read_text())[gpu.TIER]
    assert set(gpu.CHAPTERS) == {name for name, own in asked.items() if isinstance(own, dict)}
    assert all(asked[name]["gpu"] for name in gpu.CHAPTERS)


def test_tests_that_wait_for_a_gpu_are_all_named():
    marked = [
        str(file.relative_to(ROOT))
        for file in (ROOT / "tests").rglob("test_*.py")
        if "needs a GPU" in file.read_text() and file.name != "test_gpu.py"
    ]
    assert marked == [gpu.WAITING]


def test_what_lacks_data_is_told_and_left_out(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("DATA_ROOT", str(tmp_path))
    works = gpu.plan(tmp_path / "gpu")
    lacking = [one for one in works if one.lacking]
    assert {one.chapter for one in lacking} == set(gpu.CHAPTERS)
    assert "make_packs.py" in gpu.state_of(lacking[0])
    assert gpu.work_through(lacking, 60) == [] and capsys.readouterr().out == ""


def saying(folder, name, code):
    return Work(name, ("-c", code), folder / f"{name}.txt", says=True)


def test_work_is_done_once_and_what_fails_is_told(tmp_path, capfd):
    works = [saying(tmp_path, "bad", "raise SystemExit(3)"), saying(tmp_path, "good", "print(7)")]
    assert gpu.work_through(works, 5) == ["bad"]
    assert (tmp_path / "good.txt").read_text() == "7\n" and not (tmp_path / "bad.txt").exists()
    assert [gpu.state_of(one) for one in works] == ["waits", "done"]
    capfd.readouterr()
    assert gpu.work_through(works[1:], 5) == [] and capfd.readouterr().out == ""


def test_work_that_the_time_ends_leaves_nothing_half(tmp_path, monkeypatch):
    slow = saying(tmp_path, "slow", "import time; print(1, flush=True); time.sleep(60)")
    start = time.monotonic()
    assert gpu.do(slow, 1.0) == "goes on next time"
    assert time.monotonic() - start < 30 and not slow.done
    assert gpu.work_through([slow], gpu.LEAST / 60) == []  # too little to begin with
    assert not slow.done


def table(method):
    made = {"seed": 0, "parameters": "0" * 12, "code": "0", "versions": "{}", "device": "cpu",
            "seconds": 0.0}  # fmt: skip
    columns = {"tier": "small", "paper": "unknown_detection", "data_set": "cifar100", "run": 0}
    row = results.row("near", "auroc", 0.5, 9, method=method, backbone="resnet20")
    return results.tidy([columns | row], made)


def test_parts_that_are_there_are_one_table(tmp_path):
    works = [
        Work(name, (), tmp_path / "a" / f"{name}.parquet", chapter="a") for name in ("x", "y", "z")
    ]
    for one in works[:2]:
        results.write(table(one.name), one.makes)
    (made,) = gpu.put_together(works, tmp_path)
    assert results.read(made)["method"].tolist() == ["x", "y"]
    pd.testing.assert_frame_equal(results.read(works[0].makes), table("x"))


@pytest.mark.parametrize("given", [["--plan"], []])
def test_the_plan_is_shown_anywhere_and_nothing_is_done_without_a_gpu(given):
    code = f"import sys, torch; torch.cuda.is_available = lambda: False; sys.argv[1:] = {given}\n"
    done = subprocess.run(
        [sys.executable, "-c", code + "import gpu; gpu.main()"],
        cwd=ROOT / "workflow", capture_output=True, text=True,
    )  # fmt: skip
    if given:
        assert done.returncode == 0 and "\nunknown_detection, 0/baseline: " in done.stdout
    else:
        assert done.returncode == 2 and "PyTorch sees no GPU here; --plan shows" in done.stderr
