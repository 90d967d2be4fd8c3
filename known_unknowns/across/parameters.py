"""The parameters of the comparison of all algorithms, scores and measures."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from helpers.checks import known_name
from helpers.networks import published
from helpers.networks.recipe import Recipe
from helpers.papers.parameters import Changes, Count, DataSet, Score, Share, one_of
from helpers.papers.unknown_detection.parameters import BenchmarkParameters

ALGORITHMS = {
    "baseline": "Baseline (ERM)",
    "crl": "CRL",
    "edl": "EDL",
    "mc_dropout": "MC dropout",
    "ensemble": "Deep Ensemble",
    "augmix": "AugMix",
    "outlier_exposure": "Outlier Exposure",
    "mixup": "Mixup",
    "rnd": "RND",
    "oc": "OC",
    "mimo": "MIMO",
    "rbf": "RBF",
    "soft_labels": "Soft labeler",
    "spectral": "Spectral normalisation",
    "adversarial": "Adversarial training",
    "autoaugment": "AutoAugment",
    "noise": "Noise",
    "stylised": "Stylised images",
    "distillation": "Distillation",
}
"""Titles of the training algorithms of all chapters."""


class Parameters(BenchmarkParameters):
    """The parameters of the comparison.

    What concerns images and the networks that are trained is as in the benchmark of unknown
    detection, but that no set is tested aside.  Published networks know all classes of their ID
    set, so that their near images are other data sets'.

    Attributes
    ----------
    algorithms : dict of str to dict
        Of `ALGORITHMS`, and what each changes in the recipe; none where no network is trained.
    published : dict of str to str
        Of `helpers.networks.published.records`, each with its ID set: that whose classes it knows,
        or a part of it (``cifar10_mini``).
    near : list of str
        Data sets that are near to the ID sets of `published`; of each go the ID set itself and the
        classes that `helpers.data.overlaps.find_related` tells.
    published_images : int
        Of the images that a published network has been trained on and of each half of the ID test
        images, so many are scored, at most.
    scores : list of str
        Of `helpers.scores.names`; those that do not apply to a model are left out there.
    score_arguments : dict of str to dict
        Hyper-parameters of scores that are not their defaults; none are chosen here.
    families : list of str
        Data sets with a split ``test`` that the prediction of an AUROC learns from, none of the
        other ones; three or more, for a line.
    keep : float
        The threshold of InAsIn and OutAsOut keeps this share of the validation images.
    bins : int
        Of the calibration errors.
    """

    grid: ClassVar = (*BenchmarkParameters.grid, "algorithms", "published")

    aside: Annotated[list[DataSet], Field(max_length=0, default_factory=list)]  # none
    resized: Literal[""] = ""
    paper: ClassVar[str] = "synthesis"

    algorithms: dict[Annotated[str, one_of("algorithm", ALGORITHMS)], Changes]
    published: dict[Annotated[str, one_of("published network", published.records)], DataSet]
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
        for name, data_set in self.published.items():
            record = published.find(name)
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
        >>> from known_unknowns.chapters import load
        >>> load("synthesis", "mini").recipe_of("crl").objective
        'crl'
        """
        known_name("algorithm", algorithm, ALGORITHMS)
        recipe = self.recipe(self.algorithms.get(algorithm, {}))
        if algorithm == "mc_dropout" and not (recipe.dropout or recipe.block_dropout):
            raise ValueError("mc_dropout: its recipe has no dropout; all passes would be the same")
        return recipe

    def trainings(self) -> dict[str, dict]:
        """Return the run that each training notebook trains all algorithms of."""
        runs = range(self.runs if self.algorithms else 0)
        return {f"{self.network}-{run}": {"run": run} for run in runs}
