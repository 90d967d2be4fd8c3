"""Requirements of an audit, as a line of a build would ask for them: ``accuracy>=0.9``.

A requirement holds where the whole 95 % interval of its number does, not the number alone: more
images make it easier to hold, and luck does not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from helpers.checks import known_name
from known_unknowns.auditing.thresholds import promise_risk

if TYPE_CHECKING:
    from known_unknowns.auditing.record import Audit

NUMBERS = ("accuracy", "coverage", "coverage_at_risk", "risk", "ece", "ece_scaled", "aurc",
           "auroc", "fpr95")  # fmt: skip
"""What can be required, by its name.  ``coverage`` and ``risk`` are the rejector's."""
OF_SETS = ("auroc", "fpr95")
"""Those of a set of unknown images: ``auroc:pets``, or without a name of each."""
_SCALING = {"ece": "before", "ece_scaled": "after"}
_AT_RISK = "coverage_at_risk"
_FORM = re.compile(r"(?P<name>[^:<>=]+)(:(?P<set>[^<>=]+))?(?P<sense>>=|<=)(?P<limit>[^<>=]+)")


class Requirement(NamedTuple):
    """One number and its limit; ``risk`` is NaN unless a coverage is required at a certain one."""

    text: str
    name: str
    set: str
    least: bool
    limit: float
    risk: float = np.nan


class Judged(NamedTuple):
    """What became of a requirement; the number and its interval are NaN where there is none."""

    requirement: str
    value: float
    low: float
    high: float
    holds: bool


def read_requirement(text: str, sets: Iterable[str] | None = None) -> Requirement:
    """Return the requirement ``NAME>=NUMBER``, ``NAME<=NUMBER`` or ``NAME:SET>=NUMBER``.

    Examples
    --------
    >>> read_requirement("auroc:pets>=0.9").set
    'pets'
    >>> read_requirement("acuracy>=0.9")
    Traceback (most recent call last):
        ...
    ValueError: unknown number to require 'acuracy'; did you mean 'accuracy'? There are: accuracy, \
aurc, auroc, coverage, coverage_at_risk, ece, ece_scaled, fpr95, risk
    """
    if not (match := _FORM.fullmatch(text.strip())):
        raise ValueError(f"require: NAME>=NUMBER or NAME<=NUMBER expected, got '{text}'")
    name, risk = match["name"].strip(), np.nan
    if name.startswith(f"{_AT_RISK}_"):
        risk, name = _number(name.removeprefix(f"{_AT_RISK}_")), _AT_RISK
        if not 0 < risk < 1:
            raise ValueError(
                "require: a risk between 0 and 1 expected, as in coverage_at_risk_0.05, "
                f"got '{text}'"
            )
    known_name("number to require", name, NUMBERS)
    if not 0 <= (limit := _number(match["limit"])) <= 1:
        raise ValueError(f"require: a share between 0 and 1 expected, got '{text}'; 90 % is 0.9")
    place = (match["set"] or "").strip()
    if place and name not in OF_SETS:
        raise ValueError(f"require: {name} is of no set, got '{text}'; write {name}>=NUMBER")
    if sets is not None and name in OF_SETS:
        if not (names := list(sets)):
            raise ValueError(
                f"require: '{text}' asks for a set of unknown images, and there is none; bring "
                "ood_NAME_logits, or leave it out"
            )
        if place:
            known_name("set of unknown images", place, names)
    return Requirement(text.strip(), name, place, match["sense"] == ">=", limit, risk)


def _number(text: str) -> float:
    """Return a number, or NaN."""
    try:
        return float(text)
    except ValueError:
        return np.nan


def judge(audit: Audit, requirements: Sequence[str]) -> list[Judged]:
    """Judge requirements by what an audit found.

    Without a rejector neither a risk nor a coverage holds.  A requirement of every set of unknown
    images is that of the one whose interval reaches furthest to the wrong side.
    """
    judged = []
    for text in requirements:
        required = read_requirement(text, audit.inputs.ood)
        numbers = _numbers(audit, required)
        least, limit = required.least, required.limit
        value, low, high = min(numbers, key=lambda row, least=least: row[1] if least else -row[2])
        holds = low >= limit if least else high <= limit  # not where it is NaN
        judged.append(Judged(required.text, float(value), float(low), float(high), bool(holds)))
    return judged


def _numbers(audit: Audit, required: Requirement) -> list[tuple[float, float, float]]:
    """Return a number with the ends of its interval, once for each set that is asked for."""
    if required.name == "accuracy":
        return [audit.accuracy]
    if required.name in _SCALING:
        return [tuple(audit.calibration.loc[_SCALING[required.name]][["ece", "low", "high"]])]
    if required.name in ("risk", "coverage"):
        deployed = audit.thresholds.get(audit.deployed)
        return [(np.nan,) * 3 if deployed is None else getattr(deployed, required.name)]
    if required.name == _AT_RISK:  # as `Threshold.coverage`
        settings, samples = audit.settings, audit.samples
        risk = required.risk if required.risk == required.risk else settings["risk"]
        return [
            promise_risk(
                samples["validation"], audit.correct, {name: samples[name] for name in
                audit.inputs.ood}, risk, settings["confidence"],
                unknown=settings["unknown_share"], seed=settings["seed"],
            ).coverage
        ]  # fmt: skip
    rows = audit.confirmed[audit.confirmed["metric"].eq(required.name)]
    if required.name not in OF_SETS or required.set:  # the AURC is that of the ID images, set ""
        rows = rows[rows["set"].eq(required.set)]
    return [tuple(row) for row in rows[["value", "low", "high"]].to_numpy()]
