"""An imitation of Snakemake's executor for Slurm: it calls `sbatch`, and each job is done at once.

The arguments are those of snakemake-executor-plugin-slurm 2.8.0.
"""

import subprocess
from pathlib import Path

from snakemake_interface_executor_plugins.executors.base import SubmittedJobInfo
from snakemake_interface_executor_plugins.executors.remote import RemoteExecutor
from snakemake_interface_executor_plugins.settings import CommonSettings

common_settings = CommonSettings(
    non_local_exec=True,
    implies_no_shared_fs=False,
    job_deploy_sources=False,
    init_seconds_before_status_checks=0,
)


class Executor(RemoteExecutor):
    def run_job(self, job):
        asked = job.resources
        command = ["sbatch", "--comment", job.name, "-t", str(asked.runtime)]
        command += ["--mem", str(asked.mem_mb), f"--cpus-per-task={asked.cpus_per_task}"]
        if asked.gpu:
            command.append(f"--gpus={asked.gpu}")
        number = subprocess.check_output([*command, "--wrap", self.format_job_exec(job)], text=True)
        for output in map(Path, job.output):
            output.parent.mkdir(parents=True, exist_ok=True)
            output.touch()
        self.report_job_submission(SubmittedJobInfo(job, external_jobid=number))

    async def check_active_jobs(self, active_jobs):
        for job in active_jobs:
            self.report_job_success(job)
        for job in ():
            yield job

    def cancel_jobs(self, active_jobs):
        raise AssertionError("no job is cancelled")
