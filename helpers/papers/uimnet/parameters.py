"""The parameters of *What classifiers know what they don't?*."""

from __future__ import annotations

import itertools
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, Field, model_validator

from helpers.papers import parameters
from helpers.papers.parameters import Changes, Count, DataSet, Repeats, Score, Share, one_of
from helpers.papers.uimnet import measures
from helpers.papers.uimnet.algorithms import ALGORITHMS
from helpers.papers.uimnet.columns import spectral_changes
from helpers.training import search

PUBLISHED = "imagenet"
"""The data set whose in-domain and out-domain classes are published."""

AlgorithmName = Annotated[str, one_of("algorithm", ALGORITHMS)]
SearchedName = Annotated[str, one_of("algorithm", ["all", *ALGORITHMS])]


def _check_form(name: str) -> str:
    spectral_changes(name)
    return name


def zero_or_at_least(least: int) -> AfterValidator:
    """Return the check of a number: 0, or at least `least`."""

    def check(value: int) -> int:
        if value and value < least:
            raise ValueError(f"0 or at least {least} expected, got {value}")
        return value

    return AfterValidator(check)


class Parameters(parameters.Parameters):
    """The free choices of the test-bed and its evaluation.

    Attributes
    ----------
    data_set : str
        ``imagenet``, whose photographs are streamed, or a data set that fits in memory.
    featuriser : str
        Network whose features divide the classes: one of `sizes`, trained here on all classes, or
        a network of timm; "" for the published classes of ImageNet.
    validation_share : float
        Share of the in-domain training images that is held out.
    most_classes : int
        Largest number of in-domain classes, and of out-domain classes; 0 takes all.
    side : int
        Pixels to which images in memory are resized; 0 keeps their size.
    sizes, algorithms : dict of str to dict
        Changes of the recipe by each network, from the smallest on, and by each algorithm.
    groups : dict of str to list of str
        Algorithms that one execution of the training notebook trains.
    defaults, search : dict of str to dict
        Hyper-parameters of trial 0, which are the authors', and the laws of the other trials, see
        `helpers.training.search`; under ``all``, those of every algorithm.
    spectral : list of str
        Forms of spectral normalisation, see `columns.spectral_changes`.
    trials : int
        Draws of hyper-parameters, with the defaults; also the networks of an ensemble.
    runs : int
        Data seeds, numbered from 0: they decide which images are held out.
    measures : list of str
        Measures of the paper, and any other score of `helpers.scores`.
    score_arguments : dict of str to dict
        Hyper-parameters of scores that are not the defaults.
    passes, tta_copies : int
        Passes of MC-Dropout, and augmented copies of an image.
    jacobian_images : int
        Largest number of images of each set with a Jacobian, spread over the set.
    keep : float
        Share of the in-domain validation images that the threshold keeps.
    bins : int
        Bins of the ECE.
    """

    # their effect on rows is in the images and in the trials themselves
    grid: ClassVar = ("featuriser", "sizes", "algorithms", "groups", "defaults", "search",
                      "spectral", "trials", "runs")  # fmt: skip

    data_set: DataSet
    featuriser: str
    validation_share: Share
    most_classes: Annotated[int, Field(ge=0), zero_or_at_least(2)]
    side: Annotated[int, Field(ge=0), zero_or_at_least(8)]
    sizes: Annotated[dict[str, Changes], Field(min_length=1)]
    algorithms: Annotated[dict[AlgorithmName, Changes], Field(min_length=1)]
    groups: dict[str, list[AlgorithmName]]
    defaults: dict[SearchedName, dict[str, Any]]
    search: dict[SearchedName, dict[str, Any]]
    spectral: Annotated[list[Annotated[str, AfterValidator(_check_form)]], Field(min_length=1)]
    trials: Repeats
    runs: Repeats
    measures: list[Annotated[str, AfterValidator(measures.checked)]]
    score_arguments: dict[Score, Changes]
    passes: Count
    tta_copies: Count
    jacobian_images: Annotated[int, Field(ge=2)]
    keep: Share
    bins: Count

    @model_validator(mode="after")
    def _check_together(self):
        for size, name in itertools.product(self.sizes, self.algorithms):
            recipe = self.recipe(self.sizes[size], self.algorithms[name])
            defaults, space = self.searched(name)
            search.check_space(recipe, space, defaults, create=False)
        for laws in self.search.values():  # also of algorithms that this tier leaves out
            for name, law in laws.items():
                search.check_law(name, law)
        grouped = {name for names in self.groups.values() for name in names}
        if missing := [name for name in self.algorithms if name not in grouped]:
            raise ValueError(f"groups: no group trains {', '.join(missing)}; add them to one")
        if self.side and self.data_set == PUBLISHED:
            raise ValueError("side: streamed photographs are cut to 224 pixels; leave it at 0")
        names = self.recipe().augmentation
        if self.data_set == PUBLISHED and names and "flip" not in names:
            raise ValueError(
                "augmentation: of streamed photographs 'flip' stands for a random crop, too; "
                f"{', '.join(names)} alone would leave them as they are"
            )
        if not self.featuriser and self.data_set != PUBLISHED:
            raise ValueError(
                f"featuriser: the classes of '{self.data_set}' have no published roles; name a "
                "network whose features divide them"
            )
        return self

    def searched(self, algorithm: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the defaults and the laws of an algorithm, with those of every algorithm."""
        return tuple(
            {**table.get("all", {}), **table.get(algorithm, {})}
            for table in (self.defaults, self.search)
        )

    def trainings(self) -> dict[str, dict]:
        """Return the parameters of the training notebook for each group and data seed."""
        grid = itertools.product(self.groups, range(self.runs))
        return {f"{group}-{run}": {"group": group, "run": run} for group, run in grid}
