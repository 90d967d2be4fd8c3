"""Train networks one after the other in the background, at idle priority, and export each.

    CACHE_ROOT=/a/folder DATA_ROOT=... nohup python workflow/background.py --commit HEAD &
    CACHE_ROOT=/a/folder python workflow/background.py --status

``params/background.yaml`` has lines [chapter, tier, part, NAME=VALUE, ...]; the values replace
those of the tier, as ``--set`` of ``workflow/sweep.py`` does.  All results are in CACHE_ROOT: a git
worktree of the commit, checkpoints, logs, and ``exports/``, to be copied into ``results/``.  After
a kill, the same command continues from the last checkpoint.  If a network fails, the queue stores
the reason and starts the next network.  Two queues never train the same network: each queue skips
the networks that the other queue trains.
"""

import argparse
import contextlib
import fcntl
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import yaml
from step import ROOT, end_with_parent

from helpers.files import atomic_path, cache_root, data_root, locked, network_root

#: The learning curve's last line in a network's log, written by tqdm.
BAR = "epoch {n_fmt} of {total_fmt}, {remaining} to go{postfix}"


class Entry:
    """A part of an experiment in the list, with its files in the queue's folder."""

    def __init__(self, values: Sequence[str], folder: Path):
        if not (
            isinstance(values, list | tuple) and len(values) >= 3 and {*map(type, values)} == {str}
        ):
            raise ValueError(
                "params/background.yaml: lines [chapter, tier, part, NAME=VALUE, ...] expected, "
                f"got {values!r}"
            )
        paper, tier, part, *changes = values
        self.values = values
        self.name = " ".join([f"{tier}/{paper}/{part}", *changes])
        stem = str(folder / re.sub(r"[^\w.=-]+", "-", self.name))
        self.lock, self.log, self.record = (Path(stem + end) for end in (".lock", ".log", ".txt"))

    def outcome(self) -> str:
        """Return ``finished`` or ``failed`` with the last line of the log, or ``waiting``."""
        return self.record.read_text("utf-8") if self.record.exists() else "waiting"

    def is_due(self, since: float) -> bool:
        """Return whether it is waiting, or failed before a time."""
        outcome = self.outcome()
        failed = outcome.startswith("failed") and self.record.stat().st_mtime < since
        return failed or outcome == "waiting"

    def try_lock(self):
        """Return the locked file, or None while another queue trains this entry."""
        file = open(self.lock, "w")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            return None
        return file

    def last_line(self) -> str:
        """Return the last line of the log; a progress bar's lines end with a carriage return."""
        text = self.log.read_text(encoding="utf-8", errors="replace") if self.log.exists() else ""
        return ["", *text.strip().splitlines()][-1].strip()


def entries_of(listing: Iterable[Sequence[str]]) -> list[Entry]:
    """Return the entries of a list, with their files in CACHE_ROOT."""
    folder = cache_root() / "queue"
    folder.mkdir(parents=True, exist_ok=True)
    return [Entry(values, folder) for values in listing]


def listed() -> list[Entry]:
    """Return the entries of ``params/background.yaml``."""
    listing = (ROOT / "params" / "background.yaml").read_text(encoding="utf-8")
    return entries_of(yaml.safe_load(listing))


def status(entries: Sequence[Entry]) -> str:
    """Return a line for each entry: the outcome, or epoch and time remaining while it runs."""
    lines = []
    for entry in entries:
        state = f"running: {entry.last_line()}"
        if lock := entry.try_lock():
            lock.close()
            state = entry.outcome()
        lines.append(f"{entry.name} {state}")
    return "\n".join(lines)


def checkout(folder: Path, revision: str) -> Path:
    """Return a worktree of a commit; make it if it does not exist."""
    commit = commit_of(revision)
    path = folder / commit[:12]
    with locked(folder / "checkout.lock"):
        # without this file, git would reset the checkout that contains the folder
        if not (path / ".git").exists():
            command = "git worktree add --force --no-checkout --detach".split()
            subprocess.run([*command, str(path), commit], cwd=ROOT, check=True)
        # complete also if a kill ended the checkout
        subprocess.run(["git", "reset", "--quiet", "--hard", commit], cwd=path, check=True)
    return path


def commit_of(revision: str) -> str:
    """Return the full name of a revision's commit."""
    command = ["git", "rev-parse", "--verify", f"{revision}^{{commit}}"]
    return subprocess.check_output(command, cwd=ROOT, text=True).strip()


