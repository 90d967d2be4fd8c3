"""Training away: what travels, when it stops, what comes back, and how it continues."""

import functools
import os
import signal
import subprocess
import sys
import tarfile
import time

import away
import background
import pytest

from helpers import checkpoints
from helpers.training import parcels
from synthesis import chapters
from tests.papers.toys import SHORT

ENTRY = ["unknown_detection", "mini", "0/baseline"]
FEW = SHORT | {"epochs": 2}
#: Packages that a machine needs, in addition to Python.
NEEDED = (
    "numpy", "pandas", "pillow", "pyarrow", "pydantic", "pyyaml", "safetensors", "scipy", "timm",
    "torch", "torchvision", "tqdm",
)  # fmt: skip
#: The project's other packages are hidden, and everything that a training needs is imported.
HIDING = """
import sys
for name in ("IPython", "itables", "jinja2", "matplotlib", "nltk", "papermill", "pooch", "seaborn",
             "sklearn", "snakemake"):
    sys.modules[name] = None
import away
import timm.models
for chapter in ("uimnet", "unknown_detection", "human_centric", "openset_calibration"):
    away.run.experiment_of(away.load(chapter, "small"))
code = str(away.ROOT)
ours = {name: module for name, module in sys.modules.items()
        if name.partition(".")[0] in away.PACKAGES and module.__file__}
assert not (outside := [name for name in ours if not ours[name].__file__.startswith(code)]), outside
"""
#: A process of the queue: it ends no training, and writes a checkpoint.
STUB = """
import os, pathlib, time
folder = pathlib.Path(os.environ["CACHE_ROOT"]) / "networks"
for number in range(1000):
    time.sleep(0.1)
    (folder / f"{os.getpid()}.partial").write_text(str(number))
"""


@pytest.fixture
def few(tmp_path, monkeypatch):
    """Let the list be one small training."""
    monkeypatch.setenv("CACHE_ROOT", str(tmp_path / "here"))
    monkeypatch.delenv("TRAINING", raising=False)
    short = functools.partial(chapters.load, **FEW)
    for module in (chapters, away):
        monkeypatch.setattr(module, "load", short)
    monkeypatch.setattr(away, "listed", lambda: background.entries_of([ENTRY]))


def test_a_parcel_trains_without_data_sets_and_its_network_comes_back(
    few, tmp_path, monkeypatch, capsys
):
    folder, results = tmp_path / "parcel", tmp_path / "results"
    for name in ("networks/a.partial", "networks/a.safetensors", "queue/a.txt"):
        (file := tmp_path / "here" / name).parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    away.pack(folder, ["mini/unknown"])
    with tarfile.open(folder / "state_0.tar") as state:  # and no finished network
        assert state.getnames() == ["networks/a.partial"]
    assert "mini/unknown_detection/0/baseline: 1 packs" in capsys.readouterr().out
    assert (folder / "code" / "workflow" / "away.py").exists()
    assert not (folder / "code" / "results").exists()
    # elsewhere
    monkeypatch.setenv("PARCEL", str(folder))
    monkeypatch.setenv("CACHE_ROOT", str(tmp_path / "there"))
    (entry,) = away.packed()
    with monkeypatch.context() as patch:
        # the images are in the parcel
        patch.setattr("helpers.papers.unknown_detection.experiment.roles", None)
        background.train(*entry.values)
    parcels.write_shards(tmp_path / "there", results, away.RESULTS)
    # here again: nothing to train, nothing to pack
    monkeypatch.delenv("PARCEL")
    monkeypatch.setenv("CACHE_ROOT", str(tmp_path / "here"))
    away.collect(results)
    assert "1 files are new" in capsys.readouterr().out
    (path,) = (tmp_path / "here").glob("exports/mini/networks/unknown_detection/*.safetensors")
    commit = checkpoints.load(path)[1]["commit"]
    assert commit == background.commit_of("HEAD")
    assert [*away.unfinished([""])] == []


def test_an_entry_that_a_queue_trains_is_not_packed(few):
    (entry,) = away.listed()
    with entry.try_lock():
        assert [*away.unfinished([""])] == []


