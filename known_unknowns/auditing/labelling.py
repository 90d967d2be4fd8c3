"""A random draw of images to label, a table to fill in, and numbers from the labels."""

from __future__ import annotations

import csv
import hashlib
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from helpers.files import atomic_path
from known_unknowns import few_labels
from known_unknowns.auditing import checked
from known_unknowns.auditing.checked import NO_CLASS, NOT_LABELLED
from known_unknowns.auditing.inputs import Inputs
from known_unknowns.auditing.reading import LONGEST, read_labels
from known_unknowns.without_labels import conformal_p_values

#: Number of images to label at a time.
LABELS = 60
#: The table that an audit writes.
TABLE = "to_label.csv"
COLUMNS = ("image", "file", "outputs", "label")


def draw(labels: np.ndarray, seed: int) -> np.ndarray:
    """Return the indices of all images in the order of a random draw."""
    return np.random.default_rng(seed).permutation(len(labels))


def labels_of(inputs: Inputs) -> np.ndarray:
    """Return the labels of the unlabelled images; most are −2."""
    if inputs.production_labels is not None:
        return inputs.production_labels
    return np.full(len(inputs.production or ()), NOT_LABELLED)


def labelled_of(labels: np.ndarray) -> np.ndarray:
    """Return the indices of the images with a label."""
    return np.flatnonzero(labels != NOT_LABELLED)


def is_drawn(labels: np.ndarray, seed: int) -> bool:
    """Return whether the images with a label are the first of the draw, and there are some."""
    labelled = labelled_of(labels).tolist()
    return bool(labelled) and {*labelled} == {*draw(labels, seed)[: len(labelled)].tolist()}


def to_label(labels: np.ndarray, seed: int) -> list[int]:
    """Return the next images of the draw without a label."""
    drawn = draw(labels, seed)
    return drawn[labels[drawn] == NOT_LABELLED][:LABELS].tolist()


class Labelled(NamedTuple):
    """Numbers of the new images from labels of some of them; shares have 95 % intervals.

    Attributes
    ----------
    images : int
        Number of labels.
    drawn : bool
        Whether they are the first of the draw.
    accuracy, unknown : LabelledShare
        Shares of correct answers, and of images of no class.
    accepted : int
        Number of labelled accepted answers.
    risk : LabelledShare, optional
        Share of errors among accepted answers; None without such a label.
    guarantee : Guarantee, optional
        State of a guaranteed risk; None without one.
    """

    images: int
    drawn: bool
    accuracy: few_labels.LabelledShare
    accepted: int
    risk: few_labels.LabelledShare | None
    unknown: few_labels.LabelledShare
    guarantee: few_labels.Guarantee | None


def look_at_labels(
    inputs: Inputs,
    scores: np.ndarray,
    known: np.ndarray,
    sure: np.ndarray,
    *,
    threshold: float,
    risk: float | None,
    seed: int,
) -> Labelled | None:
    """Return numbers of the new images from labels of some of them; None without a label.

    Parameters
    ----------
    inputs : Inputs
        Outputs of M new images, and labels of some of them.
    scores, known : ndarray, shapes [M] and [n]
        Scores of these images and of validation images.
    sure : ndarray, shape [M]
        Confidences.
    threshold, risk : float
        Threshold of the rejector, infinite without a rejector, and the guaranteed risk, if any.
    seed : int
        Seed of the draw.
    """
    labels = labels_of(inputs)
    labelled = labelled_of(labels)
    if inputs.production is None or not len(labelled):
        return None
    right = (labels == inputs.production.predictions)[labelled]
    kept = np.flatnonzero(scores >= threshold)
    accepted = np.isin(labelled, kept)
    errors = ~right[accepted]
    wrong = None
    if len(errors):
        wrong = few_labels.labelled_share(
            errors, sure[kept], np.searchsorted(kept, labelled[accepted])
        )
    guarantee = None
    if risk is not None:
        guarantee = few_labels.check_guarantee([errors.sum()], [len(errors)], risk)
    return Labelled(
        images=len(labelled),
        drawn=is_drawn(labels, seed),
        accuracy=few_labels.labelled_share(right, sure, labelled),
        accepted=len(errors),
        risk=wrong,
        unknown=few_labels.labelled_share(
            labels[labelled] == NO_CLASS, conformal_p_values(known, scores), labelled
        ),
        guarantee=guarantee,
    )


def write_table(path: Path, inputs: Inputs, seed: int) -> None:
    """Write the labels so far, and the next images of the draw without a label.

    ``outputs`` is a checksum of the outputs: labels cannot come back to other images.
    """
    production = inputs.production
    assert production is not None
    labels = labels_of(inputs)
    drawn = draw(labels, seed)
    labelled = drawn[labels[drawn] != NOT_LABELLED].tolist()
    files = inputs.production_files or [""] * len(labels)
    names = {NOT_LABELLED: "", NO_CLASS: str(NO_CLASS), **dict(enumerate(inputs.class_names))}
    with atomic_path(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(COLUMNS)
        for index in labelled + to_label(labels, seed):
            cells = (files[index], _digest(production.logits[index]), names[int(labels[index])])
            rows.writerow((index, *map(checked.no_formula, cells)))


def _digest(logits: np.ndarray) -> str:
    return "x" + hashlib.blake2b(logits.tobytes(), digest_size=4).hexdigest()


def filled(path: Path) -> int:
    """Return the number of labels in a table; 0 for no such table."""
    if not path.exists():
        return 0
    return sum(bool(row.get("label")) for row in read_labels(path))


def check_kept(path: Path, inputs: Inputs) -> None:
    """Refuse to replace a table with labels that the inputs do not have."""
    if not filled(path):
        return
    with suppress(ValueError):  # labels of other images
        labels = labels_of(with_labels(inputs, path))
        if np.array_equal(labels, np.where(labels == NOT_LABELLED, labels, labels_of(inputs))):
            return
    raise ValueError(
        f"{path} has labels, which would be lost; audit with them (--labels {path}, in Python "
        "production_labels), or move the table"
    )


def with_labels(inputs: Inputs, path: Path) -> Inputs:
    """Return inputs with the labels of a table of `write_table` that somebody has filled in."""
    rows = read_labels(path)
    production = inputs.production
    if production is None:
        raise ValueError(f"--labels: {path} has labels of unlabelled images, and there are none")
    missing = [name for name in ("image", "outputs", "label") if name not in (rows or [{}])[0]]
    if missing:
        raise ValueError(
            f"--labels: {path} has no column {missing[0]!r}; give {TABLE} of an audit, filled in"
        )
    names = np.char.strip(inputs.class_names)
    texts = np.full(len(production), "", dtype=object)
    for row in rows:
        number = row["image"].strip()
        index = int(number) if number.isdecimal() else len(production)
        if index >= len(production) or row["outputs"] != _digest(production.logits[index]):
            raise ValueError(
                f"--labels: {path} names image {number!r} with outputs that this file does not "
                "have; give the outputs that the table was written for"
            )
        texts[index] = checked.without_mark(row["label"][:LONGEST], names)
    labels = checked.some_labels(
        {"production_labels": texts.astype(str), "class_names": names},
        production.logits,
        "logits",
    )
    return replace(inputs, production_labels=labels)
