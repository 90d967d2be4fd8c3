"""One record per metric, in ``records.yaml``, from which the book's page of metrics is made."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field

from helpers.checks import known_name
from helpers.files import content_of

#: Possible kinds of an argument of a metric.
KINDS = {
    "group": "scores of a group of images, of its own length; known images come first",
    "scores": "a score of each image, higher = more likely right or known",
    "shares": "a number in [0, 1] of each image",
    "correct": "whether each image is classified correctly",
    "probabilities": "rows of numbers in [0, 1] that sum to 1, one of each image",
    "rows": "the same, of an open-set model: rows that sum to at most 1",
    "unknown": "what is missing to 1 in each of these rows",
    "labels": "the class of each image, 0 to K − 1",
    "open labels": "the same, or −1 for an unknown class",
    "answers": "what the model says, in numbers as these",
    "number": "a number, such as a threshold",
}


@dataclass(frozen=True)
class MetricInfo:
    """Record of a metric.

    Attributes
    ----------
    name : str
        The function's name in `helpers.metrics`.
    title : str
        The full name in prose.
    equation : str
        LaTeX, without delimiters.
    range : str
        The values that it can take, as an interval.
    convention : str
        One sentence: the conditions under which two numbers can be compared.
    key : str
        BibTeX key of the source.
    better : str
        ``"lower"``, ``"higher"``, or ``""`` if neither is better (a curve, a threshold).
    takes : mapping of str to str
        Name of each required argument, and its kind, from `KINDS`.
    """

    name: str
    title: str
    equation: str
    range: str
    convention: str
    key: str
    better: str = ""
    takes: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self):
        for kind in self.takes.values():
            known_name("kind of argument", kind, KINDS)
        if self.better not in ("lower", "higher", ""):
            raise ValueError(f"better: 'lower', 'higher' or '' expected, got {self.better!r}")


@functools.cache
def read() -> list[MetricInfo]:
    """Return the records of all metrics, in the order of the book's page."""
    return [MetricInfo(**record) for record in content_of(__file__)]
