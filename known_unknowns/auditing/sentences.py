"""The sentences of an audit, rendered from ``templates/sentences.jinja`` and from numbers."""

from __future__ import annotations

import math
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import jinja2
import pandas as pd
from markupsafe import Markup

from helpers.scores import create
from known_unknowns import guarantees
from known_unknowns.auditing.inputs import LEAST
from known_unknowns.auditing.ranking import COMPARED, UNION, demands
from known_unknowns.auditing.thresholds import promise_risk, share

if TYPE_CHECKING:
    from known_unknowns.auditing.record import Audit

TEMPLATES = Path(__file__).parent / "templates"
SUMMARY = ("right", "sure", "accept", "promise", "next_step")
FINDINGS = ("right", "sure", "score", "accept", "unlabelled", "drift", "limits")
NEARLY_ALL = 0.98  # of the images: who accepts so many rejects next to nothing
_ASKS = ("the logits alone", "the features too", "the head's weights too", "training images too")
_SHOWN = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;"} | {sign: f"&#{ord(sign)};" for sign in "\\`*[]|$"}
)  # signs that mean something to HTML or Markdown, and how these show them


class Finding(NamedTuple):
    """A part of the report: its heading, one sentence, the details, and what to do."""

    name: str
    heading: str
    sentence: str
    details: tuple[str, ...]
    advice: str


def title(name: str) -> str:
    """Return the title of a score."""
    return create(name).info.title


def plain_text(text: str) -> str:
    """Return text that Markdown and HTML show as it is, on one line.

    >>> plain_text("<img src=x> [a](b) pets_and_toys")
    '&lt;img src=x&gt; &#91;a&#93;(b) pets_and_toys'
    """
    return " ".join(str(text).split()).translate(_SHOWN)


def markdown(*sentences: str) -> str:
    """Return sentences as a list in Markdown, in which names of sets and files are but text.

    >>> markdown("Left out: <b>.png.", "Of *a* & b.")
    '* Left out: &lt;b&gt;.png.\\n* Of &#42;a&#42; &amp; b.'
    """
    return "\n".join(f"* {plain_text(sentence)}" for sentence in sentences)


def render(name: str, /, **numbers) -> list[str]:
    """Return the sentences of a macro of the template, without line breaks."""
    text = getattr(_template().make_module(numbers), name)()
    return [" ".join(paragraph.split()) for paragraph in re.split(r"(?m)^\* ", text)[1:]]


def summary(audit: Audit) -> list[str]:
    """Return five sentences: how right, how sure, what to accept, what it promises, what to do."""
    numbers = facts(audit)
    return [sentence for name in SUMMARY for sentence in render(name, **numbers)]


def write(audit: Audit, name: str) -> list[str]:
    """Return the sentences of one macro about an audit."""
    return render(name, **facts(audit))


def findings(audit: Audit) -> list[Finding]:
    """Return the parts of the report, in the order in which they are read."""
    numbers, present = facts(audit), list(FINDINGS)
    if audit.inputs.production is None:
        present = [name for name in FINDINGS if name not in ("unlabelled", "drift")]
    parts = []
    for name in present:
        heading, sentence, *details, advice = render(f"about_{name}", **numbers)
        parts.append(Finding(name, heading, sentence, tuple(details), advice))
    return parts


def facts(audit: Audit) -> dict:
    """Return what the template looks up: numbers of the audit, and functions that find more."""
    settings, inputs = audit.settings, audit.inputs
    deployed, wish = audit.thresholds.get(audit.deployed), audit.settings["wish"]
    accepted = {} if deployed is None else deployed.ood_accepted
    drawn_scores, drawn_correct = audit.promised_on
    confirmed = audit.confirmed.to_dict("records")
    areas = [row for row in confirmed if row["metric"] == "auroc"]
    ece, claimed = audit.calibration["ece"], float(audit.claimed.mean())
    number = len(audit.samples["validation"])

    def ranked(metric: str, name: str) -> pd.Series:
        rows = audit.ranking[audit.ranking["metric"].eq(metric) & audit.ranking["set"].eq(name)]
        return rows.set_index("score")["value"]

    return {
        "audit": audit,
        "settings": settings,
        "wish": wish,
        "deployed": deployed,
        "images": len(inputs.validation),
        "grouped": inputs.grouped,
        "ood": list(inputs.ood),
        "small_sets": [name for name, part in inputs.ood.items() if len(part) < 2 * LEAST],
        "where": "features" if inputs.validation.features.shape[1] else "logits",
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
        "nearly_all": deployed is not None
        and deployed.wish == "risk"
        and deployed.coverage[0] > NEARLY_ALL,
        "drawn": len(drawn_scores),
        "images_needed": guarantees.images_needed,
        "needed": guarantees.images_needed(settings["risk"], settings["confidence"]),
        "promised_of": lambda rows: [row for row in rows if row.value == row.value],
        "largest_coverage": lambda: math.floor(1e4 * number / (number + 1)) / 100,
        "larger_risk": lambda: guarantees.larger_risk(
            drawn_scores, drawn_correct, risk=settings["risk"], confidence=settings["confidence"]
        ),
        "smaller_risk": lambda: _smaller_risk(
            drawn_scores, drawn_correct, settings["risk"], settings["confidence"]
        ),
        "taken": accepted_unlabelled(audit),
    }


def accepted_unlabelled(audit: Audit) -> tuple[float, float, float] | None:
    """Return which share of the unlabelled images the rejector accepts, if there are both."""
    deployed = audit.thresholds.get(audit.deployed)
    if deployed is None or "production" not in audit.samples:
        return None
    return share(audit.samples["production"] >= deployed.value)


def _smaller_risk(scores, correct, wished: float, confidence: float) -> dict | None:
    """Return the largest risk with which some are rejected, of a few below that of all answers.

    If no such risk can be promised, also how many images it takes, about.
    """
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


@cache
def _template() -> jinja2.Template:
    """Return the template; what a name holds stays on one line, and begins no sentence."""

    def on_one_line(value):
        if isinstance(value, str) and not isinstance(value, Markup):
            return " ".join(value.split()) if "\n" in value else value
        return value

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES), undefined=jinja2.StrictUndefined,
        lstrip_blocks=True, finalize=on_one_line,
    )  # fmt: skip
    environment.filters |= {
        "f": format,
        "pc": lambda value, form=".1f": format(100 * value, form),
        "p_value": lambda value: f"p = {value:.3f}" if value >= 0.001 else "p < 0.001",
        "title": title,
        "whole": Markup,
    }
    return environment.get_template("sentences.jinja")
