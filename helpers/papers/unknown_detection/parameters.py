"""The parameters of *A Unified Benchmark for the Unknown Detection Capability of DNNs*."""

from typing import Annotated, ClassVar, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    model_validator,
)

from helpers.checks import known_name
from helpers.data.cards import find
from helpers.data.pixels import KERNELS
from helpers.networks.recipe import Recipe
from helpers.papers import parameters
from helpers.papers.parameters import Changes, Count, DataSet, Distance, Name, Repeats, Share
from helpers.papers.unknown_detection import methods

#: The titles of the paper's nine methods, in the order of its tables.
METHODS = {name: method.title for name, method in methods.NINE.items()}

Method = Annotated[str, parameters.one_of("method", METHODS)]


class FarSet(BaseModel):
    """The images of a far-OOD set, if they are not its split ``test``."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    images: Count | None = None  # at most
    splits: Annotated[list[str], Field(min_length=1)] | None = None  # that are joined
    keep: list[str] = []


class BenchmarkParameters(parameters.Parameters):
    """The parameters of the benchmark: the roles of the images, the networks."""

    # the images themselves show other parameters that select images
    grid: ClassVar[tuple[str, ...]] = (
        "networks",
        "network",
        "runs",
        "train_per_class",
        "held_out_per_class",
        "jpeg",
        "external_kernel",
    )

    data_set: DataSet  # in-distribution and near-OOD: ``imagenet``, or a set of small images
    superclasses: dict[str, list[str]]  # their classes; empty if the data set has coarse labels
    known_share: Share  # of each superclass that is in-distribution
    known_classes: list[str]  # in-distribution classes; the remaining ones are drawn
    validation_share: Share  # of the ID training images
    external: Annotated[list[DataSet], Field(min_length=1)]
    external_validation: Count  # held-out images of the external set, at most
    # kernel of the resize of the external images; "bilinear" needs images of one size
    external_kernel: Annotated[str, parameters.one_of("kernel", KERNELS)] = "bicubic"
    far: Annotated[  # data sets in the union of all test sets
        Annotated[list[DataSet], Tag("list")] | Annotated[dict[DataSet, FarSet], Tag("dict")],
        Discriminator(lambda value: "dict" if isinstance(value, dict) else "list"),
    ]
    aside: list[DataSet]  # further test sets
    # larger images, tested twice, resized with a filter ("fixed") and without ("aliased"), or ""
    resized: DataSet | Literal[""]
    far_images: Count  # of each far-OOD set, at most, drawn at random
    train_per_class: Count | None = None  # photographs of each class, at most
    held_out_per_class: Count | None = None  # photographs
    # quality of JPEG copies, which replace the known and the near-OOD images; by default no copies
    jpeg: Annotated[int, Field(ge=1, le=95)] | None = None
    networks: dict[Name, Changes]
    network: str  # that is evaluated
    runs: Repeats
    members: Annotated[int, Field(ge=2, le=100)]  # the seeds of two runs are as far apart
    passes: Count  # of MC dropout

    @property
    def in_memory(self) -> bool:
        """Whether the images are no photographs, which are streamed."""
        return self.data_set not in ("imagenet", "imagenet-bench")

    @model_validator(mode="after")
    def _check_benchmark(self):
        if self.data_set == "imagenet" and not (self.train_per_class and self.held_out_per_class):
            raise ValueError(
                "train_per_class, held_out_per_class: missing; both expected with photographs"
            )
        prepared = not self.in_memory or self.data_set.endswith("-bench")
        if prepared and self.external_kernel != "bicubic":
            raise ValueError(
                f"external_kernel: bicubic expected with {self.data_set}, whose external images "
                f"are not resized here, got {self.external_kernel}"
            )
        if self.jpeg and not self.in_memory:
            raise ValueError("jpeg: none expected with photographs, which are JPEG files already")
        for superclass, names in self.superclasses.items():
            parameters.check_classes(f"superclasses.{superclass}", self.data_set, names)
        parameters.check_classes("known_classes", self.data_set, self.known_classes)
        for name in self.far:
            parameters.check_classes(f"far.{name}.keep", name, self.far_set(name).keep)
        others = (self.external, [*self.far], self.aside, self.resized)
        if self.data_set.endswith("-bench") and others != ([self.data_set], [], [], ""):
            raise ValueError(
                f"external, far, aside, resized: ['{self.data_set}'], none, none and none expected "
                "with the authors' archive, which has its own external and far-OOD sets"
            )
        for changes in self.networks.values():
            super().recipe(changes)
        return self

    def far_set(self, name: str) -> FarSet:
        """Return the splits and classes of a far-OOD set, or of a set aside, that are used."""
        return self.far.get(name, FarSet()) if isinstance(self.far, dict) else FarSet()

    def most_images(self, name: str) -> int:
        """Return the largest number of images of a far-OOD set, or of a set aside."""
        return self.far_set(name).images or self.far_images

    def recipe(self, *changes: Changes) -> Recipe:
        """Return the recipe of `network` with changes in turn, the knobs last."""
        known_name("network", self.network, self.networks)
        return super().recipe(self.networks[self.network], *changes)


class Parameters(BenchmarkParameters):
    """The parameters of the evaluation, in addition to the benchmark."""

    grid: ClassVar = (*BenchmarkParameters.grid, "methods", "method_runs")

    methods: Annotated[list[Method], Field(min_length=1)]
    method_recipes: dict[Method, Changes]
    method_runs: dict[Method, Repeats] = Field({})  # of a method or its training, if not `runs`
    # ODIN and OpenMax are chosen among all pairs
    temperatures: Annotated[list[Annotated[float, Field(gt=0)]], Field(min_length=1)]
    epsilons: Annotated[list[Annotated[float, Field(ge=0)]], Field(min_length=1)]
    alphas: Annotated[list[Count], Field(min_length=1)]
    tails: Annotated[list[Annotated[int, Field(ge=2)]], Field(min_length=1)]
    distance: Distance
    # "run": each run has an ensemble of `members` networks, the first is the run's baseline;
    # "runs", as in the paper: one ensemble of the baselines of all runs
    ensemble_of: Literal["run", "runs"] = "run"

    @model_validator(mode="after")
    def _check_recipes(self):
        card = find(self.data_set)
        classes = sum(map(len, self.superclasses.values())) or (card.classes if card else 0)
        if classes and max(self.alphas) > classes:
            raise ValueError(
                f"alphas: at most the {classes} classes of {self.data_set} expected, "
                f"got {max(self.alphas)}"
            )
        for method in [*self.method_recipes, *self.methods]:  # in one order: always one message
            self.method_recipe(method)
        return self

    def method_recipe(self, method: str) -> Recipe:
        """Return the recipe of a method's networks."""
        training = methods.training_of(method)
        record = methods.RECORDS[training]
        recipe = self.recipe(dict(record.recipe), self.method_recipes.get(training, {}))
        if record.passes and not (recipe.dropout or recipe.block_dropout):
            raise ValueError(
                f"{training}: a recipe with dropout expected; all passes are equal without it"
            )
        return recipe

    def trainings(self) -> dict[str, dict]:
        """Return the arguments of each training notebook: it trains all methods of a run."""
        runs = range(self.runs)
        return {f"{self.network}-{run}": {"network": self.network, "run": run} for run in runs}
