"""Sentences from ``templates/sentences.jinja``, and text that Markdown and HTML show as it is."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import jinja2
from markupsafe import Markup

from helpers.scores import create

TEMPLATES = Path(__file__).parent / "templates"
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
    """Return sentences as a Markdown list, in which names of sets and files are plain text."""
    return "\n".join(f"* {plain_text(sentence)}" for sentence in sentences)


def render(name: str, /, **numbers) -> list[str]:
    """Return the sentences of a macro of the template, without line breaks."""
    text = getattr(_template().make_module(numbers), name)()
    return [" ".join(paragraph.split()) for paragraph in re.split(r"(?m)^\* ", text)[1:]]


def _on_one_line(value):
    """Return text without line breaks, so that a name cannot begin a sentence."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return " ".join(value.split()) if "\n" in value else value
    return value


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES), undefined=jinja2.StrictUndefined,
        lstrip_blocks=True, finalize=_on_one_line,
    )  # fmt: skip
    environment.filters |= {
        "f": format,
        "pc": lambda value, form=".1f": format(100 * value, form),
        "points": lambda value: f"{100 * value:+.1f}".replace("-", "−"),
        "p_value": lambda value: f"p = {value:.3f}" if value >= 0.001 else "p < 0.001",
        "title": title,
        "whole": Markup,
    }
    return environment.get_template("sentences.jinja")
