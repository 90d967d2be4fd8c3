"""The guarantee of a rejector, checked on answers to new images.

`accept --check` draws images at random, people write what they show into the column truth, and
`watch` keeps the evidence for and against the guarantee.
"""

from __future__ import annotations

import contextlib
import csv
import os
import re
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import numpy as np

from helpers.files import sha256_file
from known_unknowns import few_labels
from known_unknowns.auditing.checked import NO_CLASS, without_mark
from known_unknowns.auditing.reading import read_labels, separator_of
from known_unknowns.auditing.rejector import Rejector
from known_unknowns.auditing.units import of_unit
from known_unknowns.auditing.watching import changed

#: Mark of the images that were drawn.
DRAWN = "yes"
COLUMNS = ("accepted", "label", "score")
_KEEP = "write only the truth into a table of accept --check, and keep its other cells"
#: Number of thresholds that a rejector can move to.
THRESHOLDS = 20


def draw_checked(images: int, count: int, digest: str) -> dict[str, list[str]]:
    """Return the columns of a random draw: ``check`` marks it, ``draw`` names it.

    The name has the digest of the outputs and the number of drawn images; ``truth`` is empty.
    """
    if not 1 <= count <= images:
        raise ValueError(f"--check: 1 to {images} images expected, got {count}")
    drawn = {*np.random.default_rng(int(digest, 16)).permutation(images)[:count].tolist()}
    return {
        "check": [DRAWN if row in drawn else "" for row in range(images)],
        "draw": [f"{digest} of {count}"] * images,
        "truth": [""] * images,
    }


def has_answers(path: Path) -> bool:
    """Return whether a file is a table of `accept`."""
    if path.suffix.lower() != ".csv" or not path.is_file():
        return False
    with path.open(encoding="utf-8-sig", newline="", errors="replace") as file:
        rows = filter(None, csv.reader(file, delimiter=separator_of(path)))
        header = next(rows, [])
    return {*COLUMNS} <= {*header}


def check_answers(path: str | os.PathLike, rule: Rejector, file: Path, state: Path) -> dict:
    """Store the checked answers of a table, and return the evidence of all tables.

    `path` is the file of the rejector.  The images of a draw count once; if truths change, the last
    ones count.

    Returns
    -------
    dict
        ``wrong``, ``labels``: numbers of wrong and of all checked accepted answers of this table.
        ``counted``: whether its draw was there before.  ``tables``: the number of tables.
        ``verdict``, ``risk``: the evidence of all tables about the guaranteed risk.  ``moved``: a
        rejector with a certified threshold, or None.

    Raises
    ------
    ValueError
        A rejector without a guaranteed risk, a table of another rejector, a drawn image without a
        truth, a drawn row too many or too few, a truth that is no class; and as in `watching.look`.
    """
    risk = guaranteed_risk(rule)
    name, scores, wrong = _read_answers(file, rule)
    with changed(state, sha256_file(path)) as stored:
        counted = name in stored.checked
        stored.checked[name] = scores.tolist(), wrong.tolist()
        tables = stored.checked.values()
        counts = np.transpose([_accepted(rule, *table) for table in tables])
    mine = _accepted(rule, scores, wrong)
    measured = rule.provenance.get("risk_measured")
    verdict = few_labels.check_guarantee(counts[0], counts[1], risk, expected=measured)
    return {
        "wrong": mine[0],
        "labels": mine[1],
        "counted": counted,
        "tables": len(tables),
        "verdict": verdict,
        "moved": _moved(rule, tables, counts),
        "risk": risk,
        "unit": rule.unit,
        "error": few_labels.ERROR,
    }


