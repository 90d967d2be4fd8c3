"""Claims from a paper's file in ``synthesis/claims``, one line per effect.

An effect is ``NAME: METRIC of METHOD - METRIC of METHOD < MARGIN``, with one term or several.  A
metric is ``ece``, ``aurc@union`` on a test set other than ``test``, or ``ece after`` scaling.
A mapping with the line as ``effect`` may have ``decides: false``, and ``over``: names with keys.
Then there is an effect for each combination of the keys.  ``{name}`` in the line becomes the title
of the key, and ``{name.id}`` the key itself.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import yaml

from synthesis.effects import Claim, Effect, Term

_EFFECT = re.compile(r"(.+): (.+) (<|>|>=) (-?[\d.]+)")
_TERM = re.compile(r"(\w+)(?: (\w+))?(?:@(.+?))? of (.+)")


class _Title(str):
    """A title that knows its key."""

    id: str


def read_claims(file: Path, **titles: Mapping[str, str]) -> tuple[Claim, ...]:
    """Return the claims of a file."""
    claims = []
    for record in yaml.safe_load(file.read_text(encoding="utf-8"))["claims"]:
        record["effects"] = _effects(record["effects"], titles)
        tuples = {name: tuple(record.get(name, ())) for name in ("effects", "about", "names")}
        claims.append(Claim(**record | tuples))
    return tuple(claims)


def _effects(records: list, titles: Mapping[str, Mapping[str, str]]) -> Iterator[Effect]:
    for record in records:
        record = {"effect": record} if isinstance(record, str) else record
        over = record.get("over", {})
        choices = [_titles(keys, titles.get(name)) for name, keys in over.items()]
        for chosen in itertools.product(*choices):
            line = record["effect"].format(**dict(zip(over, chosen, strict=True)))
            yield _effect(line, record.get("decides", True))


def _titles(keys: list[str] | str, titles: Mapping[str, str] | None) -> list[_Title]:
    if isinstance(keys, str):
        left_out = keys.removeprefix("not ")
        if titles is None or left_out not in (*titles, "all"):
            raise ValueError(f"over: a list, 'all' or 'not KEY' expected, got {keys!r}")
        keys = [key for key in titles if key != left_out]
    chosen = [_Title(titles[key] if titles else key) for key in keys]
    for title, key in zip(chosen, keys, strict=True):
        title.id = key
    return chosen


def _effect(line: str, decides: bool) -> Effect:
    parts = _EFFECT.fullmatch(line)
    terms = [_TERM.fullmatch(text) for text in parts[2].split(" - ")] if parts else [None]
    if None in terms:
        raise ValueError(f"effect: 'NAME: METRIC of METHOD < MARGIN' expected, got {line!r}")
    signed = tuple(
        Term(-1 if index else 1, term[4], term[1], term[2] or "", term[3] or "test")
        for index, term in enumerate(terms)
    )
    return Effect(parts[1], signed, parts[3], float(parts[4]), decides)
