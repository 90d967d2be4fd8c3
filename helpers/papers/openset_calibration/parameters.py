"""The parameters of *Evaluating Uncertainty Calibration for Open-Set Recognition*."""

from typing import Annotated, ClassVar

from pydantic import Field, model_validator

from helpers.papers import parameters
from helpers.papers.parameters import Changes, Count, DataSet, Distance, Name, Repeats, Share


class Parameters(parameters.Parameters):
    """The free choices of the evaluation."""

    grid: ClassVar = ("data_sets", "networks", "runs", "fewer_runs")

    data_sets: Annotated[list[DataSet], Field(min_length=1)]
    networks: Annotated[dict[Name, Changes], Field(min_length=1)]
    runs: Repeats  # random splits, numbered from 0
    # of these networks, if they take part, only so many runs
    fewer_runs: Annotated[dict[Name, Repeats], Field(default_factory=dict)]
    known: Annotated[int, Field(ge=2)]  # classes in the open set
    calibration_share: Share  # of the training images, for the temperature and the threshold
    keep: Share  # of the held-out images, by the rejection threshold
    threshold: Share  # of the variant "one threshold"
    # of `helpers.scores.openmax.OpenMax`; ``alpha: 0`` revises all known classes
    tail: Annotated[int, Field(ge=2)]
    alpha: Annotated[int, Field(ge=0)]
    distance: Distance
    bins: Count  # of the ECE

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

    def runs_of(self, network: str) -> range:
        """Return the runs of a network."""
        return range(min(self.runs, self.fewer_runs.get(network, self.runs)))

    def trainings(self) -> dict[str, dict]:
        """Return the parameters of the training notebook for each data set and run."""
        network = next(iter(self.networks))
        points = {}
        for number, data_set in enumerate(self.data_sets):
            # a path can be no part of the name of a page
            title = f"folder{number}" if data_set.startswith("folder:") else data_set
            for run in self.runs_of(network):
                others = [name for name in self.networks if name != network]
                also = [name for name in others if run in self.runs_of(name)]
                values = {"data_set": data_set, "network": network, "also": also, "run": run}
                points[f"{title}-{run}"] = values
        return points
