"""The parameters of *A Unified Benchmark for the Unknown Detection Capability of DNNs*."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    model_validator,
)  # fmt: skip

from helpers.checks import known_name
from helpers.networks.recipe import Recipe
from helpers.papers import parameters
from helpers.papers.parameters import (
    Changes,
    Count,
    DataSet,
    Distance,
    Repeats,
    Share,
    check_classes,
)
from helpers.papers.unknown_detection import methods

MOST_MEMBERS = 100  # of an ensemble: the seeds of two runs are as far apart

METHODS = {name: method.title for name, method in methods.NINE.items()}
"""The paper's nine methods in the order of its tables, and how they are called."""

ASIDE = {name: method.title for name, method in methods.RECORDS.items() if method.aside}
"""Scores beside them: one that the paper tried and left out, and one that asks no network."""

BY_IMAGENET = ("near_in_imagenet", "near_not_in_imagenet")
"""Of networks that have learnt ImageNet: near-OOD test images of its classes, and of others."""

Method = Annotated[str, AfterValidator(methods.checked)]
"""A record of `methods`, an objective, or either with another score, as in ``baseline+energy``."""


class FarSet(BaseModel):
    """What is taken of a far-OOD set, where that is not its split ``test``.

    Attributes
    ----------
    images : int, optional
        At most, chosen at random; by default `BenchmarkParameters.far_images`.
    splits : list of str, optional
        Whose images are taken together; by default those of the split that is tested on.
    keep : list of str
        Classes that stay, whatever WordNet says of their names.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    images: Count | None = None
    splits: Annotated[list[str], Field(min_length=1)] | None = None
    keep: list[str] = []


class BenchmarkParameters(parameters.Parameters):
    """What the benchmark is free to choose: the roles of the images, the networks.

    Attributes
    ----------
    data_set : str
        In-distribution and near-OOD: ``imagenet``, or a data set of small images.
    superclasses : dict of str to list of str
        The classes of each superclass; empty where the data set has coarse labels.
    known_share : float
        Share of the classes of each superclass that are in-distribution.
    known_classes : list of str
        Classes that are in-distribution in any case; the others are drawn.
    validation_share : float
        Share of the ID training images that is held out.
    external : list of str
        Data sets that make the external set together.
    external_validation : int
        External images that hyper-parameters are chosen on, at most.
    far : list of str, or dict of str to dict
        Far-OOD data sets; or what is taken of each, as `FarSet` has it.
    aside : list of str
        Further ones that are tested too, and are not part of the union.
    resized : str
        A data set of larger images that is tested apart twice: brought to the networks' size with
        a filter ("fixed"), and by leaving out pixels ("aliased").  Or "".
    far_images : int
        Images of each far-OOD set, at most; chosen at random.
    train_per_class, held_out_per_class : int, optional
        Of photographs alone: of a class, as many train, at most, and are held out.
    near_by_imagenet : bool
        Near-OOD images are tested apart, too, by whether ImageNet has their class (`BY_IMAGENET`).
    networks : dict of str to dict
        What each changes in the recipe, under the names that the tables have for them.
    network : str
        The one that is evaluated.
    runs : int
        Numbered from 0; a run decides the weights, the images play the same roles in all.
    members : int
        Networks of a Deep Ensemble.
    passes : int
        Passes of MC dropout.
    """

    # what of the others decides which images there are is in the images
    grid: ClassVar = (
        "networks", "network", "runs", "train_per_class", "held_out_per_class", "near_by_imagenet",
    )  # fmt: skip

    data_set: DataSet
    superclasses: dict[str, list[str]]
    known_share: Share
    known_classes: list[str]
    validation_share: Share
    external: Annotated[list[DataSet], Field(min_length=1)]
    external_validation: Count
    far: Annotated[
        Annotated[list[DataSet], Tag("list")] | Annotated[dict[DataSet, FarSet], Tag("dict")],
        Discriminator(lambda given: "dict" if isinstance(given, dict) else "list"),
    ]
    aside: list[DataSet]
    resized: DataSet | Literal[""]
    far_images: Count
    train_per_class: Count | None = None
    held_out_per_class: Count | None = None
    near_by_imagenet: bool = False
    networks: dict[str, Changes]
    network: str
    runs: Repeats
    members: Annotated[int, Field(ge=2, le=MOST_MEMBERS)]
    passes: Count

    @property
    def streamed(self) -> bool:
        """Whether the images are photographs that no memory holds."""
        return self.data_set in ("imagenet", "imagenet-bench")

    @property
    def stored_views(self) -> int:
        """How many views of each training image a method's heads are shown."""
        return 0

    @model_validator(mode="after")
    def _check_photographs(self):
        if self.data_set == "imagenet" and not (self.train_per_class and self.held_out_per_class):
            raise ValueError("train_per_class, held_out_per_class: missing, of photographs")
        return self

    @model_validator(mode="after")
    def _check_classes(self):
        for superclass, names in self.superclasses.items():
            check_classes(f"superclasses.{superclass}", self.data_set, names)
        check_classes("known_classes", self.data_set, self.known_classes)
        for name in self.far:
            check_classes(f"far.{name}.keep", name, self.far_set(name).keep)
        return self

    @model_validator(mode="after")
    def _check_archive(self):
        own = ([self.data_set], [], [], "")
        given = (self.external, [*self.far], self.aside, self.resized)
        if self.data_set.endswith("-bench") and given != own:
            raise ValueError(
                f"external, far, aside, resized: ['{self.data_set}'], none, none and none expected "
                "with the authors' archive, which has its own external and far-OOD sets"
            )
        return self

    def far_set(self, name: str) -> FarSet:
        """Return what is taken of a far-OOD set, or of one that is tested apart."""
        own = self.far[name] if isinstance(self.far, dict) and name in self.far else FarSet()
        return own if own.images else own.model_copy(update={"images": self.far_images})

    @model_validator(mode="after")
    def _check_networks(self):
        for changes in self.networks.values():
            super().recipe(changes)
        return self

    def recipe(self, *changes: Changes) -> Recipe:
        """Return the recipe of `network`, changed in turn, the knobs last."""
        known_name("network", self.network, self.networks)
        return super().recipe(self.networks[self.network], *changes)


