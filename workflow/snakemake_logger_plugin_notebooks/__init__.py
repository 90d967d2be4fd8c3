"""Snakemake's messages for people who wait for notebooks: ``snakemake --logger notebooks``.

Snakemake finds a plugin by the name of its package, and says itself only that jobs are executed.
"""

import logging
import re
import shutil
import sys
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from progress import Progress, keep_seconds, known_seconds
from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent
from snakemake_interface_logger_plugins.settings import LogHandlerSettingsBase
from step import name_of

SHOWN = 40  # last lines of what a job printed
EXPLAINED = re.compile(r"notebooks/\S+\.ipynb failed in ")
WHOLE = "all"  # the rule that only asks for the others


@dataclass
class LogHandlerSettings(LogHandlerSettingsBase):
    """What the plugin is told on Snakemake's command line."""

    folder: Path = field(
        default=None, metadata={"help": "of the executed notebooks", "required": True}
    )
    side_by_side: int = field(default=1, metadata={"help": "steps at once", "type": int})


class LogHandler(LogHandlerBase):
    """Writes a line for each finished step; on a terminal a last line that tells what runs now."""

    writes_to_stream, writes_to_file = True, False
    has_filter, has_formatter, needs_rulegraph = True, False, False

    def __post_init__(self) -> None:
        self.runs, self.progress = Path(self.settings.folder), None
        self.names: dict[int, str] = {}  # of the steps, by the numbers that Snakemake gives them
        self.own = threading.Lock()
        self.over = threading.Event()
        self.terminal = sys.stderr.isatty()
        if self.terminal:
            threading.Thread(target=self._tick, daemon=True).start()

    def emit(self, record: logging.LogRecord) -> None:
        """Say what a message of Snakemake means for who waits; a fault here ends nothing."""
        try:
            self._hear(record)
        except Exception:
            self.handleError(record)

    def _hear(self, record: logging.LogRecord) -> None:
        event, progress = getattr(record, "event", None), self.progress
        if event == LogEvent.RUN_INFO:
            names = [name_of(rule) for rule in record.stats if rule not in (WHOLE, "total")]
            known = known_seconds(self.runs)
            self.progress = Progress(names, known, self.settings.side_by_side)
            self._say(f"{len(names)} steps to execute: {self.progress.status()}")
        elif event == LogEvent.JOB_INFO:  # as it begins
            self.names[record.jobid] = name_of(record.rule_name)
            progress.begin(self.names[record.jobid], record.reason)
        elif event == LogEvent.JOB_FINISHED and self.names[record.job_id] != WHOLE:
            name = self.names[record.job_id]
            self._say(progress.end(name))
            keep_seconds(self.runs, {name: progress.took[name]})
        elif event == LogEvent.JOB_ERROR:
            self._say(progress.fail(name_of(record.rule_name)))
            self._say(said_elsewhere(record.rule_msg, record.log))
        elif str(record.msg).startswith("Nothing to be done"):
            self._say("nothing to execute: all is done, and nothing that it depends on has changed")
        elif event in (None, LogEvent.ERROR) and record.levelno >= logging.WARNING:
            self._say(self.format(record))

    def close(self) -> None:
        """Say what failed, and clear the last line."""
        if not self.over.is_set():
            self.over.set()
            self._say(self.progress.summary() if self.progress else "")
        super().close()

    def _say(self, line: str) -> None:
        with self.own:
            if self.terminal:
                sys.stderr.write("\r\x1b[K")
            if line:
                sys.stderr.write(f"{line}\n")
            sys.stderr.flush()

    def _tick(self) -> None:
        while not self.over.wait(1.0):
            if self.progress and self.progress.running:
                line = self.progress.status()[: shutil.get_terminal_size().columns - 1]
                with self.own:
                    sys.stderr.write(f"\r\x1b[K{line}")
                    sys.stderr.flush()


def said_elsewhere(message: str | None, logs: Iterable[str]) -> str:
    """Return why a job failed that a cluster ran or refused, of which nothing is on the screen.

    Parameters
    ----------
    message : str, optional
        What the executor says, such as an answer of the cluster's.
    logs : iterable of str
        Files with what the job printed.  Shown is what `execute.explanation` says there, which
        Snakemake's own messages follow, or else the end.
    """
    # without the whole call, of some thousand characters, which Slurm's executor adds
    said = [message.partition("\n    sbatch call:")[0]] if message else []
    for path in map(Path, logs):
        if path.exists():
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
            begins = [n for n, line in enumerate(lines) if EXPLAINED.match(line)]
            ends = [n for n, line in enumerate(lines) if line.startswith("  remedy: ")]
            shown = lines[begins[-1] : ends[-1] + 1] if begins and ends else lines[-SHOWN:]
            said += [f"from {path}:", *(f"    | {line}" for line in shown)]
    return "\n".join(said)
