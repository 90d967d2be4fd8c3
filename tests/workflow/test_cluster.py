"""A cluster gets one job for each network, with the resources of the plan."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import plan
import step


def test_one_job_for_each_network_is_submitted(tmp_path, monkeypatch):
    """With the hours, memory, processors and GPUs of the plan."""
    given = plan.steps_of("paper", "gscore")
    steps = {each.name: replace(each, resources=plan.resources_of(each)) for each in given}
    (tmp_path / "runs/paper/gscore").mkdir(parents=True)
    step.write(steps, tmp_path / "runs/paper")
    for folder in ("notebooks", "workflow"):
        (tmp_path / folder).symlink_to(step.ROOT / folder)
    (program := tmp_path / "sbatch").write_text('#!/bin/sh\necho "$@" >> submitted')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).with_name("cluster")), prepend=os.pathsep)
    command = "-m snakemake all --snakefile workflow/Snakefile --config tier=paper --nolock "
    command += (
        "--profile workflow/profiles/slurm --latency-wait 1 --seconds-between-status-checks 0"
    )
    subprocess.run([sys.executable, *command.split()], cwd=tmp_path, check=True)
    lines = (tmp_path / "submitted").read_text().splitlines()
    jobs = {line.split()[1].replace("--", "/"): line.split(maxsplit=2)[2] for line in lines}
    assert sorted(jobs) == sorted(steps) and len(lines) == len(steps)
    networks = [name for name in jobs if "/network/" in name]
    assert {jobs[name] for name in networks} == {"-t 360 --mem 16000 --cpus-per-task=1 --gpus=1"}
    assert len(networks) == 6  # five on CIFAR-10, and one on CIFAR-100
    assert "--gpus" not in jobs["gscore/dataset"]
