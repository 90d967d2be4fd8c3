"""Processes forked from a server that has imported what steps and notebooks import.

    python workflow/forks.py openset_calibration/evaluation runs/mini

executes a step of the plan.  The imports of a step and of its kernel cost ten CPU seconds, forty
times; a fork costs a tenth of one.  Without a server, as on a cluster or outside of Linux, the step
runs in this process, and Jupyter starts the kernel.
"""

import importlib
import json
import os
import runpy
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from helpers.files import socket_folder

FOLDER = Path(__file__).resolve().parent
ADDRESS = "FORKS"  # the environment variable with the server's address
KERNEL = "/kernel-12345678-1"  # the socket of a kernel with the longest name
PREFIX = "known-unknowns-"  # of the temporary folders of runs
DRIVER = "DRIVER"  # the environment variable with the number of the process that runs the pipeline
SERVER: subprocess.Popen | None = None  # the one that this process has started
#: Libraries read the number of threads when they are imported; other kernels start in full.
THREADS = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
OURS = [file.relative_to(FOLDER.parent) for file in FOLDER.parent.glob("helpers/**/[!_]*.py")]
IMPORTED = (
    "execute",
    "ipykernel.kernelapp",
    "seaborn",
    "torch._dynamo",
    "synthesis.chapters",
    *(".".join(file.with_suffix("").parts) for file in OURS),
)


def lock(folder: Path) -> int:
    """Return a descriptor that locks a folder; OSError if a process has locked it."""
    import fcntl

    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def remove_left(parent: Path) -> None:
    """Remove the folders of this user's runs that were killed: no process locks them."""
    for folder in parent.glob(f"{PREFIX}*"):
        with suppress(OSError):
            if folder.lstat().st_uid == os.getuid():
                descriptor = lock(folder)
                shutil.rmtree(folder, ignore_errors=True)
                os.close(descriptor)


def start_server() -> subprocess.Popen | None:
    """Start a server for this process, and name it in the environment.

    All temporary files of the run are in one new folder, which the server removes at its end; after
    a kill, the next run removes it.  The server needs `os.pidfd_open` and a folder with a short
    path; without them, None is returned, and steps and kernels start in full.
    """
    parent = socket_folder(f"/{PREFIX}12345678{KERNEL}")
    if parent is None or not hasattr(os, "pidfd_open"):  # some builds for Linux lack it
        return None
    remove_left(parent)
    # closed to other users; with its final name, it is locked, so that no other run removes it
    unlocked = Path(tempfile.mkdtemp(prefix=f".{PREFIX}", dir=parent))
    locked = lock(unlocked)
    folder = unlocked.rename(unlocked.with_name(unlocked.name.removeprefix(".")))
    os.environ[DRIVER] = str(os.getpid())
    os.environ["TMPDIR"] = tempfile.tempdir = str(folder)
    os.environ[ADDRESS] = f"{folder}/server"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(os.environ[ADDRESS])
        listening.listen()
        # Matplotlib reads it when it is imported; a kernel sets it so
        environment = THREADS | {"MPLBACKEND": "module://matplotlib_inline.backend_inline"}
        command = [sys.executable, __file__]
        return subprocess.Popen(
            command,
            stdin=listening.fileno(),
            cwd=FOLDER.parent,
            env=os.environ | environment,
            # in a session of its own, it outlives a signal to all processes, and ends its forks
            start_new_session=True,
            # the lock ends with the last process that has the descriptor
            pass_fds=(locked,),
        )


