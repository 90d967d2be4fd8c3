"""A check in the first cell of each notebook: names that papermill gave it are its parameters."""

import ast
from collections.abc import Sequence

from helpers.checks import known_name

#: First line of the cell that papermill inserts after the cell with the tag `parameters`.
_INJECTED = "# Parameters\n"
#: Start of the last line of the cell with the tag.
_LAST = "\noverrides = {}"


def check_given(cells: Sequence[str] | None = None) -> None:
    """Refuse values of papermill for names that are no parameters of the notebook.

    Papermill itself only prints a warning, and the notebook would run with its defaults.  `cells`
    are the sources of the executed cells, by default those of the running notebook.

    Examples
    --------
    >>> check_given(["epochs = None\\noverrides = {}", "# Parameters\\nepochs = 3"])
    >>> check_given(["epochs = None\\noverrides = {}", "# Parameters\\nepoch = 3"])
    Traceback (most recent call last):
        ...
    ValueError: unknown parameter 'epoch'; did you mean 'epochs'? There are: epochs, overrides. \
Other values of the file of the tier: -y '{overrides: {NAME: VALUE}}'
    """
    if cells is None:
        from IPython import get_ipython

        shell = get_ipython()
        cells = shell.user_ns["In"] if shell else []
    injected = [cell for cell in cells if cell.startswith(_INJECTED)]
    tagged = [cell for cell in cells if cell not in injected and _LAST in cell]
    if not (injected and tagged):
        return
    declared = _assigned(tagged[-1])
    for name in _assigned(injected[-1]):
        try:
            known_name("parameter", name, declared)
        except ValueError as error:
            more = "Other values of the file of the tier: -y '{overrides: {NAME: VALUE}}'"
            raise ValueError(f"{error}. {more}") from None


def _assigned(source: str) -> list[str]:
    """Return the names that a cell assigns, in their order."""
    names = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name))
    return [name.id for name in names if isinstance(name.ctx, ast.Store)]
