"""Have a test's or a notebook's process that dies reported with the signal that ended it.

pytest-xdist reports of its workers that they crashed, and nbval waits for its kernels' answers for
half an hour, whether they are alive or not.  What the pipeline has executed needs no kernel.
"""

import gc
import importlib
import os
import time
from functools import partial
from pathlib import Path
from queue import Empty

import pytest
from kernels import ARGUMENTS, ReplayedKernel, ending

# before anything loads a library that starts threads: a worker a core, with as many threads each,
# would spend a third of its time on waiting for the others; the pipeline's steps have one, too
os.environ.setdefault("OMP_NUM_THREADS", "1")
# a tenth of the time was the search for cycles among objects that modules keep until the end
gc.set_threshold(100_000, 50, 100)


def _worker(node) -> str:
    """Say how a worker of pytest-xdist ended."""
    return f"worker '{node.gateway.id}' {ending(node.gateway._io.popen.wait(timeout=10))}"


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node, error):
    """Name the signal, also where no test was at work."""
    if error and (reporter := node.config.pluginmanager.get_plugin("terminalreporter")):
        reporter.write_line(f"\n{_worker(node)}")


@pytest.hookimpl(optionalhook=True)
def pytest_handlecrashitem(crashitem, report, sched):
    """Name it beside the test."""
    report.longrepr = f"{crashitem}: its {_worker(report.node)}"


def pytest_addoption(parser):
    """Have nbval take outputs from another folder: --nbval notebooks --executed runs/mini."""
    parser.addoption(
        "--executed", type=Path, metavar="FOLDER",
        help="compare notebooks with what they said when they were executed into this folder",
    )  # fmt: skip


def pytest_collect_file(file_path, parent):
    """Import a module's package first: it may import the module, and pytest would do so again.

    A score that is registered twice is an error.
    """
    if file_path.suffix == ".py" and file_path.with_name("__init__.py").exists():
        package = file_path.parent.relative_to(parent.config.rootpath)
        importlib.import_module(".".join(package.parts))


def pytest_configure(config):
    """Have nbval start kernels as the pipeline does, and look whether they live while it waits."""
    if not config.getoption("nbval", False):
        return
    import nbval.kernel
    import nbval.plugin

    class WatchedKernel(nbval.plugin.RunningKernel):
        def get_message(self, stream, timeout=None):
            end = time.monotonic() + (float("inf") if timeout is None else timeout)
            while True:
                try:
                    return super().get_message(stream, max(0, min(1, end - time.monotonic())))
                except Empty:
                    if not self.is_alive():
                        status = self.km.provisioner.process.poll()
                        raise RuntimeError(f"the notebook's kernel {ending(status)}") from None
                    if time.monotonic() >= end:
                        raise

    nbval.plugin.RunningKernel = WatchedKernel
    nbval.kernel.start_new_kernel = partial(
        nbval.kernel.start_new_kernel, extra_arguments=ARGUMENTS
    )
    if folder := config.getoption("executed"):

        def setup(self):
            place = self.path.relative_to(self.path.parent.parent)
            self.kernel = ReplayedKernel(config.rootpath / folder / place)
            self.setup_sanitize_files()

        nbval.plugin.IPyNbFile.setup = setup
