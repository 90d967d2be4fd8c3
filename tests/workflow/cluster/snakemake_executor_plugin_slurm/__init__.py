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
        command = f"sbatch --comment {job.name} -t {asked.runtime} --mem {asked.mem_mb}"
        command += f" --cpus-per-task={asked.cpus_per_task}" + asked.gpu * f" --gpus={asked.gpu}"
        subprocess.run(command.split(), check=True)
        for output in map(Path, job.output):
            output.parent.mkdir(exist_ok=True)
            output.touch()
        self.report_job_submission(SubmittedJobInfo(job))

    async def check_active_jobs(self, active_jobs):
        for job in active_jobs:
            self.report_job_success(job)
            continue
            yield job  # never: no job is active

    def cancel_jobs(self, active_jobs):
        raise AssertionError
