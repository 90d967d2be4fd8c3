"""The estimates of this package, compared with labels on the mixtures of the Gscore paper.

The rows are more variants of that paper's results: ``share known`` and ``share drawn``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from helpers.networks.model import Model, Network
from helpers.papers.gscore import experiment as gscore
from helpers.papers.gscore.experiment import divide, models, parts, roles
from helpers.papers.run import Draw, Part
from known_unknowns.without_labels.answers import Classified, rows_of_answers
from known_unknowns.without_labels.protocols import all_rows_of_estimators

if TYPE_CHECKING:
    from helpers.papers.gscore.roles import Suite
    from known_unknowns.without_labels.parameters import Parameters

__all__ = ["models", "outputs", "parts", "roles", "rows"]


@dataclass(frozen=True)
class Outputs:
    """The outputs of a network on a suite."""

    suite: gscore.SuiteOutputs
    answers: dict[str, Classified]


def outputs(parameters: Parameters, part: Part, roles: Suite, models: Network) -> Outputs:
    """Return the scores and probabilities of all images."""
    model = Model(part.identity["backbone"], (models,))
    images = {"validation": roles.validation, "test": roles.test, **roles.sets}
    answers = {name: Classified.of(model.outputs(one)) for name, one in images.items()}
    return Outputs(gscore.outputs(parameters, part, roles, models), answers)


def rows(parameters: Parameters, part: Part, outputs: Outputs, draw: Draw) -> Iterator[dict]:
    """Yield the rows of `all_rows_of_estimators`, then those of `rows_of_answers`."""
    suite, first = outputs.suite, parameters.detectors[0]
    names = list(suite.detectors[first].sets)
    divisions = [divide(len(names), run, parameters) for run in range(parameters.repeats)]
    given = suite.detectors, suite.confidence, divisions, names
    yield from all_rows_of_estimators(*given, parameters)
    if len(suite.detectors[first].known["test"]) == len(suite.correct):  # none was left out
        yield from rows_of_answers(first, suite.detectors[first], outputs.answers, parameters)
