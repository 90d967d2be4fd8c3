"""What a notebook said when the pipeline executed it, in the place of a kernel of nbval.

So stored outputs are compared with executed ones by nbval, without executing all of it again.
"""

from collections import deque
from pathlib import Path

import nbformat


class ReplayedKernel:
    """A kernel that answers from an executed notebook, as far as nbval asks it.

    Parameters
    ----------
    path : Path
        Of the executed notebook.
    """

    def __init__(self, path: Path):
        self.path, self.messages = path, deque()
        given = "injected-parameters"  # the cell that papermill adds
        self.cells = deque(
            cell
            for cell in nbformat.read(path, 4).cells
            if cell.cell_type == "code" and given not in cell.metadata.get("tags", [])
        )

    def execute_cell_input(self, source: str, allow_stdin: bool | None = None) -> str:
        """Make ready what this cell said, and return what its messages are marked with.

        Raises
        ------
        RuntimeError
            It is no cell of the executed notebook, or none of those that are left.
        """
        while self.cells and self.cells[0].source != source:
            self.cells.popleft()  # nbval passes over cells
        if not self.cells:
            raise RuntimeError(f"{self.path} was executed with other cells; first: make book")
        outputs = self.cells.popleft().outputs
        said = [(one.output_type, one) for one in outputs if one.get("name") != "stderr"]
        self.messages = deque(
            {"msg_type": kind, "content": content, "parent_header": {"msg_id": source}}
            for kind, content in [*said, ("status", {"execution_state": "idle"})]
        )
        return source

    def get_message(self, stream: str, timeout: float | None = None) -> dict:
        """Return the next message."""
        return self.messages.popleft()

    def await_reply(self, msg_id: str, timeout: float | None = None) -> None:
        """Return at once: it is there."""

    def await_idle(self, msg_id: str, timeout: float | None = None) -> None:
        """Return at once."""

    def is_alive(self) -> bool:
        """Return that it can be asked."""
        return True

    def stop(self) -> None:
        """Do nothing: there is no process."""
