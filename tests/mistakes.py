"""Tables of cases next to their tests, and tests of refused arguments.

The latter are lists of arguments by name, by function and message.
"""

import pkgutil
from pathlib import Path

import pytest
import yaml


def beside(test: str, name: str):
    """Return the content of a YAML file next to a test."""
    return yaml.safe_load(Path(test).with_name(name).read_text("utf-8"))


def with_objects(value, objects: dict):
    """Return a value of YAML, with objects for the words that name them."""
    if isinstance(value, dict):
        return {name: with_objects(item, objects) for name, item in value.items()}
    if isinstance(value, list):
        return [with_objects(item, objects) for item in value]
    return objects.get(value, value)


def refused(function: str, message: str, arguments: dict, objects: dict) -> None:
    """Check that a function refuses arguments in these words; a name may mean an object."""
    function = pkgutil.resolve_name(function)
    with pytest.raises(ValueError, match=message):
        list(function(**with_objects(arguments, objects)))  # a generator begins


def refusals(test: str, objects: dict):
    """Return a test that each case of mistakes.yaml is refused, and that no file is written."""
    cases = [
        pytest.param((function, message, arguments), id=f"{function}-{message}")
        for function, messages in beside(test, "mistakes.yaml").items()
        for message, calls in messages.items()
        for arguments in calls
    ]

    @pytest.mark.parametrize("case", cases)
    def refuse(case, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        refused(*case, objects)
        assert not list(tmp_path.iterdir())

    return refuse
