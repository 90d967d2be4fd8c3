"""How a notebook's kernel starts, how a process ended, and a kernel that replays stored outputs."""

import signal
import sys
from collections import deque
from pathlib import Path

from helpers.files import content_of

# with this package, jsonschema builds a grammar of addresses in two seconds, and notebooks do not
# use addresses; without the package, jsonschema skips the grammar
UNUSED = "rfc3987_syntax"
#: Arguments of the command that starts a kernel.
ARGUMENTS = [
    # the kernel warns of unencrypted ports on this machine, once for each notebook
    "--IPKernelApp.log_level=CRITICAL",
    f"--IPKernelApp.exec_lines=__import__('sys').modules['{UNUSED}'] = None",
]
sys.modules.update({UNUSED: None})  # type: ignore[dict-item]  # here too
#: The tag of the cell that papermill adds.
INJECTED = "injected-parameters"
ADVICE = content_of(__file__)


def ending(status: int | None) -> str:
    """Return how a process ended, with advice; a status of `subprocess`, None if unknown."""
    if status is None:
        return "ended, for an unknown reason"
    if status >= 0:
        return f"exited with status {status}"
    name = signal.Signals(-status).name
    advice = f"; {ADVICE[name]}" if name in ADVICE else ""
    return f"ended by {name} ({signal.strsignal(-status)}){advice}"


class ReplayedKernel:
    """A kernel that gives nbval the outputs of a notebook that the pipeline has executed."""

    def __init__(self, path: Path):
        import nbformat

        self.path = path
        self.messages: deque[dict] = deque()
        self.cells = deque(
            cell
            for cell in nbformat.read(path, 4).cells
            if cell.cell_type == "code" and INJECTED not in cell.metadata.get("tags", [])
        )

    def execute_cell_input(self, source: str, allow_stdin: bool | None = None) -> str:
        """Prepare the messages of the cell with this source, and return their name."""
        while self.cells and self.cells[0].source != source:
            self.cells.popleft()  # nbval skips cells
        if not self.cells:
            raise RuntimeError(f"{self.path} was executed with other cells; first: make book")
        outputs = self.cells.popleft().outputs
        content = [(item.output_type, item) for item in outputs if item.get("name") != "stderr"]
        self.messages = deque(
            {"msg_type": kind, "content": output, "parent_header": {"msg_id": source}}
            for kind, output in [*content, ("status", {"execution_state": "idle"})]
        )
        return source

    def get_message(self, stream: str, timeout: float | None = None) -> dict:
        """Return the next message."""
        return self.messages.popleft()

    def is_alive(self, *_, **__) -> bool:
        """Return True; there is no process to wait for or to stop."""
        return True

    await_reply = await_idle = stop = is_alive
