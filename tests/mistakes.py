"""Tables of cases beside their tests: of any kind, and of what functions refuse.

The latter are lists of arguments by name, by function and message.
"""

import pkgutil
from pathlib import Path

import pytest
import yaml


def beside(test: str, name: str):
    """Return what a file of YAML beside a test holds."""
    return yaml.safe_load(Path(test).with_name(name).read_text("utf-8"))


def mistakes_of(test: str) -> list:
    """Return the cases of the file mistakes.yaml beside a test."""
    return [
        pytest.param((function, message, arguments), id=f"{function}-{message}")
        for function, cases in beside(test, "mistakes.yaml").items()
        for message, calls in cases.items()
        for arguments in calls
    ]


def refused(function: str, message: str, arguments: dict, objects: dict) -> None:
    """Check that a function refuses arguments in these words; a name may mean an object."""

    def meant(value):
        if isinstance(value, dict):
            return {name: meant(item) for name, item in value.items()}
        return [*map(meant, value)] if isinstance(value, list) else objects.get(value, value)

    with pytest.raises(ValueError, match=message):
        list(pkgutil.resolve_name(function)(**meant(arguments)))  # a generator begins


def refusals(test: str, objects: dict):
    """Return a test that each mistake beside a test is refused, and that no file is written."""

    @pytest.mark.parametrize("case", mistakes_of(test))
    def refuse(case, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        refused(*case, objects)
        assert not list(tmp_path.iterdir())

    return refuse
