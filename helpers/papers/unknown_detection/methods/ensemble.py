"""Deep Ensemble: the mean probabilities of several baselines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from helpers.papers.unknown_detection.method import Method

if TYPE_CHECKING:
    from helpers.papers.unknown_detection.parameters import Parameters


def members(parameters: Parameters, run: int) -> list[tuple[int, int]]:
    """Return the networks of a run's ensemble: its own, or the first network of every run."""
    if parameters.ensemble_of == "runs":
        return [(one, 0) for one in range(parameters.runs)]
    return [(run, member) for member in range(parameters.members)]


METHOD = Method("Deep Ensemble", key="lakshminarayanan2017", place=5, members=members)
