"""The papers, one folder each.

A paper's folder contains its record ``PAPER`` (in ``__init__.py``, which loads nothing else) and
modules with the same names in all papers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

from helpers.files import project_root

__all__ = ["PAPERS", "REHEARSAL", "TIERS", "Paper", "load"]

#: From the smallest to the largest; ``pretrained`` evaluates published networks.
TIERS = ("mini", "small", "pretrained", "paper")

#: The tier that runs every step of ``paper`` on generated images; its numbers mean nothing.
REHEARSAL = "rehearsal"


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
    """A paper's record; its modules are attributes, imported at the first use."""

    name: str  # of its folders, parameter files and rows
    order: int  # in the book
    title: str
    heading: str  # of the chapter
    key: str = ""  # BibTeX key
    # the paper's data set, test set or network nearest to each of ours
    data_sets: Mapping[str, str] = field(default_factory=dict)
    test_sets: Mapping[str, str] = field(default_factory=dict)
    networks: Mapping[str, str] = field(default_factory=dict)
    # our test sets that replace one of the paper's, in words
    stand_ins: Mapping[str, str] = field(default_factory=dict)
    beside: str = ""  # function of `tables` that selects rows to compare; "": the primary variant
    metrics: Sequence[str] = ()  # functions of `helpers.metrics` that the paper reports
    networks_of: str = ""  # the paper whose trained networks are used
    package: str = ""  # of its modules; by default the folder of its name here

    def __post_init__(self):
        if not self.package:
            object.__setattr__(self, "package", f"{__name__}.{self.name}")

    parameters = _module("parameters")
    roles = _module("roles")
    experiment = _module("experiment")
    tables = _module("tables")

    @property
    def published_as(self) -> dict[str, str]:
        """The paper's name of each of our data sets and test sets."""
        return {**self.data_sets, **self.test_sets}

    def headline(self):
        """Return the main table of the largest tier with committed results."""
        from helpers.tables import results

        for tier in reversed(TIERS):
            file = project_root() / "results" / tier / f"{self.name}.parquet"
            if file.exists():
                parameters = self.parameters.Parameters.at_tier(self.name, tier)
                return self.tables.main_table(results.read(file), parameters)
        raise FileNotFoundError(f"results/*/{self.name}.parquet: no tier has committed results")

    def rows_beside(self, table) -> list[tuple]:
        """Return the rows of a results table to compare with printed numbers, with `networks`."""
        if self.beside:
            return getattr(self.tables, self.beside)(table)
        return [(table[table["variant"] == "primary"], self.networks)]


_RECORDS = (
    import_module(f"{__name__}.{file.parent.name}").PAPER
    for file in Path(__file__).parent.glob("*/__init__.py")
)
#: The records in the order of the book, by name.
PAPERS: dict[str, Paper] = {
    paper.name: paper for paper in sorted(_RECORDS, key=lambda paper: paper.order)
}
