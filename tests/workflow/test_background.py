"""The background queue: kill and resume, failures, locks, status, the fixed commit."""

import collections
import functools
import os
import signal
import subprocess
import sys
import threading
import time
from unittest import mock

import background
import pytest
import sweep
import yaml

from helpers import checkpoints
from helpers.modules import ROOT
from helpers.networks.recipe import Recipe
from helpers.papers import run
from helpers.training import fitted, loop
from synthesis import chapters
from tests.data.test_images import some
from tests.papers.toys import SHORT

LISTING = ROOT / "params" / "background.yaml"
PATHS = {"PYTHONPATH": os.pathsep.join([str(ROOT / "workflow"), str(ROOT)])}
RECIPE = {"width": 4, "stem_stride": 2, "epochs": 8, "batch_size": 8}
#: What trains in the place of the worktree's own command: a tiny network, a checkpoint an epoch.
STUB = f"""
import sys
if sys.argv[-1] == "broken":
    raise FileNotFoundError("no pack of that name")
if sys.argv[-1] == "next":
    sys.exit(print("accuracy 0.5"))
import functools, os, time
from helpers.networks.recipe import Recipe
from helpers.training import fitted, loop
from step import end_with_parent
from tests.data.test_images import some

end_with_parent(int(os.environ["QUEUE"]))
epoch = loop._epoch
loop._epoch = lambda *arguments: time.sleep(float(os.environ.get('SLOW', 0))) or epoch(*arguments)
fitted.train = functools.partial(loop.train, checkpoint_seconds=0)
print("\\n" + fitted.fit(some(24, 16), Recipe(**{RECIPE})).sha256)
"""
QUEUE = """
import sys; from pathlib import Path; import background
entries = [background.Entry(["p", "t", name], Path(sys.argv[1])) for name in sys.argv[3:]]
background.train_all(entries, Path(sys.argv[2]))
"""


@pytest.fixture
def stub(tmp_path):
    path = tmp_path / "checkout"
    (path / "workflow").mkdir(parents=True)
    for name in ("helpers", "tests", "workflow/step.py"):
        (path / name).symlink_to(ROOT / name)
    (path / "workflow" / "background.py").write_text(STUB)
    (path / "pyproject.toml").touch()
    return path


def queue(tmp_path, stub, *names, **changes):
    folder = tmp_path / "killed" / "queue"
    folder.mkdir(parents=True, exist_ok=True)
    environment = os.environ | PATHS | {"CACHE_ROOT": str(tmp_path / "killed")} | changes
    command = [sys.executable, "-c", QUEUE, str(folder), str(stub), *names]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def test_a_killed_queue_ends_with_the_weights_of_an_uninterrupted_training(
    tmp_path, root, stub, monkeypatch
):
    """The training goes on in this process, which has imported torch; its epochs are shown."""
    whole = fitted.fit(some(24, 16), Recipe(**RECIPE), progress=False).sha256
    killed = queue(tmp_path, stub, "net", SLOW="5")
    networks = tmp_path / "killed" / "networks"
    while not (partial := [*networks.glob("[!.]*.partial")]):
        time.sleep(0.05)
    entry = background.Entry(["p", "t", "net"], tmp_path / "killed" / "queue")
    while "accuracy" not in background.status([entry]):
        time.sleep(0.05)
    assert "t/p/net running: epoch" in (line := background.status([entry])) and "of 8, " in line
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    while background.status([entry]) != "t/p/net waiting":  # ended with its queue
        time.sleep(0.05)
    assert 0 < len(checkpoints.load(partial[0])[1]["epochs"]) < 8
    assert not [*networks.glob("*.safetensors")]
    monkeypatch.setenv("CACHE_ROOT", str(tmp_path / "killed"))
    with mock.patch.object(loop, "_epoch", wraps=loop._epoch) as epoch:
        assert fitted.fit(some(24, 16), Recipe(**RECIPE), progress=False).sha256 == whole
    # it did not begin at the first epoch
    assert 0 < epoch.call_count < 8


def test_if_a_network_fails_the_queue_states_the_reason_and_trains_the_next(tmp_path, stub):
    output = queue(tmp_path, stub, "broken", "next").communicate(timeout=300)[0]
    assert "t/p/broken failed: FileNotFoundError: no pack of that name" in output
    assert "t/p/next finished: accuracy 0.5" in output.splitlines()


def test_an_entry_is_tried_once_in_a_run(tmp_path):
    """Several queues walk one list; the next run tries the entry again."""
    entry = background.Entry(["p", "t", "broken"], tmp_path)
    assert entry.is_due(time.time())
    entry.record.write_text("failed: no pack")
    written = entry.record.stat().st_mtime
    assert not entry.is_due(written) and entry.is_due(written + 1)


def test_a_training_finds_the_packages_that_the_caller_has_added(tmp_path, stub):
    (tmp_path / "extra.py").touch()
    (stub / "workflow/background.py").write_text("import extra")
    paths = f"{PATHS['PYTHONPATH']}{os.pathsep}{tmp_path}"
    assert "finished" in queue(tmp_path, stub, "net", PYTHONPATH=paths).communicate()[0]


def test_a_process_whose_parent_ended_before_it_looked_ends_too():
    code = "import step, time; step.end_with_parent(1); time.sleep(60)"
    options = {"cwd": ROOT / "workflow", "timeout": 30}
    assert subprocess.run([sys.executable, "-c", code], **options).returncode == 1


