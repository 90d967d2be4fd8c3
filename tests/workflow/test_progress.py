"""What is said while notebooks are executed: true, short, and also when something fails."""

import logging
import threading

import pytest
from execute import explanation
from papermill.exceptions import PapermillExecutionError
from progress import Progress, keep_seconds, known_seconds, why
from snakemake_interface_logger_plugins.common import LogEvent
from snakemake_logger_plugin_notebooks import LogHandler, LogHandlerSettings, said_elsewhere
from step import Step


@pytest.fixture
def clock():
    """Return a clock that is put forward by hand."""

    class Clock:
        now = 0.0

        def __call__(self):
            return self.now

    return Clock()


def test_what_is_known_of_another_machine_is_scaled_by_what_was_finished_here(clock):
    progress = Progress("abc", {"a": 10, "b": 20}, cores=1, clock=clock)
    assert progress.remaining() == 45  # c as the others on average
    progress.begin("a")
    clock.now = 40
    assert progress.end("a") == "a, 40 s; 1 of 3 done, about 2 min to go"  # b 80, c 60
    assert progress.remaining() == pytest.approx(140)
    progress.begin("b")
    clock.now = 70
    assert progress.remaining() == pytest.approx(110)
    assert progress.status() == "1 of 3 done, about 2 min to go; now b"


def test_the_longest_step_bounds_what_cores_can_do(clock):
    progress = Progress("abc", {"a": 10, "b": 10, "c": 100}, cores=8, clock=clock)
    assert progress.remaining() == 100


def test_without_anything_known_no_time_is_promised(clock):
    progress = Progress("abcd", {}, cores=1, clock=clock)
    assert progress.status() == "0 of 4 done"
    progress.begin("a")  # a training, the longest: the others are not like it
    clock.now = 2000
    assert progress.end("a") == "a, 33 min; 1 of 4 done"


def test_a_failure_is_counted_and_what_waits_for_it(clock):
    progress = Progress(["a", "b", "c"], {}, cores=2, clock=clock)
    assert progress.summary() == ""
    progress.begin("a")
    progress.begin("b")
    assert progress.fail("a") == "a FAILED; 0 of 3 done; now b"
    progress.end("b")
    assert progress.summary().startswith("1 of 3 steps done; failed: a; 1 more wait for that.")


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("Missing output files: runs/mini/a.ipynb; Updated input files: b.py", ""),
        ("Updated input files: a.py, b.py, c.py, d.py", "changed: a.py, b.py, c.py and 1 more"),
        ("Params have changed since last execution: before: 1 now: 2", "its parameters changed"),
        ("Input files updated by another job: runs/mini/a.ipynb", "what it builds on is new"),
        ("Forced execution", ""),
    ],
)
def test_why_a_step_runs_again_is_said_by_what_changed(reason, words):
    assert why(reason) == words


def test_times_are_kept_and_half_a_file_is_none(tmp_path):
    assert known_seconds(tmp_path) == {}
    keep_seconds(tmp_path, {"a": 1.0, "b": 2.0})
    keep_seconds(tmp_path, {"b": 3.0})
    assert known_seconds(tmp_path) == {"a": 1.0, "b": 3.0}
    (tmp_path / "seconds.json").write_text('{"a": 1')
    assert known_seconds(tmp_path) == {}


def test_the_plugin_says_what_snakemake_tells_it(tmp_path, capsys):
    handler = LogHandler(None, LogHandlerSettings(folder=tmp_path, side_by_side=2))

    def tell(event, level=logging.INFO, message=None, **more):
        record = logging.makeLogRecord({"levelno": level, "msg": message, "event": event, **more})
        handler.emit(record)

    tell(None, message="Building DAG of jobs...")
    tell(LogEvent.RUN_INFO, stats={"x--a": 1, "x--b": 1, "all": 1, "total": 3})
    tell(LogEvent.JOB_INFO, jobid=1, rule_name="x--a", reason="Updated input files: a.py")
    tell(LogEvent.JOB_INFO, jobid=2, rule_name="x--b", reason="")
    tell(LogEvent.JOB_FINISHED, job_id=1)
    tell(LogEvent.JOB_ERROR, logging.ERROR, rule_name="x--b", rule_msg=None, log=[])
    tell(LogEvent.ERROR, logging.ERROR, "the disk is full")
    handler.close()
    assert capsys.readouterr().err.splitlines() == [
        "2 steps to execute: 0 of 2 done",
        "x/a, 0 s (again: changed: a.py); 1 of 2 done; now x/b",
        "x/b FAILED; 1 of 2 done",
        "the disk is full",
        "1 of 2 steps done; failed: x/b. What each died of stands above; the same command goes on "
        "from here",
    ]
    assert known_seconds(tmp_path).keys() == {"x/a"}


def test_what_a_cluster_says_is_shown(tmp_path):
    """Of a job that ran elsewhere, or was refused, nothing else comes to the screen."""
    assert said_elsewhere(None, []) == ""
    refused = "sbatch failed. The error message was 'no GPU'.\n    sbatch call:\n        sbatch ..."
    assert said_elsewhere(refused, []) == "sbatch failed. The error message was 'no GPU'."
    log = tmp_path / "7.log"
    log.write_text("\n".join(map(str, range(100))))
    lines = said_elsewhere("cancelled", [str(log), str(tmp_path / "none.log")]).splitlines()
    assert lines[:3] == ["cancelled", f"from {log}:", "    | 60"]
    assert lines[-1] == "    | 99"


def test_of_a_notebook_that_failed_elsewhere_the_explanation_is_shown(tmp_path):
    step = Step("x/a", "notebooks/x/a.ipynb", {"run": 1})
    log = tmp_path / "7.log"
    noise = "\n".join(["Shutting down"] * 60)
    died = explanation(step, "mini", PapermillExecutionError(0, 3, "1/0", "E", "b", ["T"]), log)
    log.write_text(f"{noise}{died}{noise}")
    told = said_elsewhere(None, [str(log)])
    assert "notebooks/x/a.ipynb failed in code cell 3: E: b" in told
    assert "remedy" in told.splitlines()[-1] and "Shutting" not in told


def test_what_is_tried_again_has_not_failed(clock):
    progress = Progress(["a"], {}, cores=1, clock=clock)
    progress.begin("a")
    progress.fail("a")
    assert "failed: a" in progress.summary()
    progress.begin("a")
    assert progress.running == ["a"]
    progress.end("a")
    assert progress.summary() == ""


def test_a_terminal_has_a_last_line_that_tells_what_runs(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    ticks = iter([False, True])
    monkeypatch.setattr(threading.Event, "wait", lambda self, seconds=None: next(ticks))
    monkeypatch.setattr(threading.Thread, "start", lambda self: None)
    handler = LogHandler(None, LogHandlerSettings(folder=tmp_path))
    handler.progress = Progress(["x/a"], {}, cores=1)
    handler.progress.begin("x/a")
    handler._tick()
    assert capsys.readouterr().err == "\r\x1b[K0 of 1 done; now x/a"
