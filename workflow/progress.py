"""What a person is told while notebooks are executed: what is done, what runs, how long it goes on.

`snakemake_logger_plugin_notebooks` hears of each step from Snakemake and asks here for the words.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from helpers.files import atomic_path

NAMED = 3
"""Changed files that a line names."""
_REASONS = {  # what Snakemake says, and what we do
    "Updated input files": "changed: {}",
    "Params have changed since last execution": "its parameters changed",
    "Set of input files has changed since last execution": "it reads other files than before",
    "Code has changed since last execution": "how it is executed changed",
    "Input files updated by another job": "what it builds on is new",
}


class Progress:
    """Which steps are done, which run, and how long the others will take.

    Parameters
    ----------
    names : iterable of str
        The steps that are going to be executed.
    known : mapping of str to float
        Seconds that steps took before, on whatever machine; a step may be missing.
    cores : int
        How many run side by side.
    clock : callable
        Returns the time in seconds.

    Examples
    --------
    >>> seconds = iter([0.0, 30.0, 30.0])
    >>> progress = Progress(["a", "b"], {"a": 10, "b": 20}, cores=1, clock=lambda: next(seconds))
    >>> progress.begin("a")
    >>> progress.end("a")
    'a, 30 s; 1 of 2 done, about 1 min to go'
    """

    def __init__(
        self,
        names: Iterable[str],
        known: Mapping[str, float],
        cores: int,
        clock: Callable[[], float] = time.monotonic,
    ):
        self.names, self.known, self.cores, self.clock = list(names), known, cores, clock
        self.begun: dict[str, float] = {}
        self.why: dict[str, str] = {}
        self.took: dict[str, float] = {}
        self.failed: list[str] = []

    @property
    def running(self) -> list[str]:
        """The steps that have begun and not ended."""
        return [name for name in self.begun if name not in self.took and name not in self.failed]

    def begin(self, name: str, reason: str = "") -> None:
        """Note that a step begins, or is tried again, and Snakemake's reason for it."""
        if name in self.failed:
            self.failed.remove(name)
        self.begun[name], self.why[name] = self.clock(), why(reason)

    def end(self, name: str) -> str:
        """Note that a step is done; return a line about it."""
        now = self.clock()
        self.took[name] = now - self.begun.get(name, now)
        again = f" (again: {self.why[name]})" if self.why.get(name) else ""
        return f"{name}, {span(self.took[name])}{again}; {self.status()}"

    def fail(self, name: str) -> str:
        """Note that a step failed; return a line about it."""
        self.failed.append(name)
        return f"{name} FAILED; {self.status()}"

    def status(self) -> str:
        """Return in words how far all is."""
        left = self.remaining()
        more = f", about {span(left)} to go" if left >= 1 else ""
        running = f"; now {', '.join(self.running)}" if self.running else ""
        return f"{len(self.took)} of {len(self.names)} done{more}{running}"

    def remaining(self) -> float:
        """Return the seconds still to go; 0 where too little tells.

        A step that was never timed takes as long as the others on average; where most of what is
        left was never timed that says nothing, since the first steps, the trainings, are the
        longest.  What is known may be of another machine: it is scaled by what the finished steps
        took here.
        """
        told = [name for name in self.took if name in self.known]
        before, here = (sum(one[name] for name in told) for one in (self.known, self.took))
        scale = here / before if before else 1.0
        costs = {name: scale * self.known[name] for name in self.names if name in self.known}
        costs |= self.took
        waiting = [name for name in self.names if name not in self.took]
        if sum(name in costs for name in waiting) * 2 < len(waiting) or not costs:
            return 0.0
        usual = sum(costs.values()) / len(costs)
        now = self.clock()
        left = [
            max(costs.get(name, usual) - (now - self.begun.get(name, now)), 0.0)
            for name in self.names
            if name not in self.took and name not in self.failed
        ]
        return max(sum(left) / self.cores, *left, 0.0)

    def summary(self) -> str:
        """Return what is to be said at the end: nothing unless a step failed."""
        if not self.failed:
            return ""
        waiting = set(self.names) - {*self.took, *self.failed}
        not_begun = f"; {len(waiting)} more wait for that" if waiting else ""
        return (
            f"{len(self.took)} of {len(self.names)} steps done; failed: {', '.join(self.failed)}"
            f"{not_begun}. What each died of stands above; the same command goes on from here"
        )


def why(reason: str) -> str:
    """Say why a step is executed again; "" for one that never was.

    Examples
    --------
    >>> why("Missing output files: runs/mini/a.ipynb")
    ''
    >>> why("Updated input files: helpers/cache.py, notebooks/a.ipynb")
    'changed: helpers/cache.py, notebooks/a.ipynb'
    """
    found = []
    for what, files in re.findall(r"([A-Z][a-z A-Z]+)(?::? *([^;]*))?(?:;|$)", reason):
        if what == "Missing output files":
            return ""
        if words := _REASONS.get(what.strip()):
            changed = [one.strip() for one in files.split(",")]
            more = f" and {len(changed) - NAMED} more" if len(changed) > NAMED else ""
            found.append(words.format(", ".join(changed[:NAMED]) + more))
    return "; ".join(found)


def span(seconds: float) -> str:
    """Return a time in words.

    Examples
    --------
    >>> span(42.3), span(130), span(7300)
    ('42 s', '2 min', '2 h 2 min')
    """
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def known_seconds(runs: Path) -> dict[str, float]:
    """Return what the steps of a tier took when they were executed last here."""
    try:
        return json.loads((runs / "seconds.json").read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):  # none yet, or half a one
        return {}


def keep_seconds(runs: Path, took: Mapping[str, float]) -> None:
    """Keep what steps took, beside what is known of the others."""
    with atomic_path(runs / "seconds.json") as whole:
        whole.write_text(json.dumps(known_seconds(runs) | dict(took)), encoding="utf-8")