def serve() -> None:
    """Fork a process for each client until the parent and all forks have ended.

    A process ends with its client.  SIGTERM ends all of them.
    """
    parent = os.getppid()
    running: dict[int, tuple[int, socket.socket]] = {}
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    with warnings.catch_warnings(action="ignore"):  # about optional packages
        for name in IMPORTED:
            importlib.import_module(name)
    importlib.import_module("helpers.modules").code(["helpers"])  # parsed once, for all forks
    # NLTK's index of WordNet takes seconds; a fork opens the file of the synsets itself
    importlib.import_module("helpers.data.wordnet").reader()
    sys.path.remove(str(FOLDER))  # notebooks do not import scripts
    # pandas determines it when it is imported, and this process is not a kernel
    sys.modules["pandas"].set_option("display.max_columns", 20)
    listening = socket.socket(fileno=os.dup(0))
    # without their driver, steps finish their notebooks, and begin further kernels
    while running or os.getppid() == parent:
        clients = {client: pid for pid, client in running.values()}
        if ended.is_set():
            end(clients.values(), signal.SIGTERM)
        watched: list[Any] = [listening, *running, *clients]
        for ready in select.select(watched, [], [], 1)[0]:
            if ready is listening:
                client, _ = listening.accept()
                request = json.loads(client.makefile().readline())
                if not (pid := os.fork()):
                    become(*request)
                os.setpgid(pid, pid)
                running[os.pidfd_open(pid)] = pid, client
                client.sendall(b"%d\n" % pid)
            elif ready in running:
                pid, client = running.pop(ready)
                _, status, used = os.wait4(pid, 0)
                answer = f"{os.waitstatus_to_exitcode(status)} {used.ru_utime + used.ru_stime}\n"
                with suppress(OSError):
                    client.sendall(answer.encode())
                os.close(ready)
            else:
                end([clients[ready]], signal.SIGKILL)
    shutil.rmtree(Path(os.environ[ADDRESS]).parent)


def end(forks: Iterable[int], number: int) -> None:
    """Send a signal to forks and to the processes that they have started."""
    for pid in forks:
        with suppress(ProcessLookupError):
            os.killpg(pid, number)


def become(command: list[str], environment: dict, folder: str) -> None:
    """Run a module in this process as ``python -m`` does, and exit."""
    os.setpgid(0, 0)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.argv = command
    runpy.run_module(command[0], run_name="__main__", alter_sys=True)
    os._exit(0)  # the interpreter's own end takes three seconds


class Forked:
    """A process of the server, with what Jupyter uses of `subprocess.Popen`."""

    stdin = stdout = stderr = status = None
    seconds = 0.0  # CPU seconds of all processes that have ended

    def __init__(self, command: list[str], environment: dict, folder: str):
        self.client = socket.socket(socket.AF_UNIX)
        self.client.connect(environment[ADDRESS])
        self.client.sendall(f"{json.dumps([command, dict(environment), folder])}\n".encode())
        self.answers = self.client.makefile("rb", buffering=0)  # one line at a time, for `poll`
        self.pid = int(self.answers.readline())

    def poll(self) -> int | None:
        """Return the status if the process has ended."""
        return self.wait() if select.select([self.client], [], [], 0)[0] else self.status

    def wait(self, timeout: float | None = None) -> int:
        """Return the status as soon as the process has ended."""
        if self.status is None:
            status, seconds = (self.answers.readline() or b"-9 0").split()  # the server was killed
            self.status = int(status)
            Forked.seconds += float(seconds)
        return self.status

    def send_signal(self, number: int) -> None:
        """Send a signal to the process."""
        os.kill(self.pid, number)


def launch(command: list[str], **options):
    """Fork a kernel, or start it with Jupyter's function."""
    from jupyter_client.launcher import launch_kernel  # a step's client does not need it

    environment = options["env"]
    if ADDRESS not in environment or environment | THREADS != environment:
        return launch_kernel(command, **options)
    return Forked(command[command.index("-m") + 1 :], environment, os.getcwd())


if __name__ == "__main__":
    if len(sys.argv) == 1 and ADDRESS in os.environ:
        serve()
        sys.exit()
    if ADDRESS in os.environ:
        sys.exit(Forked(["execute", *sys.argv[1:]], {**os.environ}, os.getcwd()).wait() & 255)
    os.environ.update(THREADS)
    runpy.run_module("execute", run_name="__main__")
