"""The findings of an audit, in sentences."""

from __future__ import annotations

import math
from typing import NamedTuple

import pandas as pd

from known_unknowns import guarantees
from known_unknowns.auditing.inputs import LEAST
from known_unknowns.auditing.ranking import COMPARED, UNION, demands
from known_unknowns.auditing.record import Measured
from known_unknowns.auditing.sentences import render
from known_unknowns.auditing.thresholds import promise_risk, share

SUMMARY = ("right", "sure", "accept", "promise", "next_step")
FINDINGS = ("right", "sure", "score", "accept", "unlabelled", "drift", "limits")
NEARLY_ALL = 0.98
"""Coverage above which a rejector rejects next to nothing."""
_ASKS = ("the logits alone", "the features too", "the head's weights too", "training images too")


class Finding(NamedTuple):
    """A part of the report: its heading, one sentence, the details, and what to do."""

    name: str
    heading: str
    sentence: str
    details: tuple[str, ...]
    advice: str


def summary(audit: Measured) -> list[str]:
    """Return five sentences: accuracy, confidence, what to accept, the guarantee, what to do."""
    numbers = facts(audit)
    return [sentence for name in SUMMARY for sentence in render(name, **numbers)]


def findings(audit: Measured) -> list[Finding]:
    """Return the parts of the report in reading order."""
    numbers, parts = facts(audit), []
    for name in FINDINGS:
        if audit.inputs.production is not None or name not in ("unlabelled", "drift"):
            heading, sentence, *details, advice = render(f"about_{name}", **numbers)
            parts.append(Finding(name, heading, sentence, tuple(details), advice))
    return parts


def facts(audit: Measured) -> dict:
    """Return the numbers that the template looks up, and functions that compute more."""
    settings, inputs, deployed = audit.settings, audit.inputs, audit.threshold
    accepted = {} if deployed is None else deployed.ood_accepted
    drawn_scores, drawn_correct = audit.promised_on
    confirmed = audit.confirmed.to_dict("records")
    areas = [row for row in confirmed if row["metric"] == "auroc"]
    ece, claimed = audit.calibration["ece"], float(audit.claimed.mean())
    number, wished = len(audit.samples["validation"]), (settings["risk"], settings["confidence"])

    def ranked(metric: str, name: str) -> pd.Series:
        rows = audit.ranking[audit.ranking["metric"].eq(metric) & audit.ranking["set"].eq(name)]
        return rows.set_index("score")["value"]

    return {
        "audit": audit,
        "settings": settings,
        "wish": settings["wish"],
        "deployed": deployed,
        "images": len(inputs.validation),
        "grouped": inputs.grouped,
        "ood": list(inputs.ood),
        "small_sets": [name for name, part in inputs.ood.items() if len(part) < 2 * LEAST],
        "where": inputs.richest,
        "claimed": claimed,
        "believed": audit.accuracy[1] <= claimed <= audit.accuracy[2],
        "scaling_helps": bool(ece["after"] < ece["before"]),
        "before": audit.calibration.loc["before"],
        "after": audit.calibration.loc["after"],
        "best": audit.best[0],
        "asks": _ASKS[demands(audit.score)],
        "compared": min(len(audit.choosing), COMPARED),
        "ranked": ranked,
        "aurc": ranked("aurc", UNION if inputs.ood else ""),
        "again": [row for row in confirmed if row["metric"] == "aurc"][-1],
        "hardest": min(areas, key=lambda row: row["value"]) if areas else None,
        "suspected": len(audit.suspected_labels),
        "worst": max(accepted, key=accepted.__getitem__) if accepted else "",
        "worse_classes": sorted(
            (row for row in audit.by_class if row.beyond), key=lambda row: -row.wrong[0]
        ),
        "nearly_all": audit.deployed == "risk" and deployed.coverage[0] > NEARLY_ALL,
        "drawn": len(drawn_scores),
        "images_needed": guarantees.images_needed,
        "needed": guarantees.images_needed(*wished),
        "promised_of": lambda rows: [row for row in rows if row.value == row.value],
        "largest_coverage": lambda: math.floor(1e4 * number / (number + 1)) / 100,
        "larger_risk": lambda: guarantees.larger_risk(
            drawn_scores, drawn_correct, risk=wished[0], confidence=wished[1]
        ),
        "smaller_risk": lambda: _smaller_risk(drawn_scores, drawn_correct, *wished),
        "taken": accepted_unlabelled(audit),
    }


def accepted_unlabelled(audit: Measured) -> tuple[float, float, float] | None:
    """Return the share of unlabelled images that the rejector accepts, if there are both."""
    if audit.threshold is None or "production" not in audit.samples:
        return None
    return share(audit.samples["production"] >= audit.threshold.value)


def _smaller_risk(scores, correct, wished: float, confidence: float) -> dict | None:
    """Return a smaller risk that rejects some images, and how many images it needs (0: these)."""
    wrong = float((~correct).mean())
    options = [float(f"{part * wrong:.1g}") for part in (0.8, 0.5, 0.3)]
    for risk in options:
        if 0 < risk < wished:
            threshold = promise_risk(scores, correct, {}, risk, confidence)
            if not threshold.problem and threshold.coverage[0] <= NEARLY_ALL:
                return {"risk": risk, "images": 0}
    if 0 < options[1] < wished:
        images = 4 * guarantees.images_needed(options[1], confidence)
        return {"risk": options[1], "images": images}
    return None
