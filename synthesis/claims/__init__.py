"""The papers' claims: a module for each paper, with `CLAIMS` and the numbers that they need."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from synthesis.verdicts import Claims


def load_claims(paper: str) -> Claims:
    """Return the claims of a paper, given by its name in `helpers.papers.PAPERS`."""
    return import_module(f"{__name__}.{paper}").CLAIMS
