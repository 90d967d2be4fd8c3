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
from sklearn.datasets import load_digits
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.tree import DecisionTreeClassifier

from helpers import checkpoints
from helpers.files import sha256_file
from helpers.metrics import auroc
from helpers.outputs import Outputs
from helpers.scores import create
from known_unknowns.auditing import Inputs
from known_unknowns.auditing.command import main
from known_unknowns.auditing.doubts import find_doubts
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
    "NO_MEMBERS": np.empty((0, 1, 2)),
    "LOGITS_OF_DIGITS": 5.0 * np.eye(10)[DIGITS] - 1,
    "LABELS_OF_SVHN": np.where(DIGITS == 0, 10, DIGITS),
    "PROBABILITIES": PROBABILITIES,
    "PERCENTAGES": 100 * PROBABILITIES,
    "SIGMOIDS": np.where(LOGITS > 0, 0.9, 0.3),
    "OF_CLASS_1": np.where(LABELS == 1, 0.9, 0.2),
    "BINARY": (LABELS == 1).astype(int),
    "NUMBERS_AND_TEXTS": [1, "1"] * 12,
    "GROUPS_WITH_A_GAP": np.array([None, *"ab" * 11, "c"], dtype=object),
    "LISTS": [[1.0, 0.0, 0.0]] * 24,
}


def toy(logits, labels, features=None, **others) -> Inputs:
    """Return inputs of an audit."""
    features = np.empty((len(labels), 0)) if features is None else features
    outputs = Outputs(logits, features, labels)
    return Inputs("a toy", outputs, tuple(map(str, range(logits.shape[1]))), **others)


def doubts(inputs: Inputs) -> str:
    """Return the names of the problems that an audit prints first."""
    return ", ".join(doubt.name for doubt in find_doubts(inputs))


def outputs_of_different_images() -> None:
    """Add outputs that are equal for different images, and outputs of copies."""
    generator = np.random.default_rng(0)
    labels = generator.integers(10, size=2000)
    logits = (12 * np.eye(10)[labels] + 3 * generator.normal(size=(2000, 10))).astype(np.float32)
    # in half precision, a confident answer leaves 0 for the other classes
    half = softmax(2 * logits, axis=1).astype(np.float16)
    rounded = softmax(logits, axis=1).round(4)
    three = softmax(2 * generator.normal(size=(3000, 3)), axis=1).round(4)
    three[1] = three[0]  # one pair, which is expected by chance
    features = generator.normal(size=(2000, 64)).astype(np.float16)
    twice = [*range(2000), *range(60)]
    two = logits[:, :2].argmax(axis=1)
    names = tuple(f"{number}.png" for number in twice)
    pixels, digits = load_digits(return_X_y=True)
    tree = DecisionTreeClassifier(random_state=0).fit(pixels[:900], digits[:900])
    leaves = tree.predict_proba(pixels[900:])
    boosted = GradientBoostingClassifier(n_estimators=3, max_depth=2, random_state=0)
    boosted.fit(pixels[:900], digits[:900])
    sums = logarithm(boosted.predict_proba(pixels))
    assert len(np.unique(sums[900:].astype(np.float32), axis=0)) < 800  # of 897 images
    seen = Outputs(sums[:900], np.empty((900, 0)), digits[:900])
    train = Outputs(logits[:60], np.empty((60, 0)), labels[:60])
    other = Outputs(logarithm(rounded[1000:]), np.empty((1000, 0)), labels[1000:])
    OBJECTS.update(
        {
            "float16 softmax of different images": toy(logarithm(half), labels),
            "probabilities of a decision tree": toy(logarithm(leaves), digits[900:]),
            "logarithms of the probabilities of boosted trees": toy(sums[900:], digits[900:]),
            "boosted trees and their training images": toy(sums[900:], digits[900:], train=seen),
            "probabilities with four digits": toy(logarithm(rounded), labels),
            "three probabilities with four digits": toy(logarithm(three), three.argmax(axis=1)),
            "float32 logits and 60 copies": toy(logits[twice], labels[twice]),
            "rounded probabilities with features and 60 copies": toy(
                logarithm(rounded[twice]), labels[twice], features[twice]
            ),
            "rounded probabilities with names and 60 copies": toy(
                logarithm(rounded[twice]), labels[twice], files=names
            ),
            "two classes with names and 60 copies": toy(logits[twice, :2], two[twice], files=names),
            "two classes with two digits": toy(logits[:, :2].round(2), two),
            "float32 logits and 60 training images": toy(logits, labels, train=train),
            "rounded probabilities and other training images": toy(
                logarithm(rounded[:1000]), labels[:1000], train=other
            ),
        }
    )


