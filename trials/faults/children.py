"""Work in a process of its own, which may be killed, limited, or die."""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

MEMORY = 8 * 2**30
PATIENCE = 120.0  # seconds
WATCHED = ("pickle.find_class", "os.system", "os.exec", "os.posix_spawn", "subprocess.Popen")
"""What nothing that is read may come to do, as Python's audit events call it."""


@dataclass(frozen=True)
class Ending:
    """How a child ended.

    Attributes
    ----------
    result : object
        What its function returned, as JSON holds it; None where it did not get so far.
    signal : int
        That ended it, or 0.
    seconds : float
    """

    result: object
    signal: int
    seconds: float


def run(function: Callable[[], object], *, kill_after: float = PATIENCE) -> Ending:
    """Run a function in a child, and kill that after some seconds if it has not ended.

    The child is a copy of this process, so that nothing has to be imported again.
    """
    start = time.monotonic()
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        code = 1
        try:
            text = json.dumps(function())
            with os.fdopen(writing, "w") as pipe:
                pipe.write(text)
            code = 0
        except BaseException as error:  # a child never returns into its parent's code
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
        finally:
            os._exit(code)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        if not select.select([pipe], [], [], kill_after)[0]:
            os.kill(child, signal.SIGKILL)
        text = pipe.read()
    status = os.waitpid(child, 0)[1]
    ended = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    return Ending(json.loads(text) if text else None, ended, time.monotonic() - start)


def watch() -> list[str]:
    """Return a list that grows by what this process executes from now on, out of `WATCHED`."""
    seen: list[str] = []
    sys.addaudithook(lambda event, _: seen.append(event) if event in WATCHED else None)
    return seen


def limit_memory() -> None:
    """Have an allocation refused that no small file can be in need of."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def limit_files(size: int) -> None:
    """Have every write refused that makes a file longer than so many bytes, as on a full disk."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # then it is an error, and no signal
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def be_nobody() -> None:
    """Give up the rights of root, for whom no folder is read-only."""
    if not os.getuid():
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