def _moved(rule: Rejector, tables: Collection, counts: np.ndarray) -> Rejector | None:
    """Return a rejector with the smallest threshold that tables certify; None without one.

    It may accept from half as many validation images as now up to all of them.  If the guarantee is
    broken, it accepts fewer than now, since a smaller threshold accepts the same errors; and the
    tables before the one that shows it do not count, since they may be of other images.

    Parameters
    ----------
    tables : collection of (scores, wrong)
        Scores of checked answers, and whether each is wrong.
    counts : ndarray of int, shape [2, T]
        Numbers of wrong and of all accepted answers of each table.
    """
    known = rule.known_scores()
    risk = guaranteed_risk(rule)
    looks = [(np.array(scores), np.array(wrong, bool)) for scores, wrong in tables]
    half = (known >= rule.threshold).mean() / 2
    thresholds = np.quantile(known, 1 - np.linspace(half, 1, THRESHOLDS), method="nearest")
    thresholds = np.append(thresholds, rule.threshold)
    against, _ = few_labels.guarantee_evidence(counts[0], counts[1], risk)
    broken = against >= np.log(1 / few_labels.ERROR)
    if broken.any():
        looks = looks[broken.argmax() :]
        thresholds = thresholds[thresholds > rule.threshold]
    value = few_labels.certified_threshold(looks, risk, {*thresholds})
    if value is None:
        return None
    labels = sum(len(wrong) for _, wrong in looks)
    guarantee = (
        f"At most {100 * risk:g} % of accepted images are misclassified or of no known class, for "
        f"images like the {labels} checked ones. This is false for at most "
        f"{100 * few_labels.ERROR:g} % of all draws of them."
    )
    guarantee = of_unit(guarantee, rule.unit)
    provenance = {
        **rule.provenance,
        "guarantee": guarantee,
        "coverage_known": (known >= value).mean(),
    }
    provenance.pop("risk_measured", None)
    return replace(rule, threshold=value, by_answer=None, provenance=provenance)


def guaranteed_risk(rule: Rejector) -> float:
    """Return the guaranteed risk of a rejector; refuse a rejector without one."""
    risk = rule.provenance.get("risk")
    if not isinstance(risk, float) or not 0 < risk < 1:
        raise ValueError(
            "checked answers are for a rejector with a guaranteed risk, and this one has none; "
            "audit with --risk, and without --fallback average"
        )
    return risk


def _accepted(rule: Rejector, scores, wrong) -> tuple[int, int]:
    """Return the numbers of wrong and of all accepted answers."""
    accepted = np.asarray(wrong, bool)[np.asarray(scores) >= rule.threshold]
    return int(accepted.sum()), len(accepted)


def _read_answers(path: Path, rule: Rejector) -> tuple[str, np.ndarray, np.ndarray]:
    """Return the name of the draw, and the score and the error of each drawn image."""
    rows = read_labels(path)
    for row in rows:
        if not {"check", "truth"} <= {*row}:
            raise ValueError(
                f"{path}: a table of accept --check expected, with the columns check and truth; "
                "or name the outputs from which accept wrote this table"
            )
        if (_score(row, path) >= rule.threshold) != (row["accepted"].strip().lower() == "true"):
            raise ValueError(
                f"{path} has the answers of another rejector; name the one that wrote it"
            )
    drawn = [row for row in rows if row["check"].strip() == DRAWN]
    names = {row.get("draw", "").strip() for row in rows}
    name, _, count = names.pop().partition(" of ") if len(names) == 1 else ("", "", "all")
    if str(len(drawn)) != count:
        raise ValueError(
            f"{path}: {count} rows of one draw with check = {DRAWN} expected, got {len(drawn)}; "
            f"{_KEEP}"
        )
    empty = sum(not row["truth"].strip() for row in drawn)
    if empty or not drawn:
        raise ValueError(
            f"{path}: truth is empty for {empty} of {len(drawn)} images with check = {DRAWN}; "
            "write a class into each of these rows, or -1 for no known class"
        )
    class_names = [
        str(each).strip() for each in rule.provenance.get("class_names") or range(rule.classes)
    ]
    truths, answers = (
        [_class_of(row[cell], class_names, path) for row in drawn] for cell in ("truth", "label")
    )
    wrong = np.array([truth != answer for truth, answer in zip(truths, answers, strict=True)])
    return name, np.array([_score(row, path) for row in drawn]), wrong


def _score(row: dict[str, str], path: Path) -> float:
    """Return the score in a row."""
    if row["accepted"].strip().lower() in ("true", "false"):
        with contextlib.suppress(ValueError):
            return float(row["score"].replace(",", "."))
    raise ValueError(
        f"{path}: True or False as accepted and a number as score expected, got "
        f"{row['accepted']!r} and {row['score']!r}; {_KEEP}"
    )


def _class_of(text: str, names: list[str], path: Path) -> str:
    """Return the class in a cell; a spreadsheet may have made 3.0 of 3.

    The mark that keeps a spreadsheet from computing a text is left out.
    """
    text = without_mark(text, names)
    if re.fullmatch(r"-?\d+\.0*", text) and text not in names:
        text = text.partition(".")[0]
    if text not in (*names, str(NO_CLASS)):
        raise ValueError(
            f"{path}: one of {len(names)} classes ({', '.join(names[:5])} …) or {NO_CLASS} "
            f"expected as truth, got {text!r}"
        )
    return text
