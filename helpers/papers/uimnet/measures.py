"""The measures: one record per measure of the paper, and any other score of `helpers.scores`.

The record of a score (`helpers.scores.info`) has its title and its needs.  This module has only
the exceptions of this chapter.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from helpers.checks import known_name
from helpers.papers.uimnet import algorithms


@dataclass(frozen=True)
class MeasureRecord:
    """The facts about a measure that the record of its score does not have.

    Attributes
    ----------
    title : str
        The paper's word.
    most : str
        Name of the parameter that limits the number of images of each set; "" for all images.
    without_dropout : bool
        Whether dropout is switched off for a score that uses the images again.
    density : bool
        Whether an ensemble has the mean over its networks, and not one value for all features.
    """

    title: str
    most: str = ""
    without_dropout: bool = False
    density: bool = False


RECORDS = {
    "msp": MeasureRecord("Largest"),
    "gap": MeasureRecord("Gap"),
    "entropy": MeasureRecord("Entropy"),
    "jacobian": MeasureRecord("Jacobian", most="jacobian_images"),
    "gmm": MeasureRecord("GMM", density=True),
    "tta": MeasureRecord("Augmentations", without_dropout=True),
    "native": MeasureRecord("Native"),
}
"""The paper's measures by the name of their score, in the order of tables and figures."""

MEASURES = {name: record.title for name, record in RECORDS.items()}
"""The title of each measure."""


def checked(name: str) -> str:
    """Return the name of a measure or score; refuse an unknown name with the nearest one."""
    if name in RECORDS:  # the import of all scores takes a while
        return name
    from helpers import scores

    return known_name("measure", name, dict.fromkeys([*RECORDS, *scores.names()]))


def record(name: str) -> MeasureRecord:
    """Return the record of a measure; any other score has the title of its own record.

    >>> record("msp").title, record("knn").title
    ('Largest', 'Nearest neighbours (KNN)')
    """
    if name in RECORDS:
        return RECORDS[name]
    from helpers import scores

    return MeasureRecord(scores.create(name).info.title if name in scores.names() else name)


def titles(names: Iterable[str]) -> dict[str, str]:
    """Return the titles of measures without "": the paper's in its order, then the others.

    >>> titles(["energy", "entropy", "energy", "msp"])
    {'msp': 'Largest', 'entropy': 'Entropy', 'energy': 'Energy'}
    """
    others = dict.fromkeys(filter(None, names))
    order = [name for name in RECORDS if name in others]
    return {name: record(name).title for name in dict.fromkeys([*order, *others])}


def score_of(measure: str, algorithm: str, *, ensemble: bool = False) -> str:
    """Return the name of the score of a measure; "" if an algorithm has no such measure.

    They differ only for Native.

    >>> score_of("native", "erm"), score_of("native", "erm", ensemble=True)
    ('', 'jsd')
    """
    if measure != "native":
        return measure
    return "jsd" if ensemble else algorithms.RECORDS[algorithm].native
