"""Faults that were reported in public stay fixed: each entry of public_bugs.yaml."""

import pkgutil
import re
from pathlib import Path

import numpy as np
import pytest

from known_unknowns.auditing.command import main
from tests.mistakes import beside, with_objects

#: Objects that YAML cannot express, by the word that stands for them.
OBJECTS: dict = {}

ENTRIES = [
    pytest.param(entry, id=f"{subject}-{number}")
    for subject, entries in beside(__file__, "public_bugs.yaml").items()
    for number, entry in enumerate(entries)
]


@pytest.mark.parametrize("entry", ENTRIES)
def test_a_reported_fault_stays_fixed(entry, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    if "command" in entry:
        for name, content in entry.get("files", {}).items():
            write(tmp_path / name, content)
        run_command(entry, capsys)
    else:
        call(entry)


def write(path: Path, content: str | dict) -> None:
    """Write a file of text, or an archive of arrays."""
    if isinstance(content, str):
        path.write_text(content, encoding="utf-8")
        return
    arrays = with_objects(content, OBJECTS)
    np.savez(path, **{name: np.asarray(values) for name, values in arrays.items()})


def run_command(entry: dict, capsys) -> None:
    """Run a command line, and compare the exit status and the text on both streams."""
    try:
        status = main(entry["command"].split())
    except SystemExit as stop:  # wrong usage
        status = stop.code
    printed = "".join(capsys.readouterr())
    assert status == entry["exit"], printed
    assert re.search(entry.get("prints", ""), printed), printed
    assert "Traceback" not in printed


def call(entry: dict) -> None:
    """Call a function, and compare its value or its message."""
    function = pkgutil.resolve_name(entry["call"])
    arguments = with_objects(entry["arguments"], OBJECTS)
    positional, named = ([], arguments) if isinstance(arguments, dict) else (arguments, {})
    if "refused" in entry:
        with pytest.raises(ValueError, match=entry["refused"]):
            function(*positional, **named)
        return
    value = function(*positional, **named)
    if isinstance(entry["value"], str | bool | None):
        assert value == entry["value"]
    else:
        np.testing.assert_allclose(value, entry["value"], rtol=1e-5, atol=1e-12)
