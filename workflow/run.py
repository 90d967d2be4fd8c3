"""Run the pipeline: parameters checked, one run at a time, Snakemake for the rest.

python workflow/run.py --tier mini book
python workflow/run.py preview
python workflow/run.py --tier small --profile my_cluster all
"""

import argparse
import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

from plan import for_snakemake, plan
from step import ROOT, Step, write

STORED = "mini"
"""The tier of the outputs that are stored in the repository's notebooks."""


def preview(book: Path, *, anew: bool) -> None:
    """Render a book of the stored outputs where there is none yet, and say where it is."""
    first = book / "_build" / "html" / "index.html"
    if anew or not first.exists():
        print("a preview first, from stored outputs; this takes a minute or two", flush=True)
        command = [sys.executable, ROOT / "workflow" / "book.py", "--tier", STORED]
        done = subprocess.run([*command, "--runs", ROOT / "notebooks", "--out", book])
        if done.returncode:
            sys.exit(done.returncode)
        print(f"to read meanwhile: {first}", flush=True)


def planned(tier: str) -> dict[str, Step]:
    """Return the steps of a tier, or end with what is wrong with its parameters."""
    try:
        return for_snakemake(plan(tier))
    except (ValueError, FileNotFoundError) as error:
        sys.exit(f"refused before anything ran: {error}")


def main() -> None:
    """Check what is asked for, take the lock, and become Snakemake."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "target",
        choices=["all", "book", "preview"],
        help="notebooks only; the book too; or a book of the stored outputs, executing nothing",
    )
    parser.add_argument("--tier", default=STORED)
    parser.add_argument("--cores", default=str(os.cpu_count()))
    parser.add_argument("--profile", help="Snakemake profile, for a cluster", default="")
    arguments = parser.parse_args()
    if arguments.target == "preview" and arguments.tier != STORED:
        parser.error(f"preview: the notebooks' stored outputs are of tier {STORED}")
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
    if arguments.tier == STORED and arguments.target != "all":
        preview(runs / "book", anew=arguments.target == "preview")
    if arguments.target == "preview":
        return
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
