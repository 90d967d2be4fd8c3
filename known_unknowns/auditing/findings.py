"""The findings of an audit in sentences, and the requirements that a build may check.

A requirement such as ``accuracy>=0.9`` holds if it holds for the whole 95 % interval of its number.
"""

from __future__ import annotations

import math
import os
import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from helpers.checks import known_name
from known_unknowns import guarantees
from known_unknowns.auditing.inputs import LEAST
from known_unknowns.auditing.labelling import TABLE
from known_unknowns.auditing.ranking import COMPARED, demands
from known_unknowns.auditing.sentences import render
from known_unknowns.auditing.stages import ENOUGH, Estimates, Guarantee
from known_unknowns.auditing.thresholds import FALLBACKS, NOTHING, guarantee_risk, share

if TYPE_CHECKING:
    from known_unknowns.auditing.auditing import Audit

#: File of the rejector.
REJECTOR = "rejector.safetensors"
SUMMARY = (
    "right", "by_answer", "sure", "accept", "guarantee", "unlabelled", "label_before", "next_step",
    "label_after",
)  # fmt: skip
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


@dataclass(frozen=True)
class Requirement:
    """A limit for a number: ``>=`` if `least`, else ``<=``.

    `risk` is the R of ``coverage_at_risk_R``; None without R.
    """

    name: str
    set: str
    least: bool
    limit: float
    risk: float | None


def summary(audit: Audit) -> list[str]:
    """Return the first sentences: accuracy, confidence, rule, guarantee, recommended action.

    With unlabelled images, two more sentences describe them.  If one class has most labels, one
    more sentence has the precision and the recall of each answer.
    """
    numbers = facts(audit)
    return [sentence for name in SUMMARY for sentence in render(name, **numbers)]


def findings(audit: Audit) -> list[dict]:
    """Return the parts of the report: heading, one sentence, details, recommended action."""
    numbers = facts(audit)
    parts = []
    for name in FINDINGS:
        if audit.inputs.production is None and name in ("unlabelled", "drift"):
            continue
        heading, sentence, *details, advice = render(f"about_{name}", **numbers)
        part = {"name": name, "heading": heading, "sentence": sentence}
        parts.append(part | {"details": details, "advice": advice})
    return parts


def facts(audit: Audit) -> dict:
    """Return the numbers that the template looks up, and functions that compute more."""
    inputs = audit.inputs
    settings = audit.settings
    deployed = audit.threshold
    accepted = deployed.ood_accepted if deployed else {}
    confirmed = audit.confirmed.to_dict("records")
    areas = [row for row in confirmed if row["metric"] == "auroc"]
    draws = audit.sample.draws
    sizes = np.unique_counts(np.asarray(inputs.groups)).counts  # of groups, if there are any
    labels = np.bincount(inputs.validation.labels)
    recalls = sorted(audit.classes, key=lambda row: (not row.images, row.right[0]))
    beyond = [row for row in audit.classes if row.beyond]

    fixed = len(audit.measuring) > len(audit.held_out)
    needed = guarantees.images_needed(settings.risk, settings.confidence)
    given = "logits" if inputs.level else "probabilities"

    def ranked(metric: str, name: str) -> pd.Series:
        rows = audit.ranking[audit.ranking["metric"].eq(metric) & audit.ranking["set"].eq(name)]
        return rows.set_index("score")["value"]

    return {
        "audit": audit,
        "unit": inputs.unit,
        "fixed": fixed,
        "small_sets": [name for name, part in inputs.ood.items() if len(part) < 2 * LEAST],
        "most_frequent": {
            "name": inputs.class_names[labels.argmax()],
            "share": labels.max() / len(inputs.validation),
        },
        "rarest": recalls[:NAMED],
        "asks": _ASKS[demands(audit.score)].replace("logits", given),
        "compared": min(len(audit.choosing), COMPARED),
        "ranked": ranked,
        "again": [row for row in confirmed if row["metric"] == "aurc"][-1],
        "hardest": min(areas, key=lambda row: row["value"], default=None),
        "worst": max(accepted, key=accepted.__getitem__, default=""),
        "invalid": not audit.valid,
        "worse_answers": sorted(beyond, key=lambda row: -row.wrong[0]),
        "nearly_all": (
            deployed is not None
            and audit.deployed != "production"
            and deployed.target == "risk"
            and deployed.coverage[0] > NEARLY_ALL
        ),
        "drawn": audit.guaranteed_on.draws,
        "images_needed": guarantees.images_needed,
        "needed": needed,
        "needed_in_all": needed if settings.score or (fixed and needed < ENOUGH) else 2 * needed,
        "largest_coverage": math.floor(1e4 * draws / (draws + 1)) / 100,
        "draws": draws,
        "of_one_size": int(guarantees.groups_of_one_size(sizes)),
        "draw": "groups" if inputs.grouped else "images",
        "fallbacks": {
            name: audit.thresholds[name] for name in FALLBACKS if name in audit.thresholds
        },
        "taken": accepted_unlabelled(audit),
        "rejector_file": shlex.quote(os.path.join(audit.folder, REJECTOR)),
        "table": shlex.quote(os.path.join(audit.folder, TABLE)),
        "other_share": _other_share(audit),
        "rerun": _rerun(audit),
    }


