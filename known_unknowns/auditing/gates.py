"""Requirements of an audit, as a build may ask for them: ``accuracy>=0.9``.

A requirement holds if it holds for the whole 95 % interval of its number.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from helpers.checks import known_name
from known_unknowns.auditing.record import Measured
from known_unknowns.auditing.thresholds import NOTHING, promise_risk

NUMBERS = ("accuracy", "coverage", "coverage_at_risk", "risk", "ece", "ece_scaled", "aurc",
           "auroc", "fpr95")  # fmt: skip
"""Names of what can be required.  ``coverage`` and ``risk`` are the rejector's."""
OF_SETS = ("auroc", "fpr95")
"""Numbers of a set of unknown images: ``auroc:pets``, or without a set the worst of all sets."""
_SCALING = {"ece": "before", "ece_scaled": "after"}
_FORM = re.compile(
    r"(?P<name>coverage_at_risk(?=_)|[^:<>=]+)(_(?P<risk>[^:<>=]*))?"
    r"(:(?P<set>[^<>=]+))?(?P<sense>>=|<=)(?P<limit>[^<>=]+)"
)


class Requirement(NamedTuple):
    """A number and its limit; `risk` is the R of ``coverage_at_risk_R``, else NaN."""

    text: str
    name: str
    set: str
    least: bool
    limit: float
    risk: float = np.nan


class Judged(NamedTuple):
    """The verdict on a requirement; a number that does not exist is NaN."""

    requirement: str
    value: float
    low: float
    high: float
    holds: bool


def read_requirement(text: str, sets: Iterable[str] | None = None) -> Requirement:
    """Return the requirement ``NAME>=NUMBER``, ``NAME<=NUMBER`` or ``NAME:SET>=NUMBER``.

    >>> read_requirement("auroc:pets>=0.9").set
    'pets'
    """
    if not (match := _FORM.fullmatch(text.strip())):
        raise ValueError(f"require: NAME>=NUMBER or NAME<=NUMBER expected, got '{text}'")
    name, risk = match["name"].strip(), np.nan
    if match["risk"] is not None and not 0 < (risk := _number(match["risk"])) < 1:
        raise ValueError(
            f"require: a risk between 0 and 1 expected, as in coverage_at_risk_0.05, got '{text}'"
        )
    known_name("number to require", name, NUMBERS)
    if not 0 <= (limit := _number(match["limit"])) <= 1:
        raise ValueError(f"require: a share between 0 and 1 expected, got '{text}'; 90 % is 0.9")
    of_set = (match["set"] or "").strip()
    if of_set and name not in OF_SETS:
        raise ValueError(f"require: {name} is of no set, got '{text}'; write {name}>=NUMBER")
    if sets is not None and name in OF_SETS:
        if not (names := list(sets)):
            raise ValueError(
                f"require: '{text}' asks for a set of unknown images, and there is none; bring "
                "ood_NAME_logits, or leave it out"
            )
        if of_set:
            known_name("set of unknown images", of_set, names)
    return Requirement(text.strip(), name, of_set, match["sense"] == ">=", limit, risk)


def _number(text: str) -> float:
    """Return a number, or NaN."""
    try:
        return float(text)
    except ValueError:
        return np.nan


def judge(audit: Measured, requirements: Sequence[str]) -> list[Judged]:
    """Return the verdicts on requirements.

    Without a rejector neither a risk nor a coverage holds.  Of several sets, the one whose interval
    reaches furthest to the wrong side decides.
    """
    judged = []
    for text in requirements:
        required = read_requirement(text, audit.inputs.ood)
        numbers = _numbers(audit, required)
        least, limit = required.least, required.limit
        value, low, high = min(numbers, key=lambda row, least=least: row[1] if least else -row[2])
        holds = low >= limit if least else high <= limit  # false for NaN
        judged.append(Judged(required.text, float(value), float(low), float(high), bool(holds)))
    return judged


def _numbers(audit: Measured, required: Requirement) -> list[tuple[float, float, float]]:
    """Return a number with the ends of its interval, once for each required set."""
    name = required.name
    if name == "accuracy":
        return [audit.accuracy]
    if name in _SCALING:
        return [tuple(audit.calibration.loc[_SCALING[name]][["ece", "low", "high"]])]
    if name in ("risk", "coverage"):
        return [NOTHING if audit.threshold is None else getattr(audit.threshold, name)]
    if name == "coverage_at_risk":
        settings, samples = audit.settings, audit.samples
        risk = required.risk if required.risk == required.risk else settings["risk"]
        ood = {name: samples[name] for name in audit.inputs.ood}
        wished = risk, settings["confidence"]
        mixed = {"unknown": settings["unknown_share"], "seed": settings["seed"]}
        return [promise_risk(samples["validation"], audit.correct, ood, *wished, **mixed).coverage]
    rows = audit.confirmed[audit.confirmed["metric"].eq(name)]
    if name not in OF_SETS or required.set:  # the AURC is that of the ID images, set ""
        rows = rows[rows["set"].eq(required.set)]
    return [tuple(row) for row in rows[["value", "low", "high"]].to_numpy()]
