"""Forked processes: their status, their end with their client, and a step with its kernel."""

import os
import signal
from pathlib import Path

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
    for name in (forks.ADDRESS, forks.DRIVER, "TMPDIR"):
        monkeypatch.setenv(name, os.environ.get(name, ""))  # and as it was afterwards
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


def test_a_step_and_its_kernel_are_forked(server, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = "import sys, pandas\n'forks' in sys.modules, pandas.get_option('display.max_columns')"
    nbformat.write(notebook(code), path := tmp_path / "one.ipynb")
    (tmp_path / "runs").mkdir()
    steps.write({"paper/one": steps.Step("paper/one", str(path), {})}, tmp_path / "runs")
    assert start("execute", "paper/one", str(tmp_path / "runs")).wait() == 0
    executed = nbformat.read(tmp_path / "runs/paper/one.ipynb", 4)
    assert executed.cells[-1].outputs[0].data["text/plain"] == "(True, 20)"
    assert executed.metadata.papermill.cpu_seconds > 0.1  # the kernel's among them
