"""The papers, a folder each: what each of them is, said once, and what is found by it.

A paper's folder holds its record ``PAPER`` (in ``__init__.py``, which loads nothing else), and
modules of the same names in all papers.  Whatever goes through all papers, such as the ledger, the
book's contents or the README, goes through `PAPERS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from helpers.files import project_root

if TYPE_CHECKING:
    import pandas as pd

    from helpers.report.table import Table

__all__ = ["PAPERS", "REHEARSAL", "TIERS", "Paper", "load"]

TIERS = ("mini", "small_cpu", "frozen", "small", "pretrained", "paper")
"""From the smallest to the largest; ``frozen`` trains heads on the features of a network of
ImageNet, and ``pretrained`` judges networks that others have trained."""

REHEARSAL = "rehearsal"
"""The tier that goes every way of ``paper`` with made-up images: it ends well, and says nothing."""


def __getattr__(name: str) -> object:
    """Return `helpers.papers.parameters.load`, imported when asked for: it takes as long as all."""
    if name == "load":
        return import_module(f"{__name__}.parameters").load
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _module(name: str) -> property:
    """Return a property that imports a module of the paper's folder when it is asked for."""
    return property(lambda paper: import_module(f"{paper.package}.{name}"))


@dataclass(frozen=True)
class Paper:
    """A paper's record.

    Its modules `parameters`, `roles`, `experiment`, `claims`, `tables` and `figures` are attributes
    that are imported when they are first used.

    Attributes
    ----------
    name : str
        What its folders, its parameter files and the results table call it.
    order : int
        Its place in the book.
    title : str
        The paper's title.
    heading : str
        The chapter's.
    key : str
        BibTeX key in the book's bibliography.
    main_claim : str
        The claim that is its main finding; "" for a chapter about all papers, which has no claims.
    claims_heading : str
        The heading of the chapter's figures below which the claims are judged.
    data_sets, test_sets, networks : mapping of str to str
        Which of the paper's data sets, test sets and networks each of ours is, or is nearest to:
        the printed number that ours is set beside.  A test set that is not named is the paper's of
        the same name, if there is one.
    stand_ins : mapping of str to str
        Which of these test sets of ours are in place of the paper's and no part of it, in words.
    beside : str
        The function of `tables` that picks, from a results table, rows that the paper prints the
        like of, with their networks as in `networks`; "": the rows of the primary variant.
    metrics : tuple of str
        The functions of `helpers.metrics` that the paper reports.
    networks_of : str
        The paper whose trained networks are taken, rather than trained a second time.
    about_all : tuple of str
        The chapter's notebooks that read the results of all papers.
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
    figures = _module("figures")

    @property
    def published_as(self) -> dict[str, str]:
        """What stands for what, data sets and test sets together."""
        return {**self.data_sets, **self.test_sets}

    def headline(self) -> Table:
        """Return the main table of the largest tier whose results are committed.

        Raises
        ------
        FileNotFoundError
            There are none.
        """
        from helpers.papers.parameters import load_as
        from helpers.report import results

        for tier in reversed(TIERS):
            file = project_root() / "results" / tier / f"{self.name}.parquet"
            if file.exists():
                return self.tables.main_table(
                    results.read(file), load_as(self.parameters.Parameters, self.name, tier)
                )
        raise FileNotFoundError(f"results/*/{self.name}.parquet: no tier has committed results")

    def rows_beside(self, table: pd.DataFrame) -> list[tuple[pd.DataFrame, Mapping[str, str]]]:
        """Return the rows of a results table that the paper prints the like of, with `networks`."""
        if self.beside:
            return getattr(self.tables, self.beside)(table)
        return [(table[table["variant"] == "primary"], self.networks)]


_FOUND = (
    import_module(f"{__name__}.{one.name}").PAPER for one in iter_modules(__path__) if one.ispkg
)
PAPERS: dict[str, Paper] = {
    paper.name: paper for paper in sorted(_FOUND, key=lambda paper: paper.order)
}
"""The records in the order of the book, by name."""
