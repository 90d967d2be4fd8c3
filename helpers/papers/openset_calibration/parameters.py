"""The parameters of *Evaluating Uncertainty Calibration for Open-Set Recognition*."""

from __future__ import annotations

import itertools
from typing import Annotated, ClassVar

from pydantic import Field, model_validator

from helpers.papers import parameters
from helpers.papers.parameters import Changes, Count, DataSet, Distance, Repeats, Share


class Parameters(parameters.Parameters):
    """The free choices of the evaluation.

    Attributes
    ----------
    data_sets : list of str
    networks : dict of str to dict
        Changes of the recipe by each network, under its name in tables.
    runs : int
        Random splits, numbered from 0.
    known : int
        Known classes in the open set.
    calibration_share : float
        Share of the training images that is held out for the temperature and the threshold.
    keep : float
        Share of the held-out images that the rejection threshold keeps.
    tail, alpha, distance
        Parameters of `helpers.scores.openset.OpenMax`; ``alpha: 0`` revises all known classes.
    bins : int
        Bins of the ECE.
    stand_ins : list of str
        The data sets that are not the paper's.
    """

    grid: ClassVar = ("data_sets", "networks", "runs", "stand_ins")

    data_sets: Annotated[list[DataSet], Field(min_length=1)]
    networks: Annotated[dict[str, Changes], Field(min_length=1)]
    runs: Repeats
    known: Annotated[int, Field(ge=2)]
    calibration_share: Share
    keep: Share
    tail: Annotated[int, Field(ge=2)]
    alpha: Annotated[int, Field(ge=0)]
    distance: Distance
    bins: Count
    stand_ins: list[str]

    @model_validator(mode="after")
    def _check_together(self):
        from helpers.data.cards import find

        for changes in self.networks.values():
            self.recipe(changes)
        if self.alpha > self.known:
            raise ValueError(f"alpha: at most known ({self.known}) expected, got {self.alpha}")
        for card in filter(None, map(find, self.data_sets)):
            if self.known >= card.classes:
                raise ValueError(
                    f"known: fewer than the {card.classes} classes of {card.name} expected, "
                    f"got {self.known}"
                )
        return self

    def trainings(self) -> dict[str, dict]:
        """Return the parameters of the training notebook for each data set and run."""
        network, *also = self.networks
        grid = itertools.product(self.data_sets, range(self.runs))
        return {
            f"{data_set}-{run}": dict(data_set=data_set, network=network, also=also, run=run)
            for data_set, run in grid
        }
