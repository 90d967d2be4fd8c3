"""The measures: the paper's own, each in one record, and any other score of `helpers.scores`.

What a score needs and what it is called is in its own record (`helpers.scores.info`); here is only
what this chapter does with it otherwise than with any.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from helpers.checks import known_name
from helpers.papers.uimnet import algorithms


@dataclass(frozen=True)
class MeasureRecord:
    """What there is to know about a measure of the paper, beside what its score says itself.

    Attributes
    ----------
    title : str
        The paper's word for it.
    most : str
        The parameter that says of how many images of each set it is computed; "" for all.
    without_dropout : bool
        Of images, and had where dropout is at work too: it is then left out.
    density : bool
        Of an ensemble the mean of what it is of each network, and not of all features together.
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
"""The paper's measures, by the names of their scores, in the order in which they are shown."""

MEASURES = {name: one.title for name, one in RECORDS.items()}
"""How they are called."""


def checked(name: str) -> str:
    """Return the name of a measure: one of the paper's, or any score.

    Raises
    ------
    ValueError
        There is none; says which is nearest.
    """
    if name in RECORDS:  # without the scores, which take a while to import
        return name
    from helpers import scores

    return known_name("measure", name, dict.fromkeys([*RECORDS, *scores.names()]))


def record(name: str) -> MeasureRecord:
    """Return the record of a measure; what is not the paper's has its score's title.

    Examples
    --------
    >>> record("msp").title, record("knn").title
    ('Largest', 'Nearest neighbours (KNN)')
    """
    if name in RECORDS:
        return RECORDS[name]
    from helpers import scores

    return MeasureRecord(scores.create(name).info.title if name in scores.names() else name)


def titles(names: Iterable[str]) -> dict[str, str]:
    """Return what measures are called: the paper's in its order, then others as they come.

    In-domain numbers, whose measure is "", have none.

    Examples
    --------
    >>> titles(["energy", "entropy", "energy", "msp"])
    {'msp': 'Largest', 'entropy': 'Entropy', 'energy': 'Energy'}
    """
    found = dict.fromkeys(filter(None, names))
    own = [one for one in RECORDS if one in found]
    return {one: record(one).title for one in dict.fromkeys([*own, *found])}


def score_of(measure: str, algorithm: str, *, ensemble: bool = False) -> str:
    """Return the name of the score that a measure is; "" where an algorithm has no such one.

    They differ for Native alone: of an ensemble, and of MC-Dropout, it is the Jensen-Shannon
    divergence, and some algorithms have none.

    Examples
    --------
    >>> score_of("native", "erm"), score_of("native", "erm", ensemble=True)
    ('', 'jsd')
    >>> score_of("native", "rnd"), score_of("gap", "rnd")
    ('native', 'gap')
    """
    if measure != "native":
        return measure
    return "jsd" if ensemble else algorithms.RECORDS[algorithm].native
