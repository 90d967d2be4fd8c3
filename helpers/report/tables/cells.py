"""What all tables share: how a number is printed, and how a cell names the rows behind it."""

from __future__ import annotations

import os

import pandas as pd
from pandas.io.formats.style import Styler

from helpers.files import atomic_path

PLUS_MINUS = "\N{PLUS-MINUS SIGN}"
MINUS = "\N{MINUS SIGN}"
DELTA = "\N{GREEK CAPITAL LETTER DELTA}"
ABSENT = "\N{EN DASH}"
UP, DOWN = "\N{UPWARDS ARROW}", "\N{DOWNWARDS ARROW}"
TIMES = "\N{MULTIPLICATION SIGN}"
LAYOUT = [
    {"selector": "", "props": "font-size: 0.8em; font-variant-numeric: tabular-nums;"},
    {"selector": "td, thead th", "props": "white-space: nowrap; text-align: right;"},
    {"selector": "thead tr:first-child th", "props": "text-align: center;"},
    {"selector": "td, th", "props": "padding: 0.2em 0.35em;"},
    {"selector": "caption", "props": "caption-side: bottom; text-align: left;"},
]
_LATEX = {
    "_": r"\_", "%": r"\%", "&": r"\&", "#": r"\#", PLUS_MINUS: r"$\pm$", MINUS: "$-$",
    DELTA: r"$\Delta$", ABSENT: "--", UP: r"$\uparrow$", DOWN: r"$\downarrow$",
    TIMES: r"$\times$",
}  # fmt: skip


def number(value: float, pattern: str) -> str:
    """Return a number as text, a missing one as a dash.

    Examples
    --------
    >>> number(-0.25, "+.1f"), number(float("nan"), "+.1f")
    ('−0.2', '–')
    """
    return ABSENT if pd.isna(value) else format(value, pattern).replace("-", MINUS)


def mean_and_std(mean: float, std: float, pattern: str = ".3f") -> str:
    """Return mean ± standard deviation, or the mean alone where one run has no deviation.

    Examples
    --------
    >>> mean_and_std(0.8136, 0.0123), mean_and_std(81.36, float("nan"), ".2f")
    ('0.814 ± 0.012', '81.36')
    """
    shown = number(mean, pattern)
    return shown if pd.isna(std) else f"{shown} {PLUS_MINUS} {number(std, pattern)}"


def latex_text(text: str) -> str:
    """Return `text` with what LaTeX would misread replaced."""
    for plain, latex in _LATEX.items():
        text = text.replace(plain, latex)
    return text


def traced(styled: Styler, rows: pd.DataFrame) -> Styler:
    """Let a cell show, under the pointer, the rows of the results table behind it."""
    rows = rows.reindex(index=styled.index, columns=styled.columns)
    text = rows.map(lambda names: "" if pd.isna(names) else f"rows {names}")
    return styled.set_tooltips(text, as_title_attribute=True)


def write_latex(shown: pd.DataFrame, path: str | os.PathLike, *, caption: str, label: str) -> None:
    """Write a table for LaTeX (needs the package booktabs); its cells are LaTeX already."""
    shown = shown.rename(index=latex_text, columns=latex_text)
    latex = (
        Styler(shown)
        .hide(names=True)
        .to_latex(
            hrules=True,
            caption=latex_text(caption),
            label=f"tab:{label}",
            position_float="centering",
            column_format="l" * shown.index.nlevels + "r" * len(shown.columns),
            multirow_align="naive",  # anything else needs one more package
            multicol_align="c",
        )
    )
    with atomic_path(path) as temporary:
        temporary.write_text(latex, encoding="utf-8")
