"""Jobs without notebook: one network each, failures, what is left to do, and their GPU."""

import os
import subprocess
import sys
from pathlib import Path

import jobs
import pytest
import step as steps

from helpers.papers import load, run
from tests.papers.toys import SHORT, tiny

UIMNET = {
    "runs": 1,
    "algorithms": {"erm": {}, "rnd": {"objective": "rnd"}},
    "groups": {"all": ["erm", "rnd"]},
}
UNKNOWN = {
    "finished": None,
    "methods": ["baseline", "ensemble", "odin"],
    "members": 2,
    "ensemble_of": "run",
    "runs": 1,
}
OPENSET = {
    "finished": None,
    "data_sets": ["digits"],
    "networks": {"small": {"depth": 8, "width": 4}},
    "epochs": 1,
    "runs": 1,
}
#: Holds its GPU until a file appears.
USER = """
import sys, time; from pathlib import Path; import step
step.take_gpu(step.Step("a/network/b", "", {}), Path(sys.argv[1]))
print(step.os.environ["CUDA_VISIBLE_DEVICES"], flush=True)
while not Path(sys.argv[1], "end").exists(): time.sleep(0.05)
"""


@pytest.fixture
def cached(tmp_path, monkeypatch):
    monkeypatch.setenv("CACHE_ROOT", str(tmp_path / "cache"))
    monkeypatch.setenv("TRAINING", "allowed")


def parameters_of(paper):
    if paper == "uimnet":
        return tiny("experiment", paper).replace(**UIMNET)
    if paper == "unknown_detection":
        return load(paper, "mini", **SHORT).replace(**UNKNOWN)
    return load(paper, "mini").replace(**OPENSET)


@pytest.mark.parametrize(
    ("paper", "networks"), [("uimnet", 4), ("unknown_detection", 2), ("openset_calibration", 2)]
)
def test_the_named_networks_are_all_that_the_parts_need(paper, networks, cached, monkeypatch):
    parameters = parameters_of(paper)
    parts = run.parts(parameters)
    paths = set()
    names = set()
    experiment = run.experiment_of(parameters)
    for part in parts:
        roles = experiment.roles(parameters, part)
        for name, network in run.train_each(parameters, part, roles):
            assert network.path.exists()
            paths.add(network.path)
            names.add((part.name, name))
        for name in part.networks:
            ((_, network),) = run.networks(run.train(parameters, part, name))
            assert network.path in paths
    assert len(paths) == networks <= len(names)
    monkeypatch.setenv("TRAINING", "refused")
    for part in parts:
        models = experiment.models(parameters, part, experiment.roles(parameters, part))
        assert {network.path for _, network in run.networks(models)} <= paths


@pytest.fixture
def network(tmp_path, cached, monkeypatch):
    """Return the job of a small network, and the folder of the outcomes."""
    parameters = parameters_of("openset_calibration")
    monkeypatch.setattr(jobs, "load", lambda *_: parameters)
    values = {"tier": "mini", "part": "digits/small/0", "network": "open-set"}
    (tmp_path / "runs/openset_calibration/network").mkdir(parents=True)
    job = steps.Step("openset_calibration/network/digits-small-0-open-set", "", values)
    return job, tmp_path / "runs"


def test_a_job_writes_its_outcome_and_its_network_and_begins_again_if_that_is_gone(network):
    job, runs = network
    assert jobs.do(job, runs / job.output).startswith("trained in ")
    assert "epoch" in (runs / job.output).with_suffix(".log").read_text()
    path = Path((runs / job.output).read_text().splitlines()[1])
    assert path.suffix == ".safetensors" and path.exists()
    jobs.forget({job.name: job}, runs)
    assert (runs / job.output).exists()
    path.unlink()
    jobs.forget({job.name: job}, runs)
    assert not (runs / job.output).exists()


def test_a_job_that_fails_ends_no_other_and_is_repeated(network, monkeypatch):
    job, runs = network

    def no_memory(*_):
        raise MemoryError("of the GPU\nis used")

    monkeypatch.setattr(jobs.run, "train", no_memory)
    outcome = jobs.do(job, runs / job.output)
    assert outcome.startswith("failed: MemoryError: of the GPU")
    failed = jobs.failures({job.name: job}, runs)
    assert failed[job.name].startswith("failed: MemoryError: of the GPU is used (")
    assert "Traceback" in (runs / job.output).with_suffix(".log").read_text()
    jobs.forget({job.name: job}, runs)
    assert not (runs / job.output).exists()


def test_a_part_without_its_network_names_it(network, monkeypatch):
    _, runs = network
    part = steps.Step(
        "openset_calibration/part/a", "", {"tier": "mini", "part": "digits/small/0", "network": ""}
    )
    (runs / part.output).parent.mkdir()
    monkeypatch.setenv("TRAINING", "refused")
    outcome = jobs.do(part, runs / part.output)
    assert outcome.startswith("failed: part digits/small/0 failed: MissingError: ")
    assert "TRAINING=refused; the network of digits" in outcome


def test_steps_are_spread_over_the_gpus(tmp_path, monkeypatch):
    """Each of three GPUs has one step before one has two; the seventh step waits for the end."""
    (program := tmp_path / "nvidia-smi").write_text("#!/bin/sh\nseq -f 'GPU %.0f: A' 0 2")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.delenv(steps.VISIBLE, raising=False)
    assert steps.gpus() == ["0", "1", "2"]
    monkeypatch.setenv(steps.GPUS, ",".join(2 * steps.gpus()))
    command = [sys.executable, "-c", USER, str(tmp_path)]
    options = {"cwd": steps.ROOT / "workflow", "stdout": subprocess.PIPE, "text": True}
    users = [subprocess.Popen(command, **options) for _ in range(3)]
    first = [user.stdout.readline().strip() for user in users]
    users += [subprocess.Popen(command, **options) for _ in range(3)]
    second = [user.stdout.readline().strip() for user in users[3:]]
    assert sorted(first) == sorted(second) == ["0", "1", "2"]
    users.append(subprocess.Popen(command, **options))
    users[1].kill()  # as any end, it frees the GPU
    assert users[6].stdout.readline().strip() == first[1]
    (tmp_path / "end").touch()
    for user in users:
        user.communicate(timeout=60)


def test_without_gpus_and_on_a_cluster_a_step_takes_what_it_has(tmp_path, monkeypatch):
    monkeypatch.delenv(steps.GPUS, raising=False)
    monkeypatch.setenv(steps.VISIBLE, "5")
    steps.take_gpu(steps.Step("a/network/b", "", {}), tmp_path)
    monkeypatch.setenv(steps.GPUS, "0")
    steps.take_gpu(steps.Step("a/dataset", "a.ipynb", {}), tmp_path)
    assert os.environ[steps.VISIBLE] == "5" and not [*tmp_path.iterdir()]
