"""The findings of an audit in sentences, and the requirements that a build may check.

A requirement such as ``accuracy>=0.9`` holds if it holds for the whole 95 % interval of its number.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from types import SimpleNamespace

import numpy as np
import pandas as pd

from helpers.checks import known_name
from known_unknowns import guarantees
from known_unknowns.auditing.inputs import LEAST
from known_unknowns.auditing.ranking import COMPARED, demands
from known_unknowns.auditing.sentences import render
from known_unknowns.auditing.thresholds import NOTHING, precision_and_recall, promise_risk, share

SUMMARY = ("right", "by_answer", "sure", "accept", "promise", "unlabelled", "next_step")
FINDINGS = ("right", "sure", "score", "accept", "unlabelled", "drift", "limits")
#: Largest number of answers with precision and recall in the first sentences.
NAMED = 5
#: Coverage above which a rejector rejects almost no images.
NEARLY_ALL = 0.98
_ASKS = ("the logits alone", "the features too", "the head's weights too", "training images too")
#: Names of the numbers of a requirement.  ``coverage`` and ``risk`` belong to the rejector.
NUMBERS = ("accuracy", "coverage", "coverage_at_risk", "risk", "ece", "ece_scaled", "aurc",
           "auroc", "fpr95")  # fmt: skip
#: Numbers of a set of unknown images, as in ``auroc:pets``; without a name, the worst set.
OF_SETS = ("auroc", "fpr95")
_FORM = re.compile(
    r"(?P<name>coverage_at_risk(?=_)|[^:<>=]+)(_(?P<risk>[^:<>=]*))?"
    r"(:(?P<set>[^<>=]+))?(?P<sense>>=|<=)(?P<limit>[^<>=]+)"
)


def summary(audit: SimpleNamespace) -> list[str]:
    """Return the first sentences: accuracy, confidence, rule, guarantee, recommended action.

    With unlabelled images, two more sentences describe them.  If one class has most labels, one
    more sentence has the precision and the recall of each answer.
    """
    numbers = facts(audit)
    return [sentence for name in SUMMARY for sentence in render(name, **numbers)]


def findings(audit: SimpleNamespace) -> list[dict]:
    """Return the parts of the report: heading, one sentence, details, recommended action."""
    numbers, parts = facts(audit), []
    for name in FINDINGS:
        if audit.inputs.production is not None or name not in ("unlabelled", "drift"):
            heading, sentence, *details, advice = render(f"about_{name}", **numbers)
            parts.append({"name": name, "heading": heading, "sentence": sentence})
            parts[-1] |= {"details": details, "advice": advice}
    return parts


def facts(audit: SimpleNamespace) -> dict:
    """Return the numbers that the template looks up, and functions that compute more."""
    deployed, (scores, correct) = audit.threshold, audit.promised_on
    accepted = {} if deployed is None else deployed.ood_accepted
    confirmed = audit.confirmed.to_dict("records")
    areas = [row for row in confirmed if row["metric"] == "auroc"]
    wished = audit.settings["risk"], audit.settings["confidence"]
    number, validation = len(audit.measuring), audit.inputs.validation
    labels = np.bincount(validation.labels)
    rows = precision_and_recall(validation, audit.inputs.class_names)

    def ranked(metric: str, name: str) -> pd.Series:
        rows = audit.ranking[audit.ranking["metric"].eq(metric) & audit.ranking["set"].eq(name)]
        return rows.set_index("score")["value"]

    return {
        "audit": audit,
        "small_sets": [name for name, part in audit.inputs.ood.items() if len(part) < 2 * LEAST],
        "most_frequent": {
            "name": audit.inputs.class_names[labels.argmax()],
            "share": labels.max() / len(validation),
        },
        "rarest": rows[:NAMED],
        "asks": _ASKS[demands(audit.score)],
        "compared": min(len(audit.choosing), COMPARED),
        "ranked": ranked,
        "again": [row for row in confirmed if row["metric"] == "aurc"][-1],
        "hardest": min(areas, key=lambda row: row["value"], default=None),
        "worst": max(accepted, key=accepted.get, default=""),
        "worse_answers": sorted(
            (row for row in audit.classes if row["beyond"]), key=lambda row: -row["wrong"][0]
        ),
        "nearly_all": audit.deployed == "risk" and deployed.coverage[0] > NEARLY_ALL,
        "drawn": len(scores),
        "images_needed": guarantees.images_needed,
        "needed": guarantees.images_needed(*wished),
        "largest_coverage": math.floor(1e4 * number / (number + 1)) / 100,
        "larger_risk": lambda: guarantees.larger_risk(
            scores, correct, risk=wished[0], confidence=wished[1]
        ),
        "taken": accepted_unlabelled(audit),
        # known as soon as the audit has a folder
        "rejector_file": getattr(audit, "rejector_file", "rejector.safetensors"),
    }


def accepted_unlabelled(audit: SimpleNamespace) -> tuple[float, float, float] | None:
    """Return the accepted share of the unlabelled images; None without images or rejector."""
    if audit.threshold is None or "production" not in audit.samples:
        return None
    return share(audit.samples["production"] >= audit.threshold.value)


def read_requirement(text: str, sets: Iterable[str] | None = None) -> SimpleNamespace:
    """Return name, set and limit of ``NAME>=NUMBER``, ``NAME<=NUMBER`` or ``NAME:SET>=NUMBER``.

    `risk` is the R of ``coverage_at_risk_R``, else NaN.

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
        if not sets:
            raise ValueError(
                f"require: '{text}' asks for a set of unknown images, and there is none; bring "
                "ood_NAME_logits, or leave it out"
            )
        if of_set:
            known_name("set of unknown images", of_set, sets)
    least = match["sense"] == ">="
    return SimpleNamespace(name=name, set=of_set, least=least, limit=limit, risk=risk)


