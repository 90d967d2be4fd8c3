"""What a method is: which networks it trains, and what it asks them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from helpers.networks.model import Model
    from helpers.papers.unknown_detection.detectors import Detector
    from helpers.papers.unknown_detection.parameters import Parameters
    from helpers.papers.unknown_detection.roles import Benchmark

    Detect = Callable[[Parameters, Benchmark, Model], Detector]


@dataclass(frozen=True)
class Method:
    """A method's record, `METHOD` in a file of `methods` that has its name.

    Attributes
    ----------
    title : str
        What tables and figures call it.
    key : str
        BibTeX key of its paper.
    name : str
        That of its file.
    place : int
        Its place in the tables of Kim et al. 2023; 0 if it is none of their nine.  Claims are about
        these alone.
    recipe : dict
        What it changes in the recipe that all share: fields of `helpers.networks.recipe.Recipe`,
        such as the objective and its arguments.  The parameter `method_recipes` comes after it.
    networks_of : str
        The method whose networks it asks, where it trains none.
    members : callable, optional
        From parameters and a run to the run and the number in it of each network; by default the
        first one of the run.
    passes : bool
        Whether its network answers in several passes, with dropout.
    score : str
        What it asks the networks: a score of `helpers.scores`.
    arguments : dict
        The score's own.
    detect : callable, optional
        Instead of a score: from parameters, images and networks to a
        `helpers.papers.unknown_detection.detectors.Detector`.
    variants : dict of str to callable
        Further ways to ask the same networks, by the variant under which their numbers stand.
    aside : callable, optional
        Of a score that stands beside the methods and is no confidence: whether an experiment has
        it, by its parameters.  It is not chosen by name.
    """

    title: str
    key: str
    name: str = ""
    place: int = 0
    recipe: Mapping[str, Any] = field(default_factory=dict)
    networks_of: str = ""
    members: Callable[[Parameters, int], list[tuple[int, int]]] | None = None
    passes: bool = False
    score: str = "msp"
    arguments: Mapping[str, Any] = field(default_factory=dict)
    detect: Detect | None = None
    variants: Mapping[str, Detect] = field(default_factory=dict)
    aside: Callable[[Parameters], bool] | None = None

    def networks(self, parameters: Parameters, run: int) -> list[tuple[int, int]]:
        """Return which networks make the method in a run: the run and the number of each."""
        return self.members(parameters, run) if self.members else [(run, 0)]
