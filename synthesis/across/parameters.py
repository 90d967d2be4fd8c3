"""The parameters of the comparison of all algorithms, scores and measures."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from helpers.checks import known_name
from helpers.networks import zoo_records
from helpers.networks.recipe import Recipe
from helpers.papers.parameters import Changes, Count, DataSet, Score, Share, check_scores, one_of
from helpers.papers.unknown_detection.parameters import BenchmarkParameters
from synthesis.across import PAPER
from synthesis.across.measures import ALGORITHMS


class Parameters(BenchmarkParameters):
    """The parameters of the comparison, with the images and networks of unknown detection.

    Attributes
    ----------
    algorithms : dict of str to dict
        Changes of each algorithm of `ALGORITHMS` in the recipe; empty if no network is trained.
    published : dict of str to str
        Published networks, each with its ID set or a part of it (``cifar10_mini``).
    near : list of str
        Data sets near the ID sets of `published`; related classes are left out.
    published_images : int
        Largest number of scored training images, and of each half of the ID test images.
    scores : list of str
        Names of scores; a score that does not apply to a model is left out for this model.
    score_arguments : dict of str to dict
        Hyper-parameters that are not the defaults.
    families : list of str
        Data sets from which the prediction of an AUROC learns; three or more, no test sets.
    keep : float
        Share of the validation images that the threshold of InAsIn and OutAsOut keeps.
    bins : int
        Number of bins of the calibration errors.
    """

    grid: ClassVar[Any] = (*BenchmarkParameters.grid, "algorithms", "published")

    aside: Annotated[list[DataSet], Field(max_length=0, default_factory=list)]  # none
    resized: Literal[""] = ""
    paper: ClassVar[str] = "synthesis"
    networks_of: ClassVar[str] = PAPER.networks_of

    algorithms: dict[Annotated[str, one_of("algorithm", ALGORITHMS)], Changes]
    published: dict[Annotated[str, one_of("published network", zoo_records.records)], DataSet]
    near: list[DataSet]
    published_images: Count
    scores: list[Score]
    score_arguments: dict[Score, Changes]
    families: Annotated[list[DataSet], Field(min_length=3)]
    keep: Share
    bins: Count

    @model_validator(mode="after")
    def _check_together(self):
        for name in self.algorithms:
            self.recipe_of(name)
        check_scores("score_arguments", self.score_arguments)
        for name, data_set in self.published.items():
            record = zoo_records.find(name)
            if data_set not in record.id_sets:
                raise ValueError(
                    f"published: '{name}' knows the classes of {record.data_set}, not {data_set}"
                )
        if not (self.algorithms or self.published):
            raise ValueError("algorithms, published: no network of either kind")
        return self

    def recipe_of(self, algorithm: str) -> Recipe:
        """Return the recipe of an algorithm's networks.

        Examples
        --------
        >>> from synthesis.chapters import load
        >>> load("synthesis", "mini").recipe_of("crl").objective
        'crl'
        """
        known_name("algorithm", algorithm, ALGORITHMS)
        recipe = self.recipe(self.algorithms.get(algorithm, {}))
        if algorithm == "mc_dropout" and not (recipe.dropout or recipe.block_dropout):
            raise ValueError("mc_dropout: its recipe has no dropout; all passes would be the same")
        return recipe
