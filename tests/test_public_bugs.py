"""Faults that were reported in public stay fixed: each entry of public_bugs.yaml."""

import pkgutil
import re
from functools import reduce
from itertools import cycle, islice
from operator import attrgetter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax

from helpers import checkpoints
from helpers.files import sha256_file
from helpers.scores import create
from known_unknowns.auditing.command import main
from known_unknowns.auditing.rejector import Rejector
from tests.mistakes import beside, with_objects

#: Labels of three classes, and logits that predict them.
LABELS = np.arange(24) % 3
LOGITS = 5.0 * np.eye(3)[LABELS] - 1
PROBABILITIES = softmax(LOGITS, axis=1)
#: Numbers of house numbers: 10 stands for the digit 0.
DIGITS = np.arange(40) % 10

#: Objects that YAML cannot express, by the word that stands for them.
OBJECTS: dict = {
    "escape": "\x1b[2J",
    "deep": reduce(lambda inner, _: [inner], range(900), 0),
    "LABELS": LABELS,
    "LABELS_AS_A_COLUMN": LABELS[:, None],
    "LABELS_ONE_HOT": np.eye(3, dtype=int)[LABELS],
    "LABELS_MULTI_HOT": 1 - np.eye(3, dtype=int)[LABELS],
    "LABELS_NULLABLE": pd.array(LABELS.tolist(), dtype="Int64"),
    "LABELS_WITH_A_GAP": pd.array([None, *LABELS[1:].tolist()], dtype="Int64"),
    "LABELS_CATEGORICAL": pd.Categorical(np.array(["ant", "bee", "cow"])[LABELS]),
    "LABELS_OF_TEXTS": np.array(["ant", "bee", "cow"], np.dtypes.StringDType())[LABELS],
    "LABELS_FROM_1": LABELS + 1,
    "LABELS_FROM_MINUS_1": LABELS - 1,
    "LABELS_WITH_255": np.where(np.arange(24) < 4, 255, LABELS),
    "LABELS_WITH_MINUS_1": np.where(np.arange(24) < 4, -1, LABELS),
    "REJECTOR": Rejector(create("msp"), threshold=0.5, classes=3),
    "LOGITS": LOGITS,
    "LOGITS_OF_DIGITS": 5.0 * np.eye(10)[DIGITS] - 1,
    "LABELS_OF_SVHN": np.where(DIGITS == 0, 10, DIGITS),
    "PROBABILITIES": PROBABILITIES,
    "PERCENTAGES": 100 * PROBABILITIES,
    "OF_CLASS_1": np.where(LABELS == 1, 0.9, 0.2),
    "BINARY": (LABELS == 1).astype(int),
    "NUMBERS_AND_TEXTS": [1, "1"] * 12,
    "GROUPS_WITH_A_GAP": np.array([None, *"ab" * 11, "c"], dtype=object),
    "LISTS": [[1.0, 0.0, 0.0]] * 24,
}

ENTRIES = [
    pytest.param(entry, id=f"{subject}-{number}")
    for subject, entries in beside(__file__, "public_bugs.yaml").items()
    for number, entry in enumerate(entries)
]


@pytest.mark.parametrize("entry", ENTRIES)
def test_a_reported_fault_stays_fixed(entry, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name, content in entry.get("files", {}).items():
        write(tmp_path / name, content)
    if "command" in entry:
        run_command(entry, capsys)
    else:
        call(entry)


def write(path: Path, content: str | dict) -> None:
    """Write a file of text, an archive of arrays, or a table of 24 rows."""
    if isinstance(content, str):
        if "DIGEST" in content:  # counts belong to a rejector
            content = content.replace("DIGEST", sha256_file(path.with_name("r.safetensors")))
        path.write_text(content, encoding="utf-8")
        return
    arrays = with_objects(content, OBJECTS)
    if path.suffix == ".safetensors":  # a rejector of two classes, with these values in its JSON
        rule = Rejector(create("max_logit"), 0.5, 2, known=np.arange(100) / 100)
        rule.save(path)
        tensors, saved = checkpoints.load(path, framework="np")
        checkpoints.save(path, tensors, **saved | arrays)
        return
    if path.suffix in (".csv", ".parquet"):
        # a column of fewer cells is repeated
        columns = {name: [*islice(cycle(cells), 24)] for name, cells in arrays.items()}
        getattr(pd.DataFrame(columns), f"to_{path.suffix[1:]}")(path, index=False)
        return
    np.savez(path, **{name: np.asarray(values) for name, values in arrays.items()})


def run_command(entry: dict, capsys) -> None:
    """Run a command line, and compare the exit status and the text on both streams."""
    before = {name: Path(name).read_bytes() for name in entry.get("keeps", ())}
    try:
        status = main(entry["command"].split())
    except SystemExit as stop:  # wrong usage
        status = stop.code
    printed = "".join(capsys.readouterr())
    assert status == entry["exit"], printed
    assert re.search(entry.get("prints", ""), printed), printed
    assert "Traceback" not in printed and "\x1b" not in printed
    assert {name: Path(name).read_bytes() for name in before} == before


def part_of(value, name: str):
    """Return a part of a value, by its place in a tuple, or by names with dots; call a method."""
    if name.isdecimal():
        return value[int(name)]
    part = attrgetter(name)(value)
    return part() if callable(part) else part


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
    if "part" in entry:
        value = part_of(value, entry["part"])
    if isinstance(entry["value"], list) and isinstance(entry["value"][0], str):
        assert [*value][: len(entry["value"])] == entry["value"]
        return
    if isinstance(entry["value"], str | bool | None):
        assert value == entry["value"]
    else:
        np.testing.assert_allclose(value, entry["value"], rtol=1e-5, atol=1e-12)
