"""Ten findings: a sentence about the committed results, its scope and the command that prints it.

>>> from synthesis import findings
>>> findings.find("temperature").title
'Temperature scaling leaves the open-set gap open'
"""

from __future__ import annotations

from typing import Any, NamedTuple

import pandas as pd

from helpers import scores
from helpers.checks import known_name
from helpers.files import content_of, project_root
from helpers.papers.uimnet import names
from synthesis import front
from synthesis.across.measures import ALGORITHMS
from synthesis.findings.effects import EFFECTS, Numbers, Read, without_sign

#: Titles of the ways of training of all chapters.
TRAININGS = names.ALGORITHMS | ALGORITHMS
#: The texts of each finding, by name, in the order of the page.
TEXTS = content_of(__file__, "texts")


_WORDS = "zero one two three four five six seven eight nine ten".split()


class Finding(NamedTuple):
    """A finding: its numbers, and the sentence with them."""

    name: str
    title: str
    sentence: str
    scope: str
    numbers: Numbers

    @property
    def command(self) -> str:
        """The command that computes the numbers again."""
        return f"python -m synthesis.findings {self.name}"


def committed(name: str, **where) -> pd.DataFrame:
    """Return the rows of a committed table with these values in some columns.

    The table is ``TIER/NAME`` in `results`, or ``front``: the numbers of the front picture.
    """
    if name == "front":
        return front.table()
    several = {
        column: [value] if isinstance(value, str) else value for column, value in where.items()
    }
    filters = [(column, "in", values) for column, values in several.items()]
    return pd.read_parquet(project_root() / "results" / f"{name}.parquet", filters=filters)


def in_words(value: Any) -> Any:
    """Return the titles of names, and a small count as a word; other values as they are.

    >>> in_words("fdbd"), in_words(["gen", "fdbd"]), in_words(7), in_words(27), in_words(7.0)
    ('fDBD', 'GEN and fDBD', 'seven', 27, 7.0)
    """
    if isinstance(value, str):
        return short_title(value)
    if isinstance(value, list):
        return " and ".join(map(short_title, value))
    small = isinstance(value, int) and value < len(_WORDS)
    return _WORDS[value] if small else value


def short_title(name: str) -> str:
    """Return the abbreviation or the title of a score or of a way of training.

    >>> [short_title(name) for name in ("nci", "max_logit", "baseline")]
    ['NCI', 'MaxLogit', 'Baseline']
    """
    if name in TRAININGS:
        return TRAININGS[name].partition(" (")[0]
    title = scores.create(name).info.title
    return title.partition("(")[2].rstrip(")") or title.removesuffix(" distance")


def find(name: str, read: Read = committed) -> Finding:
    """Compute a finding.

    Raises
    ------
    ValueError
        An unknown name; or the interval of an effect that the sentence states includes zero.
    """
    texts = TEXTS[known_name("finding", name, TEXTS)]
    numbers = EFFECTS[name](read)
    if unclear := without_sign(numbers, texts["effects"]):
        effect = unclear[0]
        raise ValueError(
            f"{name}: the results do not show it, since the interval of {effect} includes zero: "
            f"{numbers[effect]:.3g}; change the sentence in synthesis/findings/texts.yaml"
        )
    words = {key: in_words(value) for key, value in numbers.items()}
    sentence, scope = (texts[part].format_map(words) for part in ("sentence", "scope"))
    return Finding(name, texts["title"], sentence, scope, numbers)
