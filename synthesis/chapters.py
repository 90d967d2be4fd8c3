"""The book's chapters: the papers, and the chapters that extend them."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from helpers.checks import known_name
from helpers.papers import PAPERS, Paper
from synthesis import across

if TYPE_CHECKING:
    from helpers.papers.parameters import Parameters

#: The records of all chapters that have results, in the order of the book, by name.
CHAPTERS: dict[str, Paper] = {**PAPERS, across.PAPER.name: across.PAPER}


#: Packages with parameters and notebooks that are not chapters with claims.
OTHERS = {"audit": "synthesis.audit", "without_labels": "synthesis.without_labels"}

#: Notebooks of the synthesis about the results of all papers.
ABOUT_ALL = ("ledger", "published")

#: The chapter whose parameter files, networks and results table a package uses.
PARAMETERS_OF = {"without_labels": "gscore"}


def package_of(chapter: str) -> str:
    """Return the package that has the modules of a chapter or of `OTHERS`.

    Examples
    --------
    >>> package_of("uimnet"), package_of("audit")
    ('helpers.papers.uimnet', 'synthesis.audit')
    """
    return CHAPTERS[chapter].package if chapter in CHAPTERS else OTHERS[chapter]


def load(chapter: str, tier: str, *, root: Path | None = None, **given) -> Parameters:
    """Return the parameters of a chapter or of `OTHERS`, as `helpers.papers.load` does."""
    known_name("paper", chapter, [*CHAPTERS, *OTHERS])
    kind = import_module(f"{package_of(chapter)}.parameters").Parameters
    return kind.at_tier(PARAMETERS_OF.get(chapter, chapter), tier, root=root, **given)
