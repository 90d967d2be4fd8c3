"""Tables of what functions refuse: by function and message, lists of arguments by name."""

import pkgutil
from pathlib import Path

import pytest
import yaml


def mistakes_of(test: str) -> list:
    """Return the cases of the file mistakes.yaml beside a test."""
    text = Path(test).with_name("mistakes.yaml").read_text("utf-8")
    return [
        pytest.param((function, message, arguments), id=f"{function}-{message}")
        for function, cases in yaml.safe_load(text).items()
        for message, calls in cases.items()
        for arguments in calls
    ]


def refused(function: str, message: str, arguments: dict, objects: dict) -> None:
    """Check that a function refuses arguments in these words; a name may mean an object."""

    def meant(value):
        if isinstance(value, dict):
            return {name: meant(one) for name, one in value.items()}
        return [*map(meant, value)] if isinstance(value, list) else objects.get(value, value)

    with pytest.raises(ValueError, match=message):
        list(pkgutil.resolve_name(function)(**meant(arguments)))  # a generator begins
