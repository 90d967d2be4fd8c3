"""The parameters of *A Unified Benchmark for the Unknown Detection Capability of DNNs*."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Discriminator, Field, Tag, model_validator

from helpers.checks import known_name
from helpers.networks.recipe import Recipe
from helpers.papers import parameters
from helpers.papers.parameters import Changes, Count, DataSet, Distance, Repeats, Share
from helpers.papers.unknown_detection import methods

METHODS = {name: method.title for name, method in methods.NINE.items()}
"""The titles of the paper's nine methods, in the order of its tables."""

Method = Annotated[str, AfterValidator(methods.checked)]
"""A record of `methods`, an objective, or either with another score: ``baseline+energy``."""


class FarSet(parameters.Strict):
    """The images of a far-OOD set, if they are not its split ``test``.

    `images` is the largest number, `splits` are joined, and the classes in `keep` stay whatever
    WordNet finds for their names.
    """

    images: Count | None = None
    splits: Annotated[list[str], Field(min_length=1)] | None = None
    keep: list[str] = []  # noqa: RUF012


class BenchmarkParameters(parameters.Parameters):
    """The parameters of the benchmark: the roles of the images, the networks.

    Attributes
    ----------
    data_set : str
        In-distribution and near-OOD: ``imagenet``, or a data set of small images.
    superclasses : dict of str to list of str
        The classes of each superclass; empty if the data set has coarse labels.
    known_share, known_classes : float and list of str
        Share of each superclass that is in-distribution; these classes are, the others are drawn.
    validation_share : float
        Share of the ID training images that is held out.
    external, external_validation : list of str and int
        Data sets of the external set; the largest number of its held-out images.
    far, far_images : list of str, or dict of str to `FarSet` fields; and int
        Far-OOD data sets, and the largest number of images of each, drawn at random.
    aside : list of str
        Further test sets, not part of the union.
    resized : str
        A data set of larger images, or "": tested twice, resized with a filter ("fixed") and
        without ("aliased").
    train_per_class, held_out_per_class : int, optional
        For photographs: the largest number of training images of a class; held-out images.
    near_by_imagenet : bool
        Test near-OOD images also by whether ImageNet has their class (`roles.BY_IMAGENET`).
    networks, network : dict of str to dict, and str
        Changes of the recipe by the network's name in the tables; the evaluated network.
    runs, members, passes : int
        Numbers of runs, of networks of a Deep Ensemble, of passes of MC dropout.
    """

    # the images themselves show other parameters that select images
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
    members: Annotated[int, Field(ge=2, le=100)]  # the seeds of two runs are as far apart
    passes: Count

    @property
    def streamed(self) -> bool:
        """Whether the images are photographs that do not fit in memory."""
        return self.data_set in ("imagenet", "imagenet-bench")

    @property
    def stored_views(self) -> int:
        """Number of views of each training image that heads are trained on."""
        return 0

    @model_validator(mode="after")
    def _check_benchmark(self):
        if self.data_set == "imagenet" and not (self.train_per_class and self.held_out_per_class):
            raise ValueError("train_per_class, held_out_per_class: missing, of photographs")
        kept = {f"far.{name}.keep": (name, self.far_set(name).keep) for name in self.far}
        for superclass, names in self.superclasses.items():
            parameters.check_classes(f"superclasses.{superclass}", self.data_set, names)
        for kind, given in ({"known_classes": (self.data_set, self.known_classes)} | kept).items():
            parameters.check_classes(kind, *given)
        given = (self.external, [*self.far], self.aside, self.resized)
        if self.data_set.endswith("-bench") and given != ([self.data_set], [], [], ""):
            raise ValueError(
                f"external, far, aside, resized: ['{self.data_set}'], none, none and none expected "
                "with the authors' archive, which has its own external and far-OOD sets"
            )
        for changes in self.networks.values():
            super().recipe(changes)
        return self

    def far_set(self, name: str) -> FarSet:
        """Return which images of a far-OOD set, or of a set aside, are used."""
        chosen = self.far[name] if isinstance(self.far, dict) and name in self.far else FarSet()
        return chosen if chosen.images else chosen.model_copy(update={"images": self.far_images})

    def recipe(self, *changes: Changes) -> Recipe:
        """Return the recipe of `network` with changes in turn, the knobs last."""
        known_name("network", self.network, self.networks)
        return super().recipe(self.networks[self.network], *changes)


class Parameters(BenchmarkParameters):
    """The parameters of the evaluation, in addition to the benchmark.

    Attributes
    ----------
    methods, method_recipes : list of str, and dict of str to dict
        The methods, and what they change in the recipe.
    temperatures, epsilons : list of float
        ODIN is chosen among their pairs.
    alphas, tails, distance : list of int, list of int and str
        OpenMax is chosen among the pairs of the first two.
    ensemble_of : str
        ``run``: each run has its own ensemble of `members` networks, the first of them the run's
        baseline.  ``runs``, as in the paper: one ensemble of the baselines of all runs, without
        further training and without a standard deviation.
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
        for method in [*self.method_recipes, *self.methods]:  # in one order: always one message
            self.method_recipe(method)
        return self

    @property
    def stored_views(self) -> int:
        """Number of views of each training image that heads are trained on, at most."""
        recipes = map(self.method_recipe, self.methods)
        return max(recipe.objective_arguments.get("stored", 0) for recipe in recipes)

    def method_recipe(self, method: str) -> Recipe:
        """Return the recipe of a method's networks."""
        training = methods.training_of(method)
        record = methods.named(training)
        recipe = self.recipe(record.recipe, self.method_recipes.get(training, {}))
        if record.passes and not (recipe.dropout or recipe.block_dropout):
            raise ValueError(f"{training}: its recipe has no dropout: all passes are the same")
        return recipe

    def trainings(self) -> dict[str, dict]:
        """Return the arguments of each training notebook: it trains all methods of a run."""
        runs = range(self.runs)
        return {f"{self.network}-{run}": {"network": self.network, "run": run} for run in runs}
