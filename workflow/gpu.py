"""Use a GPU for some minutes: do what waits for one, the most valuable first.

    python workflow/gpu.py --minutes 25
    python workflow/gpu.py --plan

Each piece of work ends by writing what it found into `runs/gpu`, and is not begun again once that
is there; one that the time ends goes on where it was, the next time.  All pieces of a chapter that
are there are put together as `runs/gpu/PAPER.parquet`, a results table of tier `small`.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from helpers import data  # noqa: E402
from helpers.files import atomic_path  # noqa: E402
from helpers.papers import load, run  # noqa: E402
from helpers.report import results  # noqa: E402

FOLDER = ROOT / "runs" / "gpu"
TIER = "small"
CHAPTERS = ("unknown_detection", "openset_calibration")
"""What `resources.yaml` asks a GPU for at this tier, in order of value."""
WAITING = "tests/training/test_step.py"
"""The tests that are skipped without a GPU."""
LEAST = 30.0
"""Seconds without which no piece of work is begun, and in which one that is told to end may end."""


@dataclass(frozen=True)
class Work:
    """A piece of work: a command that writes one file.

    Attributes
    ----------
    name : str
    command : tuple of str
        Arguments of this Python.
    makes : Path
        The file; where it is there, the work is done.
    says : bool
        The file is what the command prints.
    lacking : str
        Why it cannot be done, such as data that are not at hand; else "".
    """

    name: str
    command: tuple[str, ...]
    makes: Path
    says: bool = False
    lacking: str = ""
    chapter: str = field(default="")

    @property
    def done(self) -> bool:
        """Whether what it makes is there."""
        return self.makes.exists()


def plan(folder: Path = FOLDER) -> list[Work]:
    """Return all work in order: tests, speed, then each chapter's first run, then its others."""
    whole = [
        Work("tests", ("-m", "pytest", "-q", "-p", "no:cacheprovider", WAITING),
             folder / "tests.txt", says=True),
        Work("speed", ("-m", "benchmarks.training_gpu"), folder / "speed.txt", says=True),
    ]  # fmt: skip
    parts = []
    for chapter in CHAPTERS:
        parameters = load(chapter, TIER, root=ROOT)
        lacking = lacking_of(parameters.data_sets_used())
        for part in run.parts(parameters):
            made = folder / chapter / f"{part.name.replace('/', '--')}.parquet"
            command = ("workflow/sweep.py", TIER, chapter, "--only", part.name)
            command += ("--device", "cuda", "--out", str(made))
            name = f"{chapter}, {part.name}"
            parts.append((part.identity["run"], Work(name, command, made, False, lacking, chapter)))
    return whole + [one for _, one in sorted(parts, key=lambda pair: pair[0])]  # else as they came


def lacking_of(names: Iterable[str]) -> str:
    """Return why data sets cannot be read, of the first that cannot."""
    for name in names:
        try:
            data.locate(name)
        except FileNotFoundError as error:
            return str(error)
    return ""


def do(work: Work, seconds: float) -> str:
    """Do a piece of work in so many seconds; return what came of it.

    Returns
    -------
    str
        ``done``, ``failed`` or ``goes on next time``.
    """
    work.makes.parent.mkdir(parents=True, exist_ok=True)
    begun = subprocess.Popen(
        [sys.executable, *work.command], cwd=ROOT, text=True,
        stdout=subprocess.PIPE if work.says else None,
        # a job in the background ignores interrupts, and what it starts would, too
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    try:
        said, _ = begun.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        begun.send_signal(signal.SIGINT)
        try:
            begun.communicate(timeout=LEAST)
        except subprocess.TimeoutExpired:
            begun.kill()
            begun.communicate()
        return "goes on next time"
    if work.says:
        print(said, end="", flush=True)
    if begun.returncode:
        return "failed"
    if work.says:
        with atomic_path(work.makes) as temporary:
            temporary.write_text(said, encoding="utf-8")
    return "done"


def put_together(works: Iterable[Work], folder: Path = FOLDER) -> Iterator[Path]:
    """Write, and give, the results table of each chapter of which some parts are there."""
    found: dict[str, list[pd.DataFrame]] = {}
    for one in works:
        if one.chapter and one.done:
            found.setdefault(one.chapter, []).append(results.read(one.makes))
    for chapter, tables in found.items():
        results.write(pd.concat(tables, ignore_index=True), folder / f"{chapter}.parquet")
        yield folder / f"{chapter}.parquet"


def state_of(work: Work) -> str:
    """Return in words whether work is done, waits, or cannot be done."""
    return "done" if work.done else f"cannot be done: {work.lacking}" if work.lacking else "waits"


def work_through(works: list[Work], minutes: float, folder: Path = FOLDER) -> list[str]:
    """Do what waits until the time is over; return the names of what failed."""
    end, failed = time.monotonic() + 60 * minutes, []
    for one in works:
        if one.done or one.lacking:
            continue
        left = end - time.monotonic() - LEAST
        if left < LEAST:
            print(f"the time is over; the same command goes on with {one.name}", flush=True)
            break
        print(f"{one.name}: {left / 60:.1f} minutes are left", flush=True)
        came = do(one, left)
        print(f"{one.name}: {came}", flush=True)
        failed += [one.name] * (came == "failed")
        if came == "done" and one.chapter:
            print(*put_together(works, folder), sep="\n", flush=True)
    return failed


def main() -> None:
    """Show the plan, or work through it where there is a GPU."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=25.0)
    parser.add_argument("--plan", action="store_true", help="show what would be done, and end")
    arguments = parser.parse_args()
    works = plan()
    if arguments.plan:
        print(*(f"{one.name}: {state_of(one)}" for one in works), sep="\n")
        return
    import torch

    if not torch.cuda.is_available():
        parser.error("PyTorch sees no GPU here; --plan shows what waits for one")
    if failed := work_through(works, arguments.minutes):
        sys.exit(f"failed: {'; '.join(failed)}")


if __name__ == "__main__":
    main()
