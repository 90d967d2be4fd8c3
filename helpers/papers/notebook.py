"""The parameters of a notebook: values in its first cell, values of papermill, and the tier's."""

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from helpers.checks import known_name
from helpers.papers import TIERS
from helpers.papers import parameters as of_papers

#: First line of the cell that papermill inserts after the cell with the tag `parameters`.
_INJECTED = "# Parameters\n"
#: Start of the last line of the cell with the tag.
_LAST = "\noverrides = "
#: The tier whose values the cell shows.
_SHOWN = TIERS[0]


def check_given(cells: Sequence[str] | None = None) -> None:
    """Refuse values of papermill that the notebook does not expect.

    They are for names that are no parameters, or a single value in place of a list.  Papermill
    itself only prints a warning, and the notebook would run with its defaults.  `cells` are the
    sources of the executed cells, by default those of the running notebook.

    Examples
    --------
    >>> check_given(["epochs = None\\noverrides = {}", "# Parameters\\nepochs = 3"])
    >>> check_given(["epochs = None\\noverrides = {}", "# Parameters\\nepoch = 3"])
    Traceback (most recent call last):
        ...
    ValueError: unknown parameter 'epoch'; did you mean 'epochs'? There are: epochs, overrides. \
Other values of the file of the tier: -y '{overrides: {NAME: VALUE}}'
    >>> check_given(["begun = []\\noverrides = {}", "# Parameters\\nbegun = 'crl'"])
    Traceback (most recent call last):
        ...
    ValueError: begun: a list expected, got 'crl'; write -y '{begun: [crl]}'
    >>> check_given(["# Parameters\\ntier = 'small'"])  # a page without parameters
    Traceback (most recent call last):
        ...
    ValueError: parameter 'tier': this notebook has no parameters, since it shows committed \
results; leave out -p, and change values in its cells
    """
    injected, tagged = _cells(cells)
    declared = _assigned(tagged[-1:])
    given = _assigned(injected[-1:])
    if given and not declared:
        raise ValueError(
            f"parameter {next(iter(given))!r}: this notebook has no parameters, since it shows "
            "committed results; leave out -p, and change values in its cells"
        )
    for name, value in given.items():
        try:
            known_name("parameter", name, declared)
        except ValueError as error:
            more = "Other values of the file of the tier: -y '{overrides: {NAME: VALUE}}'"
            raise ValueError(f"{error}. {more}") from None
        if isinstance(declared[name], list) and not isinstance(value, list):
            raise ValueError(
                f"{name}: a list expected, got {value!r}; write -y '{{{name}: [{value}]}}'"
            )


def load(
    paper: str,
    tier: str,
    overrides: Mapping[str, Any],
    *,
    loader: Callable = of_papers.load,
    cells: Sequence[str] | None = None,
    **values,
):
    """Return the parameters of a paper at a tier with the values of a notebook's first cell.

    The cell shows the values of tier `mini`; `overrides` has others.  At another tier, a value that
    nobody has changed is the value of that tier's file.  A value of papermill always counts.
    `loader` is the function that reads the files, and `cells` are as in `check_given`.

    Examples
    --------
    >>> shown = of_papers.load("unknown_detection", "mini").passes
    >>> load("unknown_detection", "small", {}, passes=shown).passes
    50
    >>> papermill = [f"# Parameters\\npasses = {shown}"]
    >>> load("unknown_detection", "small", {}, cells=papermill, passes=shown).passes == shown
    True
    """
    if twice := values.keys() & overrides:
        raise ValueError(f"overrides: the first cell has {min(twice)} itself; change it there (-p)")
    injected, _ = _cells(cells)
    given = _assigned(injected[-1:])
    usual = loader(paper, _SHOWN)
    shown = usual.training | usual.model_dump()
    changed = {
        name: value
        for name, value in values.items()
        if name in given or name not in shown or value != shown[name]
    }
    return loader(paper, tier, **changed, **overrides)


def _cells(cells: Sequence[str] | None) -> tuple[list[str], list[str]]:
    """Return the executed cells that papermill inserted, and those with the tag `parameters`."""
    if cells is None:
        from IPython import get_ipython

        shell = get_ipython()
        cells = shell.user_ns["In"] if shell else []
    injected = [cell for cell in cells if cell.startswith(_INJECTED)]
    return injected, [cell for cell in cells if cell not in injected and _LAST in cell]


def _assigned(cells: Sequence[str]) -> dict[str, Any]:
    """Return the names that cells of parameters assign, with their values."""
    values = {}
    for statement in (node for cell in cells for node in ast.parse(cell).body):
        if not isinstance(statement, ast.Assign | ast.AnnAssign) or statement.value is None:
            continue
        first = statement.target if isinstance(statement, ast.AnnAssign) else statement.targets[0]
        values[ast.unparse(first)] = ast.literal_eval(statement.value)
    return values
