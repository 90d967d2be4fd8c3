"""A cluster gets one job for each network, with the resources of the plan."""

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import plan
import step

#: Writes down its arguments, and answers with the number of the job.
SBATCH = '#!/bin/sh\nprintf "%s\\n" "$*" >> "$SUBMITTED"; grep -c "" "$SUBMITTED"\n'
#: The name of a job, and the minutes, memory, processors and GPUs that it requests.
JOB = r"--comment (\S+) -t (\d+) --mem (\d+) --cpus-per-task=(\d+) (?:--gpus=(\d) )?--wrap "


def test_one_job_for_each_network_is_submitted(tmp_path, monkeypatch):
    """Networks come before the parts that use them, with the hours, memory and GPU of the plan."""
    given = plan.steps_of("paper", "gscore")
    steps = {each.name: replace(each, resources=plan.resources_of(each)) for each in given}
    (runs := tmp_path / "runs/paper").mkdir(parents=True)
    step.write(steps, runs)
    for folder in ("notebooks", "workflow"):
        (tmp_path / folder).symlink_to(step.ROOT / folder)
    (program := tmp_path / "sbatch").write_text(SBATCH)
    program.chmod(0o755)
    submitted = tmp_path / "submitted"
    monkeypatch.setenv("SUBMITTED", str(submitted))
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).with_name("cluster")), prepend=os.pathsep)
    command = "-m snakemake all --snakefile workflow/Snakefile --config tier=paper --nolock "
    command += (
        "--profile workflow/profiles/slurm --latency-wait 1 --seconds-between-status-checks 0"
    )
    subprocess.run([sys.executable, *command.split()], cwd=tmp_path, check=True)
    jobs = re.findall(JOB, submitted.read_text())
    names = [name.replace("--", "/") for name, *_ in jobs]
    assert sorted(names) == sorted(steps)
    networks = [job for name, job in zip(names, jobs, strict=True) if "/network/" in name]
    # five networks on CIFAR-10, and one on CIFAR-100
    assert [rest for _, *rest in networks] == 6 * [["360", "16000", "1", "1"]]
    first_part = names.index(next(name for name in names if "/part/" in name))
    assert all(names.index(name) < first_part for name in names if "/network/" in name)
    assert jobs[names.index("gscore/dataset")][-1] == ""  # no GPU