@pytest.fixture
def stub(tmp_path, monkeypatch):
    """Let the processes of the queue be stubs, in an empty parcel and with a fresh cache."""
    (script := tmp_path / "code" / "workflow" / "away.py").parent.mkdir(parents=True)
    script.write_text(STUB)
    monkeypatch.setattr(away, "ROOT", tmp_path / "code")
    monkeypatch.setenv("CACHE_ROOT", str(tmp_path / "cache"))
    for variable in ("PARCEL", "NETWORK_ROOT"):
        monkeypatch.setenv(variable, "")
    (old := tmp_path / "cache" / "networks" / "old.partial").parent.mkdir(parents=True)
    old.touch()
    os.utime(old, (0, 0))
    parcels.Writer().write(tmp_path, "abc")
    return script


def test_it_stops_after_the_minutes_and_writes_what_is_new_into_one_folder(stub, tmp_path):
    """A second command elsewhere continues from these files; it refuses a folder with results."""
    results, start = tmp_path / "results", time.time()
    away.train(tmp_path, processes=2, minutes=0.1, results=results)
    assert 6 < time.time() - start < 60
    (shard,) = results.iterdir()
    partial = sorted((tmp_path / "cache" / "networks").glob("[0-9]*.partial"))
    other = tmp_path / "other"
    assert parcels.unpack(shard, other) == len(partial) == 2
    for path in partial:  # their processes have ended
        text = path.read_text()
        assert (other / "networks" / path.name).read_text() == text
        with pytest.raises(ProcessLookupError):
            os.kill(int(path.stem), 0)
    with pytest.raises(SystemExit, match="results: an empty folder expected; collect its results"):
        away.train(tmp_path, processes=1, minutes=1, results=results)


def test_sigterm_ends_the_trainings_after_the_results_are_written(stub, tmp_path):
    code = f"import away; away.ROOT = away.Path({str(tmp_path / 'code')!r}); away.main()"
    command = [sys.executable, "-c", code, "run", tmp_path, "--results", tmp_path]
    process = subprocess.Popen(command, cwd=background.ROOT / "workflow")
    while not (partial := [*tmp_path.glob("cache/networks/[0-9]*")]):
        time.sleep(0.05)
    process.terminate()
    assert process.wait(60) == 128 + signal.SIGTERM
    assert parcels.unpack(tmp_path / "results_0.tar", tmp_path / "other") == 1
    with pytest.raises(ProcessLookupError):
        os.kill(int(partial[0].stem), 0)


def test_it_ends_early_when_all_networks_are_trained(stub, tmp_path):
    """The next call also writes files that this call has not written."""
    stub.write_text("")
    start = time.time()
    for name in "ab":
        away.train(tmp_path, processes=3, minutes=60, results=tmp_path / name)
        (tmp_path / f"cache/networks/{name}.partial").touch()
    assert time.time() - start < 20
    assert parcels.unpack(tmp_path / "b" / "results_0.tar", tmp_path / "other") == 1


@pytest.mark.parametrize("content", [None, '{"commit": 1'])
def test_a_folder_without_a_whole_parcel_is_refused(stub, tmp_path, content):
    (file := tmp_path / "parcel.json").unlink()
    if content:
        file.write_text(content)
    with pytest.raises(SystemExit, match="a parcel expected, which `pack` writes"):
        away.train(tmp_path, processes=1, minutes=1, results=tmp_path / "results")


def test_a_folder_without_whole_results_is_refused(stub, tmp_path):
    with pytest.raises(SystemExit, match=r"results_0\.tar expected, which `run` writes there"):
        away.collect(tmp_path)
    (shard := tmp_path / "results_0.tar").write_bytes(bytes(range(200)) * 9)
    with pytest.raises(SystemExit, match=r"a whole file of `run` expected, got .*; copy it again"):
        away.collect(tmp_path)
    assert shard.exists()


def test_a_parcel_is_a_new_folder_with_some_network(few, tmp_path):
    with pytest.raises(SystemExit, match="a new folder expected, and it exists"):
        away.pack(tmp_path, [""])
    with pytest.raises(SystemExit, match="no network to train has a name that begins with small"):
        away.pack(tmp_path / "parcel", ["small/"])
    assert not (tmp_path / "parcel").exists()


def test_a_machine_needs_no_other_package_than_the_page_names(tmp_path):
    """And no code of the project that the parcel does not have."""
    away.write_code(tmp_path, "HEAD")
    page = (background.ROOT / "book" / "large_runs.md").read_text("utf-8")
    for name in NEEDED:
        assert f"`{name}`" in page
    code = tmp_path / "code"
    paths = {"PYTHONPATH": f"{code}:{code}/workflow"}
    subprocess.run([sys.executable, "-c", HIDING], env=os.environ | paths, cwd=code, check=True)