def train_all(entries: Sequence[Entry], path: Path) -> None:
    """Train the unfinished entries; at the end, wait for the entries of other processes.

    Another queue trains such an entry, or it is the last second of a training whose queue was
    killed.  In the second case the entry is trained here.  An entry that failed since the start is
    not tried again.
    """
    start = time.time()
    busy = []
    for entry in entries:
        if lock := entry.try_lock():
            with lock:
                if entry.is_due(start):
                    train_in(path, entry, lock.fileno())
        else:
            busy.append(entry)
    for entry in busy:
        with open(entry.lock, "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if entry.outcome() == "waiting":
                train_in(path, entry, lock.fileno())


def train_in(path: Path, entry: Entry, lock: int) -> None:
    """Train an entry in a process of the worktree, and store and print its outcome."""
    environment = os.environ | {
        "CACHE_ROOT": str(cache_root().resolve()),
        "DATA_ROOT": str(data_root().resolve()),
        "NETWORK_ROOT": str(network_root().resolve()),
        # with the packages that the caller has added
        "PYTHONPATH": f"{path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}",
        "TQDM_BAR_FORMAT": BAR,
        "OMP_NUM_THREADS": "1",
        # as in the Makefile; a step of a ResNet-20 takes a ninth less
        "MALLOC_MMAP_THRESHOLD_": "33554432",
        "MALLOC_TRIM_THRESHOLD_": "268435456",
        "QUEUE": str(os.getpid()),
    }
    command = [sys.executable, str(path / "workflow/background.py"), "--train", *entry.values]
    entry.record.unlink(missing_ok=True)
    with open(entry.log, "wb") as log:
        code = subprocess.run(
            command,
            cwd=path,
            env=environment,
            stdout=log,
            stderr=log,
            # the process keeps the lock until it ends, also after a kill of its parent
            pass_fds=[lock],
            start_new_session=True,
        ).returncode
    words = entry.last_line() if code >= 0 else f"ended by signal {-code}"
    outcome = f"{'failed' if code else 'finished'}: {words}"
    with atomic_path(entry.record) as temporary:
        temporary.write_text(outcome, encoding="utf-8")
    print(entry.name, outcome, flush=True)


def train(paper: str, tier: str, name: str, *changes: str) -> None:
    """Train and export the networks of one entry; print the accuracies."""
    from sweep import values_of

    from helpers.papers import run
    from helpers.training import finished_networks
    from helpers.training.parcels import Parcel
    from synthesis.chapters import load

    parameters = load(paper, tier, root=ROOT, **values_of(changes))
    experiment = run.experiment_of(parameters)
    folder = cache_root() / "exports" / tier / "networks" / paper
    parcel = Parcel.current()
    commit = parcel.commit if parcel else commit_of("HEAD")
    words = []
    for part in run.parts(parameters, name):
        if parcel:
            roles = parcel.roles(paper, tier, name, *changes)
        else:
            roles = experiment.roles(parameters, part)
        splits = [*roles.values()] if isinstance(roles, Mapping) else [roles]
        tests = {split.train.sha256: split.test for split in splits}
        for path, network in run.train_each(parameters, part, roles):
            if finished_networks.find(network.origin, network.recipe):
                continue
            stem = re.sub(r"[^\w-]+", "-", "-".join([part.name + path, *changes]))
            file = folder / f"{stem}.safetensors"
            test = tests[network.origin["images"]]
            test = test.subset(test.labels >= 0)
            accuracy = finished_networks.save(network, test, file, commit=commit)
            network.path.unlink()  # the export is found in its place
            words.append(f"{file.stem}: accuracy {accuracy:.4f}, {network.seconds:.0f} s")
    print("\n" + (", ".join(words) or "exported already"))


def main() -> None:
    """Run the queue, or print its status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--commit", default="HEAD", help="the revision that trains")
    parser.add_argument("--status", action="store_true", help="list the networks, train nothing")
    parser.add_argument("--train", nargs="+", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.train:
        # now, and not after the imports: the queue may be killed meanwhile
        end_with_parent(int(os.environ.get("QUEUE", os.getppid())))
        if not os.environ.get("PARCEL"):  # `away.py run` has a machine without other work
            os.nice(19)
            with contextlib.suppress(AttributeError, OSError):  # not on Linux, or not permitted
                os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
                # the system shares time between sessions first
                Path("/proc/self/autogroup").write_text("19")
        train(*arguments.train)
        return
    try:
        entries = listed()
    except ValueError as error:
        parser.error(str(error))
    if arguments.status:
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # the reader of a pipe may close it
        print(status(entries))
    else:
        train_all(entries, checkout(cache_root() / "queue", arguments.commit))


if __name__ == "__main__":
    main()