class Parameters(BenchmarkParameters):
    """What the evaluation is free to choose beside the benchmark.

    Attributes
    ----------
    methods : list of str
        Of `METHODS`, or others as `Method` has it.
    method_recipes : dict of str to dict
        What a method changes in the recipe.
    temperatures, epsilons : list of float
        Of ODIN; the pairs among which it is chosen.
    alphas, tails : list of int
        Of OpenMax, likewise.
    distance : str
        Of OpenMax.
    ensemble_of : str
        Whether each run has an ensemble of its own (``run``: `members` networks, the run's baseline
        the first of them), or one ensemble is made of the baselines of all (``runs``), as in the
        paper: then nothing is trained for it, and it has no standard deviation.
    """

    grid: ClassVar = (*BenchmarkParameters.grid, "methods")

    methods: Annotated[list[Method], Field(min_length=1)]
    method_recipes: dict[Method, Changes]
    temperatures: Annotated[list[Annotated[float, Field(gt=0)]], Field(min_length=1)]
    epsilons: Annotated[list[Annotated[float, Field(ge=0)]], Field(min_length=1)]
    alphas: Annotated[list[Count], Field(min_length=1)]
    tails: Annotated[list[Annotated[int, Field(ge=2)]], Field(min_length=1)]
    distance: Distance
    ensemble_of: Literal["run", "runs"] = "run"

    @model_validator(mode="after")
    def _check_recipes(self):
        for method in [*self.method_recipes, *self.methods]:  # in one order, for one message
            self.method_recipe(method)
        return self

    @property
    def stored_views(self) -> int:
        """How many views of each training image a method's heads are shown, at most."""
        recipes = map(self.method_recipe, self.methods)
        return max(one.objective_arguments.get("stored", 0) for one in recipes)

    def method_recipe(self, method: str) -> Recipe:
        """Return the recipe of a method's networks.

        Raises
        ------
        ValueError
            Unknown method or training parameter; MC dropout without dropout.
        """
        training = methods.training_of(method)
        one = methods.named(training)
        recipe = self.recipe(one.recipe, self.method_recipes.get(training, {}))
        if one.passes and not (recipe.dropout or recipe.block_dropout):
            raise ValueError(f"{training}: its recipe has no dropout: all passes are the same")
        return recipe

    def trainings(self) -> dict[str, dict]:
        """Return what the training notebook is told: it trains all methods of a run.

        Of `networks` it is the one that is evaluated.
        """
        runs = range(self.runs)
        return {f"{self.network}-{run}": {"network": self.network, "run": run} for run in runs}
