"""Names of algorithms, measures and networks in the results table; see `tables.yaml`.

``params/<tier>/uimnet.yaml`` has, for each algorithm, its changes of the recipe, the
hyper-parameters of trial 0 and the laws of the other trials.
"""

from collections.abc import Iterable
from typing import NamedTuple

from helpers.checks import known_name
from helpers.files import content_of
from helpers.networks.recipe import SPECTRAL_FORMS

TEXTS = content_of(__file__, "tables")
FREE = "none"  # of spectral normalisation
FORMS = (FREE, *SPECTRAL_FORMS)

_MARK = rf"\+({'|'.join(SPECTRAL_FORMS)})$"


class AlgorithmRecord(NamedTuple):
    """The facts about an algorithm that the parameter files do not have."""

    title: str
    native: str = ""  # score that is the measure Native of a single network
    passes: bool = False  # whether a prediction is a mean over several passes with dropout


class MeasureRecord(NamedTuple):
    """The facts about a measure that the record of its score does not have."""

    title: str
    most: str = ""  # parameter that limits the number of images of each set, or "" for all images
    without_dropout: bool = False  # for a score that uses the images again
    density: bool = False  # whether an ensemble has the mean over its networks


RECORDS = {name: AlgorithmRecord(**facts) for name, facts in TEXTS["algorithms"].items()}
ALGORITHMS = {name: record.title for name, record in RECORDS.items()}
PAPERS_MEASURES = {name: MeasureRecord(**facts) for name, facts in TEXTS["measures"].items()}
MEASURES = {name: record.title for name, record in PAPERS_MEASURES.items()}


def checked(name: str) -> str:
    """Return the name of a measure or score; refuse an unknown name with the nearest one."""
    if name in MEASURES:  # the import of all scores takes a while
        return name
    from helpers import scores

    return known_name("measure", name, dict.fromkeys([*MEASURES, *scores.names()]))


def record(name: str) -> MeasureRecord:
    """Return the record of a measure; any other score has the title of its score record.

    >>> record("msp").title, record("knn").title
    ('Largest', 'Nearest neighbours (KNN)')
    """
    if name in MEASURES:
        return PAPERS_MEASURES[name]
    from helpers import scores

    return MeasureRecord(scores.create(name).info.title if name in scores.names() else name)


def titles(names: Iterable[str]) -> dict[str, str]:
    """Return the titles of measures without "": the paper's in its order, then all others.

    >>> titles(["energy", "entropy", "energy", "msp"])
    {'msp': 'Largest', 'entropy': 'Entropy', 'energy': 'Energy'}
    """
    others = dict.fromkeys(filter(None, names))
    order = [name for name in MEASURES if name in others]
    return {name: record(name).title for name in dict.fromkeys([*order, *others])}


def score_of(measure: str, algorithm: str, *, ensemble: bool = False) -> str:
    """Return the name of the score of a measure; "" if an algorithm lacks the measure.

    They differ only for Native.

    >>> score_of("native", "erm"), score_of("native", "erm", ensemble=True)
    ('', 'jsd')
    """
    if measure != "native":
        return measure
    return "jsd" if ensemble else RECORDS[algorithm].native


def spectral_changes(name: str) -> dict[str, object]:
    """Return the changes of a recipe for one of `FORMS`.

    >>> spectral_changes("none"), spectral_changes("bounded")
    ({}, {'spectral_form': 'bounded', 'spectral_norm': 1.0})
    """
    return {} if name == FREE else {"spectral_form": name, "spectral_norm": 1.0}


def spectral_suffix(name: str) -> str:
    """Return the end of a network's name, such as ``+bounded``; "" for ``none``."""
    return "" if name == FREE else f"+{name}"


def split_columns(table):
    """Return a results table with columns for the parts of ``method`` and ``backbone``.

    ``measure`` is "" for in-domain numbers; ``backbone`` loses the form of normalisation.

    >>> import pandas as pd
    >>> names = {"method": ["erm", "rnd/gap"], "backbone": ["resnet8", "resnet8+bounded"]}
    >>> table = split_columns(pd.DataFrame(names))
    >>> table[["algorithm", "measure", "backbone", "spectral"]].to_numpy().tolist()
    [['erm', '', 'resnet8', 'none'], ['rnd', 'gap', 'resnet8', 'bounded']]
    """
    return table.assign(
        algorithm=table["method"].str.replace(r"/.*", "", regex=True),
        measure=table["method"].str.replace(r"^[^/]*/?", "", regex=True),
        backbone=table["backbone"].str.replace(_MARK, "", regex=True),
        spectral=table["backbone"].str.extract(_MARK)[0].fillna(FREE),
    )
