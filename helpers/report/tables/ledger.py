"""The ledger of claims as a list that is read on a phone as well as on a wide page."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

import pandas as pd

from helpers.report.claims import Verdict
from helpers.report.table import MINUS, number

_MARKS = {
    Verdict.SUPPORTED: ("\N{CHECK MARK}", "#0173b2"),
    Verdict.CONTRADICTED: ("\N{MULTIPLICATION X}", "#d55e00"),
    Verdict.UNDECIDED: ("?", "#888888"),
    Verdict.NOT_TESTABLE: ("\N{EMPTY SET}", "#88888844"),
    Verdict.NO_DATA: ("\N{EN DASH}", "#88888844"),
}
# Colours of lines only: text keeps the colour that the page's light or dark theme gives it.
_STYLE = """<style>
.ledger details { border-top: 1px solid #88888866; padding: 0.4em 0; }
.ledger summary { cursor: pointer; }
.ledger .verdict { display: inline-block; border: 1px solid #88888866; border-radius: 0.3em;
  border-left-width: 0.5em; padding: 0 0.4em; margin: 0.15em 0.3em 0.15em 0;
  font-size: 0.8em; white-space: nowrap; }
.ledger .verdicts { display: block; }
.ledger p, .ledger li { font-size: 0.9em; margin: 0.3em 0; }
.ledger ul { padding-left: 1.2em; margin: 0; }
</style>"""


def ledger_html(found: pd.DataFrame, *, titles: Mapping[str, str], root: str = "../..") -> str:
    """Return a ledger as HTML: a line for each claim with its verdicts, the numbers below it.

    Verdicts are told by a mark, a word and a colour; what a claim is checked by unfolds when its
    line is touched.
    """
    if found.empty:
        raise ValueError("found: empty")
    parts = [_STYLE, '<div class="ledger">']
    for paper, own in found.groupby("paper", sort=False):
        parts.append(f"<h3>{escape(titles[paper])}</h3>")
        parts += [_claim(rows, root) for _, rows in own.groupby("claim", sort=False)]
    return "\n".join([*parts, "</div>"])


def _claim(rows: pd.DataFrame, root: str) -> str:
    first = rows.iloc[0]
    verdicts = "".join(_verdict(row) for row in rows.itertuples())
    lines = "\n".join(f"<li>{_line(row, root)}</li>" for row in rows.itertuples())
    needs = f" Needs {escape(first['needs'])}." if first["needs"] else ""
    return (
        f'<details><summary>{escape(first["text"])} <span class="verdicts">{verdicts}</span>'
        f"</summary>\n<p>{escape(first['source'])}. Supported if {escape(first['check'])}.{needs}"
        "</p>\n"
        f"<ul>\n{lines}\n</ul></details>"
    )


def _verdict(row) -> str:
    mark, colour = _MARKS[row.verdict]
    return (
        f'<span class="verdict" style="border-left-color: {colour}">{escape(row.tier)}: '
        f"{mark} {row.verdict}</span>"
    )


def _line(row, root: str) -> str:
    """Return what a tier's numbers say to a claim, with a link to where they are shown."""
    text = f"<b>{escape(row.tier)}</b>: {row.verdict}"
    if pd.notna(row.effect):
        expected = f"claimed {row.relation} {row.margin:g}".replace("-", MINUS)
        of = "" if row.effects == 1 else f", one of {row.effects} effects"
        second = f", {escape(row.second)}" if row.second else ""
        text += f". {escape(row.decided_by)}: {_effect(row)}{second}, {escape(expected)}{of}"
    if row.runs:
        text += f"; {row.runs} run{'s' if row.runs > 1 else ''}"
        text += f" of {row.models}" if row.models else ""
    if row.caveat:
        text += f"; <i>{escape(row.caveat)}</i>"
    if row.note:
        text += f" ({escape(row.note)})"
    if pd.isna(row.effect):
        return f"{text}."
    return f'{text}. <a href="{root}/{row.notebook}.html#{row.anchor}">In the chapter</a>'


def _effect(row) -> str:
    interval = f" [{number(row.low, '+.3f')}, {number(row.high, '+.3f')}]"
    return number(row.effect, "+.3f") + (interval if pd.notna(row.low) else "")
