"""The methods of the benchmark: the networks of each, and the score computed from them.

A method is a record in ``tables.yaml``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from helpers.files import content_of

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


def training_of(name: str) -> str:
    """Return the method that trains the networks of a method: "baseline" for "odin"."""
    return RECORDS[name].networks_of or name


def trained_in(parameters, run: int) -> list[str]:
    """Return the methods whose networks a run trains, without ensembles of other runs' networks."""
    trainings = []
    for name in dict.fromkeys(training_of(name) for name in parameters.methods):
        networks = RECORDS[name].networks(parameters, run)
        if has_run(parameters, name, run) and all(number == run for number, _ in networks):
            trainings.append(name)
    return trainings


def has_run(parameters, name: str, run: int) -> bool:
    """Return whether a method has a run: some methods, or their trainings, are repeated less."""
    of_training = parameters.method_runs.get(training_of(name), parameters.runs)
    return run < parameters.method_runs.get(name, of_training)


def title(name: str) -> str:
    """Return a method's title: "CRL" for "crl"."""
    return RECORDS[name].title