@pytest.mark.parametrize(
    ("outcome", "rest"),
    [("finished: ", []), ("failed: no pack", []), (None, ["t/p/a"])],
    ids=["finished", "failed", "killed"],
)
def test_a_network_of_another_process_is_trained_only_if_it_was_killed(
    tmp_path, monkeypatch, outcome, rest
):
    """A network that another queue has finished is skipped."""
    first, second, third = (background.Entry(["p", "t", name], tmp_path) for name in "abc")
    held, trained = first.try_lock(), []
    third.record.write_text("finished: accuracy 0.5")

    def train_in(path, entry, lock):
        assert entry.try_lock() is None
        trained.append(entry.name)

    monkeypatch.setattr(background, "train_in", train_in)
    entries = [first, second, third]
    lines = ["t/p/a running: ", "t/p/b waiting", "t/p/c finished: accuracy 0.5"]
    assert background.status(entries).splitlines() == lines
    queue = threading.Thread(target=background.train_all, args=(entries, tmp_path))
    queue.start()
    queue.join(0.5)
    end = time.time() + 60
    while not trained and time.time() < end:
        time.sleep(0.01)
    assert trained == ["t/p/b"]
    if outcome:
        first.record.write_text(outcome)
    held.close()
    queue.join(60)
    assert not queue.is_alive()
    assert trained == ["t/p/b", *rest]


def test_the_status_ends_quietly_if_its_reader_closes_the_pipe(tmp_path):
    command = f"{sys.executable} workflow/background.py --status | head -0"
    environment = os.environ | PATHS | {"CACHE_ROOT": str(tmp_path)}
    options = {"shell": True, "cwd": ROOT, "env": environment, "stderr": subprocess.PIPE}
    assert subprocess.run(command, **options).stderr == b""


def test_training_takes_place_in_the_code_of_the_commit(tmp_path, monkeypatch):
    repository = tmp_path / "repository"
    git = ["git", "-C", str(repository), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", "init", "-q", repository], check=True)
    monkeypatch.setattr(background, "ROOT", repository)
    for text in "12":
        (repository / "code.py").write_text(text)
        subprocess.run([*git, "add", "code.py"], check=True)
        subprocess.run([*git, "commit", "-qm", text], check=True)
    for _ in range(2):
        path = background.checkout(tmp_path, "HEAD^")
        assert (path / "code.py").read_text() == "1"
        (path / "code.py").unlink()  # as after a kill in the middle


def test_the_command_trains_at_the_lowest_priority():
    code = "import os, background; background.train = lambda *names: print(os.nice(0), *names)"
    command = [sys.executable, "-c", f"{code}; background.main()", "--train", *"abc", "d=1"]
    options = {"cwd": ROOT / "workflow", "start_new_session": True, "text": True}
    assert subprocess.check_output(command, **options) == "19 a b c d=1\n"
    options["env"] = os.environ | {"PARCEL": "folder"}  # another machine, without other work
    assert subprocess.check_output(command, **options) == f"{os.nice(0)} a b c d=1\n"


def test_an_entry_is_exported_with_its_accuracy(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("CACHE_ROOT", str(tmp_path))
    monkeypatch.setattr(chapters, "load", functools.partial(chapters.load, **SHORT))
    background.train("unknown_detection", "mini", "0/baseline")
    (path,) = tmp_path.glob("exports/mini/networks/unknown_detection/0-baseline.safetensors")
    about = checkpoints.load(path)[1]
    assert f"0-baseline: accuracy {about['test_accuracy']:.4f}" in capsys.readouterr().out
    assert len(about["class_names"]) == 5 and len(about["commit"]) == 40
    background.train("unknown_detection", "mini", "0/baseline")
    assert "exported already" in capsys.readouterr().out
    # other images and another draw of the classes are other networks, in files of their own
    for change in ("jpeg=75", "seed=1"):
        background.train("unknown_detection", "mini", "0/baseline", change)
        name = f"0-baseline-{change.replace('=', '-')}"
        assert f"{name}: accuracy" in capsys.readouterr().out
        changed = checkpoints.load(path.with_name(f"{name}.safetensors"))[1]
        assert changed["origin"]["images"] != about["origin"]["images"]


def test_entries_that_differ_in_their_parameters_have_their_own_files(tmp_path):
    values = ["p", "t", "0/a"]
    plain, copies = (background.Entry(line, tmp_path) for line in (values, [*values, "jpeg=75"]))
    assert copies.name == "t/p/0/a jpeg=75"
    assert {plain.lock, plain.log, plain.record}.isdisjoint(
        {copies.lock, copies.log, copies.record}
    )


@pytest.mark.parametrize(
    "values",
    [[], ["p"], ["p", "t"], "p, t, 0/a", None, ["p", "t", 0], ["p", "t", "0/a", {"jpeg": 75}]],
    ids=str,
)
def test_a_line_of_another_form_is_refused(tmp_path, values):
    with pytest.raises(
        ValueError, match=r"lines \[chapter, tier, part, NAME=VALUE, ...\] expected"
    ):
        background.Entry(values, tmp_path)


def test_every_entry_of_the_list_names_parameters_and_a_part_that_exist():
    wanted = collections.defaultdict(list)
    for paper, tier, part, *changes in yaml.safe_load(LISTING.read_text("utf-8")):
        wanted[paper, tier, *changes].append(part)
    for (paper, tier, *changes), parts in wanted.items():
        parameters = chapters.load(paper, tier, root=ROOT, **sweep.values_of(changes))
        assert len(run.parts(parameters, parts)) == len(parts)
