"""One record per metric, in ``records.yaml``, from which the book's page of metrics is made."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class MetricInfo:
    """What there is to know about a metric.

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
        One sentence: what decides whether two numbers can be compared.
    key : str
        BibTeX key of the source.
    better : str
        ``"lower"``, ``"higher"``, or ``""`` where neither is better (a curve, a threshold).

    Raises
    ------
    ValueError
        `better` is none of the values above.
    """

    name: str
    title: str
    equation: str
    range: str
    convention: str
    key: str
    better: str = ""

    def __post_init__(self):
        if self.better not in ("lower", "higher", ""):
            raise ValueError(f"better: 'lower', 'higher' or '' expected, got {self.better!r}")


@functools.cache
def read() -> list[MetricInfo]:
    """Return the records of all metrics, in the order of the book's page."""
    import yaml  # who computes needs no record

    text = Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8")
    return [MetricInfo(**record) for record in yaml.load(text, yaml.CSafeLoader)]
