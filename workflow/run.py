"""Run the pipeline: parameters checked, one run at a time, Snakemake for the rest.

python workflow/run.py --tier mini book
python workflow/run.py --tier small --profile my_cluster all
"""

import argparse
import fcntl
import os
import shutil
import sys
from pathlib import Path

from plan import for_snakemake, plan
from step import ROOT, Step, write


def planned(tier: str) -> dict[str, Step]:
    """Return the steps of a tier, or end with what is wrong with its parameters."""
    try:
        return for_snakemake(plan(tier))
    except (ValueError, FileNotFoundError) as error:
        sys.exit(f"refused before anything ran: {error}")


def main() -> None:
    """Check what is asked for, take the lock, and become Snakemake."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", choices=["all", "book"], help="notebooks only, or the book too")
    parser.add_argument("--tier", default="mini")
    parser.add_argument("--cores", default=str(os.cpu_count()))
    parser.add_argument("--profile", help="Snakemake profile, for a cluster", default="")
    arguments = parser.parse_args()
    steps = planned(arguments.tier)
    runs = ROOT / "runs" / arguments.tier
    runs.mkdir(parents=True, exist_ok=True)
    # The kernel lets go of this lock when the process ends, however it ends, so a killed run
    # leaves nothing to unlock; Snakemake's own lock would stay behind.
    lock = os.open(runs / ".lock", os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print(f"another run of tier {arguments.tier} is under way; waiting for it", flush=True)
        fcntl.flock(lock, fcntl.LOCK_EX)
        steps = planned(arguments.tier)  # parameters may have been changed meanwhile
    os.set_inheritable(lock, True)
    write(steps, runs)
    gpus = ["--resources", "gpu=1"] if shutil.which("nvidia-smi") else []
    where = ["--profile", arguments.profile] if arguments.profile else []
    os.chdir(ROOT)
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    print(f"tier {arguments.tier}: {len(steps)} notebook runs planned", flush=True)
    snakemake = [
        sys.executable, "-m", "snakemake", arguments.target,
        "--snakefile", "workflow/Snakefile", "--cores", arguments.cores,
        "--config", f"tier={arguments.tier}", "--nolock", "--rerun-incomplete", "--keep-going",
        "--quiet", "rules", "host", *gpus, *where,
    ]  # fmt: skip
    os.execv(sys.executable, snakemake)


if __name__ == "__main__":
    main()