def error_of_neighbours(name: str, size: float) -> float:
    """Return the largest error of the scores by five neighbours, for features of some size."""
    features = size * np.abs(np.random.default_rng(0).normal(size=(350, 64))).astype(np.float32)
    train = Outputs(np.tile([1.0, -99.0], (300, 1)), features[:300], np.zeros(300, int))
    outputs = Outputs(train.logits[:50], features[300:], train.labels[:50])
    units = features / np.linalg.norm(features.astype(float), axis=1, keepdims=True)
    cosines = np.sort(units[300:] @ units[:300].T)[:, -5:]
    # the energies are 1
    right = {"knn": -np.sqrt(2 - 2 * cosines[:, 0]), "nnguide": cosines.mean(axis=1)}
    scores = create(name, k=5).fit(train, None).score_samples(outputs)
    return round(float(np.abs(scores - right[name]).max()), 6)


def disagreement(members: list) -> np.ndarray:
    """Return the Jensen-Shannon score of the members' probabilities [M, N, K]."""
    shape = np.shape(members)[1:]
    outputs = Outputs(np.zeros(shape), np.empty((shape[0], 0)), np.zeros(shape[0], int), members)
    return create("jsd").score_samples(outputs)


def logarithm(probabilities: np.ndarray) -> np.ndarray:
    """Return finite logits of probabilities."""
    return np.log(np.maximum(probabilities.astype(float), 1e-30))


def models_of_rare_classes() -> None:
    """Add models of transactions with 0.5 % of fraud, and of parts with five rare defects."""
    generator = np.random.default_rng(0)
    fraud = np.arange(20_000) % 200 == 0
    score = np.where(fraud, 3.5, -4) + 1.4 * generator.normal(size=20_000)
    assert auroc(score[fraud], score[~fraud]) > 0.99
    chance = generator.normal(size=20_000) - 2
    kinds = generator.choice(6, p=[0.9, *[0.02] * 5], size=5000)
    logits = 4 * np.eye(6)[kinds] + generator.normal(size=(5000, 6))
    models = {
        "a good model of rare fraud": score,
        "a model that ranks fraud and never names it": score - 20,
        "a useless model of rare fraud": chance,
        "one answer for all transactions": np.full(20_000, -4.0),
    }
    for name, values in models.items():
        OBJECTS[name] = toy(np.c_[0 * values, values], fraud.astype(int))
    OBJECTS["a good model of rare defects"] = toy(logits, kinds)
    OBJECTS["a useless model of rare defects"] = toy(generator.permutation(logits), kinds)


outputs_of_different_images()
models_of_rare_classes()

ENTRIES = [
    pytest.param(entry, id=f"{subject}-{number}")
    for subject, entries in beside(__file__, "public_bugs.yaml").items()
    for number, entry in enumerate(entries)
]


@pytest.mark.parametrize("entry", ENTRIES)
def test_a_reported_fault_stays_fixed(entry, here, capsys):
    for name, content in entry.get("files", {}).items():
        write(here / name, content)
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
    assert "Traceback" not in printed
    assert "\x1b" not in printed
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
    if isinstance(entry["value"], str | bool | dict | None):
        assert value == entry["value"]
    else:
        np.testing.assert_allclose(value, entry["value"], rtol=1e-5, atol=1e-12)
