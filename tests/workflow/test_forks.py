"""Forked processes: their status, their end with their client, and a step with its kernel."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import execute
import forks
import nbformat
import pytest
import step as steps

from tests.workflow.test_store_outputs import notebook

pytestmark = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="forks need Linux")


@pytest.fixture
def server(tmp_path, monkeypatch):
    """Run a server that imports little in advance."""
    script = tmp_path / "server.py"
    script.write_text("import forks\nforks.IMPORTED = ('execute', 'pandas')\nforks.serve()\n")
    (tmp_path / "exits.py").write_text("import sys\nsys.exit(int(sys.argv[1]))\n")
    folders = [str(Path(forks.__file__).parent), str(Path(steps.ROOT)), str(tmp_path)]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(folders))
    monkeypatch.setattr(forks, "__file__", str(script))
    monkeypatch.setattr(forks.tempfile, "tempdir", None)
    started = forks.start_server()
    yield started
    started.terminate()


def start(*command):
    return forks.Forked(list(command), os.environ, os.getcwd())


def test_a_process_has_its_status_and_ends_with_its_client(server):
    assert start("exits", "7").wait() == 7
    serving = start("http.server", "0")
    assert serving.poll() is None
    serving.send_signal(signal.SIGKILL)
    assert serving.wait() == serving.poll() == -signal.SIGKILL and serving.seconds > 0
    left = start("http.server", "0")
    ended = os.pidfd_open(left.pid)
    left.answers.close(), left.client.close()
    assert forks.select.select([ended], [], [], 20)[0]


def test_a_step_and_its_kernel_are_forked(server, here):
    code = "import sys, pandas\n'forks' in sys.modules, pandas.get_option('display.max_columns')"
    nbformat.write(notebook(code), path := here / "one.ipynb")
    (here / "runs").mkdir()
    steps.write({"paper/one": steps.Step("paper/one", str(path), {})}, here / "runs")
    assert start("execute", "paper/one", str(here / "runs")).wait() == 0
    executed = nbformat.read(here / "runs/paper/one.ipynb", 4)
    assert executed.cells[-1].outputs[0].data["text/plain"] == "(True, 20)"
    assert executed.metadata.papermill.cpu_seconds > 0.1  # the kernel's among them


def wait_until(condition, seconds=30):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    assert condition()


def test_sockets_fit_below_a_temporary_folder_with_a_long_path(tmp_path, monkeypatch):
    """At 110 characters the server stopped with "AF_UNIX path too long"; none may fit at all."""
    long = tmp_path / ("x" * 110)
    long.mkdir()
    monkeypatch.setattr(forks.tempfile, "tempdir", str(long))
    assert forks.socket_folder(forks.KERNEL) == Path("/tmp")
    monkeypatch.setattr(forks.os, "access", lambda *_: False)
    assert forks.socket_folder(forks.KERNEL) is None and forks.start_server() is None


def test_the_next_run_removes_the_folder_of_a_run_that_was_killed(tmp_path):
    left, used, other = (tmp_path / f"{name}1" for name in (forks.PREFIX, forks.PREFIX * 2, "x"))
    for folder in (left, used, other):
        folder.mkdir()
    descriptor = forks.lock(used)
    forks.remove_left(tmp_path)
    assert not left.exists() and used.exists() and other.exists()
    os.close(descriptor)


def test_a_server_has_one_folder_and_removes_it(server):
    folder = Path(os.environ[forks.ADDRESS]).parent
    assert folder.name.startswith(forks.PREFIX) and os.environ["TMPDIR"] == str(folder)
    forks.remove_left(folder.parent)
    assert folder.exists()
    assert start("exits", "0").wait() == 0


def test_sigterm_ends_all_forks_and_those_that_come_later(server):
    serving = start("http.server", "0")
    server.terminate()
    assert serving.wait() == start("http.server", "0").wait() == -signal.SIGTERM


DRIVER = """
import os, subprocess, sys, time
import forks
forks.__file__ = sys.argv[1]
forks.start_server()
command = [sys.executable, sys.argv[2], "paper/one", "runs"]
subprocess.Popen(command, start_new_session=True)
time.sleep(100)
"""


def test_a_step_whose_driver_was_killed_is_not_executed_again(server, here, monkeypatch):
    """Its kernel is forked and ends after the driver; the next run deletes the step's outputs."""
    begun = here / "begun"
    code = f"import time\nopen({str(begun)!r}, 'w')\ntime.sleep(1.5)\ntime.time()"
    nbformat.write(notebook(code), path := here / "one.ipynb")
    step = steps.Step("paper/one", str(path), {})
    runs = here / "runs"
    runs.mkdir()
    steps.write({step.name: step}, runs)
    (here / "driver.py").write_text(DRIVER)
    script = Path(steps.ROOT) / "workflow" / "forks.py"
    command = [sys.executable, "driver.py", here / "server.py", script]
    driver = subprocess.Popen(command)
    wait_until(begun.exists)
    driver.kill()
    driver.wait()
    executed = runs / "paper" / "one.ipynb"
    wait_until((runs / steps.KEPT / step.name / steps.STATE).exists)
    before = executed.read_bytes()
    executed.unlink()  # as Snakemake does
    monkeypatch.setattr(sys, "argv", ["execute.py", step.name, str(runs)])
    execute.main()
    assert executed.read_bytes() == before and not (runs / steps.KEPT / step.name).exists()
    execute.main()  # as after a wish to try again
    assert executed.read_bytes() != before
