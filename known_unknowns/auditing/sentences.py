"""Sentences and pages from ``templates``, and text that Markdown and HTML show as it is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from html import escape
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING

import jinja2
from markupsafe import Markup

from helpers import __version__
from helpers.files import atomic_path
from helpers.scores import create
from known_unknowns.auditing.units import IMAGE, of_unit

if TYPE_CHECKING:
    from known_unknowns.auditing.thresholds import Guaranteed

TEMPLATES = Path(__file__).parent / "templates"
_TAG = re.compile(r"(\{%.*?%\}|\{\{.*?\}\}|\{#.*?#\})", re.DOTALL)
_SHOWN = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;"} | {sign: f"&#{ord(sign)};" for sign in "\\`*[]|$"}
)  # signs with a meaning in HTML or Markdown


def title(name: str) -> str:
    """Return the title of a score."""
    return create(name).info.title


def plain_text(text: str) -> str:
    """Return text, on one line, that Markdown and HTML show as it is.

    >>> plain_text("<img src=x> [a](b) pets_and_toys")
    '&lt;img src=x&gt; &#91;a&#93;(b) pets_and_toys'
    """
    return " ".join(str(text).split()).translate(_SHOWN)


def markdown(*sentences: str) -> str:
    """Return sentences as a Markdown list; names are plain text, text between backticks is code.

    >>> markdown("Call `--share 0.5` for <b>.")
    '* Call `--share 0.5` for &lt;b&gt;.'
    """
    texts = [re.sub("&#96;([^&]*)&#96;", r"`\1`", plain_text(each)) for each in sentences]
    return "\n".join(f"* {text}" for text in texts)


def to_html(sentence: str) -> Markup:
    """Return a sentence as HTML; text between backticks is code.

    >>> to_html("Call `f` for <b>.")
    Markup('Call <code>f</code> for &lt;b&gt;.')
    """
    sentence = escape(sentence).replace(" %", "&nbsp;%")
    if sentence.count("`") % 2 == 0:  # else a name contains a backtick
        sentence = re.sub("`([^`]*)`", r"<code>\1</code>", sentence)
    return Markup(sentence)


class _Templates(jinja2.FileSystemLoader):
    """Templates in the words of a unit; names in the data stay."""

    def __init__(self, unit: str) -> None:
        super().__init__(TEMPLATES)
        self.unit = unit

    def get_source(self, environment: jinja2.Environment, template: str) -> tuple:
        """Return a template's text, path and a function that finds changes of the file."""
        text, *rest = super().get_source(environment, template)
        parts = _TAG.split(text)
        parts[::2] = [of_unit(part, self.unit) for part in parts[::2]]
        parts[1::2] = [re.sub('"[^"]*"', self._literal, part) for part in parts[1::2]]
        return "".join(parts), *rest

    def _literal(self, match: re.Match) -> str:
        """Return a text in a tag; it is a part of a sentence if it has several words."""
        return of_unit(match[0], self.unit) if " " in match[0] else match[0]


def render(name: str, /, unit: str = IMAGE, **numbers) -> list[str]:
    """Return the sentences of a macro of the template, without line breaks.

    `unit` is the noun for one row of data.
    """
    environment = _environment(unit, finalize=_on_one_line)
    template = environment.get_template("sentences.jinja")
    text = getattr(template.make_module(numbers | {"unit": unit}), name)()
    return [" ".join(paragraph.split()) for paragraph in re.split(r"(?m)^\* ", text)[1:]]


def write_page(path: Path, unit: str, **data) -> None:
    """Write the report as one file; a policy forbids connections and scripts."""
    style = Markup((TEMPLATES / "report.css").read_text(encoding="utf-8"))
    page = _environment(unit, autoescape=True, trim_blocks=True).get_template("report.html")
    with atomic_path(path) as temporary:
        text = page.render(style=style, version=__version__, **data)
        temporary.write_text(text, encoding="utf-8")


def _on_one_line(value):
    """Return text without line breaks, so that a name cannot begin a sentence."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return " ".join(value.split()) if "\n" in value else value
    return value


def _per_cent(value: float, form: str = ".1f") -> str:
    """Return a share in per cent."""
    return format(100 * value, form)


def _aurc(value: float) -> str:
    """Return an AURC in per cent, with another decimal if it is below 1 %."""
    return _per_cent(value, ".1f" if value >= 0.01 else ".2f")


def _p_value(value: float) -> str:
    """Return a p-value in words."""
    return f"p = {value:.3f}" if value >= 0.001 else "p < 0.001"


def _guaranteed(rows: Sequence[Guaranteed]) -> list[Guaranteed]:
    """Return the rows that have a threshold, which is not NaN."""
    return [row for row in rows if not isnan(row.value)]


@cache
def _environment(unit: str, **options) -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=_Templates(unit),
        undefined=jinja2.StrictUndefined,
        lstrip_blocks=True,
        **options,
    )
    environment.filters |= {
        "aurc": _aurc,
        "f": format,
        "pc": _per_cent,
        "p_value": _p_value,
        "guaranteed": _guaranteed,
        "sentence": to_html,
        "title": title,
        "whole": Markup,
    }
    return environment