def _number(text: str) -> float:
    """Return a number, or NaN."""
    try:
        return float(text)
    except ValueError:
        return np.nan


def judge(audit: SimpleNamespace, requirements: Sequence[str]) -> list[dict]:
    """Return the verdicts on requirements.

    Without a rejector, no requirement for risk or coverage holds.  With several sets, the verdict
    depends on the set whose interval has the worst end.  A number that does not exist is NaN.
    """
    judged = []
    for text in requirements:
        required = read_requirement(text, audit.inputs.ood)
        numbers, least, limit = _numbers(audit, required), required.least, required.limit
        worst = min(numbers, key=lambda row, least=least: row[1] if least else -row[2])
        value, low, high = map(float, worst)
        holds = low >= limit if least else high <= limit  # false for NaN
        row = {"requirement": text.strip(), "value": value, "low": low, "high": high}
        judged.append(row | {"holds": holds})
    return judged


def _numbers(audit: SimpleNamespace, required: SimpleNamespace) -> list[tuple[float, float, float]]:
    """Return a number with the ends of its interval, once for each required set."""
    name, settings, samples = required.name, audit.settings, audit.samples
    if name == "accuracy":
        return [audit.accuracy]
    if name in ("ece", "ece_scaled"):
        row = audit.calibration.loc["before" if name == "ece" else "after"]
        return [tuple(row[["ece", "low", "high"]])]
    if name in ("risk", "coverage"):
        return [NOTHING if audit.threshold is None else getattr(audit.threshold, name)]
    if name == "coverage_at_risk":
        risk = required.risk if required.risk == required.risk else settings["risk"]
        ood = {name: samples[name] for name in audit.inputs.ood}
        wished = risk, settings["confidence"]
        mixed = {"unknown": settings["unknown_share"], "seed": settings["seed"], "hard": audit.hard}
        return [promise_risk(samples["validation"], audit.correct, ood, *wished, **mixed).coverage]
    rows = audit.confirmed[audit.confirmed["metric"].eq(name)]
    if name not in OF_SETS or required.set:  # the AURC is for the ID images, set ""
        rows = rows[rows["set"].eq(required.set)]
    return [tuple(row) for row in rows[["value", "low", "high"]].to_numpy()]
