"""The papers, one folder each.

A paper's folder holds its record ``PAPER`` (in ``__init__.py``, which loads nothing else) and
modules with the same names in all papers.  The ledger, the book's contents and the README use
`PAPERS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from helpers.files import project_root

if TYPE_CHECKING:
    import pandas as pd

    from helpers.report.table import Table

__all__ = ["PAPERS", "REHEARSAL", "TIERS", "Paper", "load"]

TIERS = ("mini", "small_cpu", "frozen", "small", "pretrained", "paper")
"""From the smallest to the largest; ``frozen`` trains heads on features of a network of ImageNet,
and ``pretrained`` evaluates published networks."""

REHEARSAL = "rehearsal"
"""The tier that runs every step of ``paper`` on generated images; its numbers mean nothing."""


def __getattr__(name: str) -> object:
    """Return `helpers.papers.parameters.load`, imported at the first use."""
    if name == "load":
        return import_module(f"{__name__}.parameters").load
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _module(name: str) -> property:
    """Return a property that imports a module of the paper's folder at the first use."""
    return property(lambda paper: import_module(f"{paper.package}.{name}"))


@dataclass(frozen=True)
class Paper:
    """A paper's record; its modules are attributes, imported at the first use.

    Attributes
    ----------
    name, order : str and int
        Name of its folders, parameter files and rows; its place in the book.
    title, heading, key : str
        Title of the paper, heading of the chapter, BibTeX key.
    main_claim, claims_heading : str
        Id of the main claim ("" without claims), and heading of the page's claims.
    data_sets, test_sets, networks : mapping of str to str
        The paper's data set, test set or network nearest to each of ours; other test sets have the
        same name in the paper, if it has them.
    stand_ins : mapping of str to str
        Our test sets in place of one of the paper's, in words.
    beside : str
        The function of `tables` that selects rows for comparison; "": the primary variant.
    metrics : tuple of str
        The functions of `helpers.metrics` that the paper reports.
    networks_of : str
        The paper whose trained networks are used.
    about_all : tuple of str
        The chapter's notebooks about the results of all papers.
    package : str
        The package of its modules; by default the folder of its name here.
    """

    name: str
    order: int
    title: str
    heading: str
    key: str = ""
    main_claim: str = ""
    claims_heading: str = "The paper's sentences"
    data_sets: Mapping[str, str] = field(default_factory=dict)
    test_sets: Mapping[str, str] = field(default_factory=dict)
    stand_ins: Mapping[str, str] = field(default_factory=dict)
    networks: Mapping[str, str] = field(default_factory=dict)
    beside: str = ""
    metrics: tuple[str, ...] = ()
    networks_of: str = ""
    about_all: tuple[str, ...] = ()
    package: str = ""

    def __post_init__(self):
        if not self.package:
            object.__setattr__(self, "package", f"{__name__}.{self.name}")

    parameters = _module("parameters")
    roles = _module("roles")
    experiment = _module("experiment")
    claims = _module("claims")
    tables = _module("tables")

    @property
    def published_as(self) -> dict[str, str]:
        """The paper's name of each of our data sets and test sets."""
        return {**self.data_sets, **self.test_sets}

    def headline(self) -> Table:
        """Return the main table of the largest tier with committed results."""
        from helpers.report import results

        for tier in reversed(TIERS):
            file = project_root() / "results" / tier / f"{self.name}.parquet"
            if file.exists():
                parameters = self.parameters.Parameters.at_tier(self.name, tier)
                return self.tables.main_table(results.read(file), parameters)
        raise FileNotFoundError(f"results/*/{self.name}.parquet: no tier has committed results")

    def rows_beside(self, table: pd.DataFrame) -> list[tuple[pd.DataFrame, Mapping[str, str]]]:
        """Return the rows of a results table to compare with printed numbers, with `networks`."""
        if self.beside:
            return getattr(self.tables, self.beside)(table)
        return [(table[table["variant"] == "primary"], self.networks)]


_RECORDS = (
    import_module(f"{__name__}.{file.parent.name}").PAPER
    for file in Path(__file__).parent.glob("*/__init__.py")
)
PAPERS: dict[str, Paper] = {
    paper.name: paper for paper in sorted(_RECORDS, key=lambda paper: paper.order)
}
"""The records in the order of the book, by name."""
