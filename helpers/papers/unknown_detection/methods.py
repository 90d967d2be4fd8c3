"""The methods of the benchmark: the networks of each, and the score computed from them.

A method is a record in ``tables.yaml``.  Every objective of `helpers.training` is a method too,
with the maximum class probability as confidence, and so is any score on a method's networks:
``mixup+knn``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from helpers.checks import known_name
from helpers.files import content_of
from helpers.networks.recipe import OBJECTIVES

TEXTS = content_of(__file__, "tables")
#: The variant by the authors' code: their OpenMax, and their rule for every false positive rate.
AUTHORS = "authors"


@dataclass(frozen=True)
class Method:
    """A method's record."""

    title: str
    recipe: Mapping[str, Any] = field(default_factory=dict)  # changes, before `method_recipes`
    networks_of: str = ""  # the method whose networks it uses, if it trains none
    ensemble: bool = False  # of `members` networks
    passes: bool = False  # whether its network predicts in several passes, with dropout
    score: str = "msp"  # `detectors.DETECT` may replace it by a function
    variants: Sequence[str] = ()  # further functions of `detectors.DETECT` on the same networks
    # for a score that is no confidence and cannot be chosen: the parameter that demands it
    aside: str = ""
    learns_from_held_out: bool = False  # so that finished networks on a slice cannot have it

    def networks(self, parameters, run: int) -> list[tuple[int, int]]:
        """Return the networks of the method in a run: the run and the number of each."""
        if not self.ensemble:
            return [(run, 0)]
        if parameters.ensemble_of == "runs":
            return [(number, 0) for number in range(parameters.runs)]
        return [(run, member) for member in range(parameters.members)]


NINE = {name: Method(**facts) for name, facts in TEXTS["methods"].items()}
RECORDS = NINE | {name: Method(**facts) for name, facts in TEXTS["aside"].items()}
#: Objectives without a record; "erm" is the baseline's.
OTHERS = tuple(name for name in OBJECTIVES if name not in RECORDS and name != "erm")


def checked(name: str) -> str:
    """Return a method's name if there is such a method.

    >>> checked("odin+energy")
    Traceback (most recent call last):
        ...
    ValueError: odin+energy: 'odin' uses the networks of 'baseline'; write baseline+energy
    """
    training, plus, score = name.partition("+")
    known_name("method", training, [*NINE, *OTHERS])
    if plus:
        from helpers import scores

        known_name("score", score, scores.names())
        if trained := named(training).networks_of:
            raise ValueError(
                f"{name}: '{training}' uses the networks of '{trained}'; write {trained}+{score}"
            )
    return name


def named(name: str) -> Method:
    """Return the record of a method.

    >>> named("crl+energy").recipe, named("crl+energy").score, named("crl").score
    ({'objective': 'crl'}, 'energy', 'msp')
    >>> named("mixup").title, named("baseline+knn").title
    ('Mixup', 'Baseline + Nearest neighbours (KNN)')
    """
    training, plus, score = name.partition("+")
    method = RECORDS.get(training)
    if not method:
        short = len(training) <= 4
        title = training.upper() if short else training.replace("_", " ").capitalize()
        method = Method(title, recipe={"objective": known_name("method", training, OTHERS)})
    if not plus:
        return method
    from helpers import scores

    info = scores.create(score).info
    title = f"{method.title} + {info.title}"
    return replace(method, title=title, score=score, variants=())


def training_of(name: str) -> str:
    """Return the method that trains the networks of a method: "baseline" for "odin"."""
    return named(name).networks_of or name.partition("+")[0]


def trained_in(parameters, run: int) -> list[str]:
    """Return the methods whose networks a run trains, without ensembles of other runs' networks."""
    trainings = []
    for name in dict.fromkeys(training_of(name) for name in parameters.methods):
        networks = named(name).networks(parameters, run)
        if has_run(parameters, name, run) and all(number == run for number, _ in networks):
            trainings.append(name)
    return trainings


def has_run(parameters, name: str, run: int) -> bool:
    """Return whether a method has a run: some methods, or their trainings, are repeated less."""
    of_training = parameters.method_runs.get(training_of(name), parameters.runs)
    return run < parameters.method_runs.get(name, of_training)


def title(name: str) -> str:
    """Return a method's title: "CRL + Energy" for "crl+energy"."""
    return named(name).title