def _rerun(audit: Audit) -> str:
    """Return the command that audits again with the labels of the table; empty in Python."""
    if not audit.command:
        return ""
    words = shlex.split(audit.command)
    options = {"--labels": os.path.join(audit.folder, TABLE)}
    if share := _other_share(audit):
        options["--share"] = f"{share:.2f}"
    for option, value in options.items():
        if option in words:
            words[words.index(option) + 1] = value
        else:
            words += [option, value]
    return shlex.join(words if "--force" in words else [*words, "--force"])


def _other_share(audit: Audit) -> float | None:
    """Return the share of unknown images that a guarantee should allow, if it is another one.

    It is larger, or the upper end of the interval that labels give.
    """
    unlabelled = audit.unlabelled
    share = (unlabelled and unlabelled.to_state) or 0.0
    stated = audit.settings.unknown_share
    if unlabelled and unlabelled.labelled and share:
        share = math.ceil(100 * unlabelled.labelled.unknown[2]) / 100
        return share if share not in (stated, 1.0) else None
    return share if share > stated else None


def accepted_unlabelled(audit: Guarantee) -> tuple[float, float, float] | None:
    """Return the accepted share of the unlabelled images; None without images or rejector."""
    if audit.threshold is None or "production" not in audit.samples:
        return None
    return share(audit.samples["production"] >= audit.threshold.value)


def read_requirement(text: str, sets: Iterable[str] | None = None) -> Requirement:
    """Return the requirement of ``NAME>=NUMBER``, ``NAME<=NUMBER`` or ``NAME:SET>=NUMBER``.

    >>> read_requirement("auroc:pets>=0.9").set
    'pets'
    """
    match = _FORM.fullmatch(text.strip())
    if not match:
        raise ValueError(f"require: NAME>=NUMBER or NAME<=NUMBER expected, got '{text}'")
    name = match["name"].strip()
    risk = None
    if match["risk"] is not None:
        risk = _number(match["risk"])
        if not 0 < risk < 1:
            raise ValueError(
                "require: a risk between 0 and 1 expected, as in coverage_at_risk_0.05, got "
                f"'{text}'"
            )
    known_name("number to require", name, NUMBERS)
    limit = _number(match["limit"])
    if not 0 <= limit <= 1:
        raise ValueError(f"require: a share between 0 and 1 expected, got '{text}'; 90 % is 0.9")
    of_set = (match["set"] or "").strip()
    if of_set and name not in OF_SETS:
        raise ValueError(f"require: {name} is of no set, got '{text}'; write {name}>=NUMBER")
    if sets is not None and name in OF_SETS:
        if not sets:
            raise ValueError(
                f"require: '{text}' needs a set of unknown images, and there is none; bring "
                "ood_NAME_logits, or leave it out"
            )
        if of_set:
            known_name("set of unknown images", of_set, sets)
    return Requirement(name, of_set, match["sense"] == ">=", limit, risk)


def _number(text: str) -> float:
    """Return a number, or NaN."""
    try:
        return float(text)
    except ValueError:
        return np.nan


def judge(audit: Estimates, requirements: Sequence[str]) -> list[dict]:
    """Return the verdicts on requirements.

    Without a rejector, no requirement for risk or coverage holds, and none holds if a doubt makes
    the numbers invalid.  A guaranteed risk is the upper end of its interval; without one, or if
    labels of new images show that it is broken, the end is 1.  With several sets, the verdict
    depends on the set whose interval has the worst end.  A number that does not exist is NaN.
    """
    judged = []
    for text in requirements:
        required = read_requirement(text, audit.inputs.ood)
        numbers = _numbers(audit, required)
        if required.least:
            value, low, high = min(numbers, key=lambda number: number[1])
            holds = low >= required.limit  # false for NaN
        else:
            value, low, high = max(numbers, key=lambda number: number[2])
            holds = high <= required.limit
        row = {"requirement": text.strip(), "value": float(value)}
        row |= {"low": float(low), "high": float(high), "holds": bool(holds and audit.valid)}
        judged.append(row)
    return judged


def _numbers(audit: Estimates, required: Requirement) -> list[tuple[float, float, float]]:
    """Return a number with the ends of its interval, once for each required set."""
    name = required.name
    if name == "accuracy":
        return [audit.accuracy]
    if name in ("ece", "ece_scaled"):
        row = audit.calibration.loc["before" if name == "ece" else "after"]
        return [(row["ece"], row["low"], row["high"])]
    if name in ("risk", "coverage"):
        threshold = audit.threshold
        if threshold is None:
            return [NOTHING]
        value, low, high = getattr(threshold, name)
        if name == "risk":  # only a guaranteed one has an upper end
            labelled = audit.unlabelled and audit.unlabelled.labelled
            broken = labelled and labelled.guarantee and labelled.guarantee.state == "broken"
            guaranteed = threshold.target == "risk" and not audit.beyond and not broken
            high = min(high, threshold.target_value) if guaranteed else 1.0
        return [(value, low, high)]
    if name == "coverage_at_risk":
        risk = audit.settings.risk if required.risk is None else required.risk
        threshold = guarantee_risk(
            audit.sample, audit.guaranteed_on, risk, audit.settings.confidence
        )
        return [threshold.coverage]
    rows = audit.confirmed[audit.confirmed["metric"].eq(name)]
    if name not in OF_SETS or required.set:  # the AURC is for the ID images, set ""
        rows = rows[rows["set"].eq(required.set)]
    return list(rows[["value", "low", "high"]].itertuples(index=False, name=None))
