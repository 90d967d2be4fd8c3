"""Parameters of *Rethinking OOD Detection From a Human-Centric Perspective*."""

import re
from importlib import import_module
from typing import Annotated, ClassVar, NamedTuple, Self

from pydantic import Field, model_validator

from helpers.checks import known_name
from helpers.files import content_of
from helpers.networks.recipe import Recipe
from helpers.papers import parameters
from helpers.papers.parameters import Changes, Count, DataSet, Name, Repeats, check_classes, one_of

TEXTS = content_of(__file__, "tables")
PAPER_METHODS = TEXTS["paper_methods"]
STRATEGIES = TEXTS["strategies"]
METHODS = PAPER_METHODS | TEXTS["other_methods"]

# Ways to evaluate, in addition to "primary".  There all training images fit a score, and the
# correctly classified ones give its threshold, as in the paper.
FRESH = "fresh threshold"  # from half of the test images; the other half is evaluated
EVERY_SET = "every far set"  # all available far sets count as label-shifted, each like a near set


class ModelName(NamedTuple):
    """Parts of a network's name, ``ARCHITECTURE[+STRATEGY[_STRENGTH]]``.

    The strength is the l2 radius of adversarial training.

    >>> ModelName.parse("resnet8+adversarial_0.5")
    ModelName(architecture='resnet8', strategy='adversarial', strength=0.5)
    >>> ModelName.parse("tf_efficientnet_lite0").family, ModelName.parse("vit_base").family
    ('tf_efficientnet_lite', 'vit')
    >>> ModelName.parse("resnet20.akamaster_cifar10").family
    'resnet.akamaster_cifar10'
    """

    architecture: str
    strategy: str = "normal"
    strength: float = 0.0

    @classmethod
    def parse(cls, name: str) -> Self:
        """Return the parts of a name."""
        architecture, plus, rest = name.partition("+")
        if not plus:
            return cls(architecture)
        match = re.fullmatch(r"(.*)_(\d+(?:\.\d+)?)", rest)
        strategy = match[1] if match else rest
        strength = float(match[2]) if match else 0.0
        return cls(architecture, known_name("strategy", strategy, STRATEGIES), strength)

    @property
    def family(self) -> str:
        """The architecture without its size; networks of a family differ in capacity.

        Published networks belong to other families than networks that are trained here.
        """
        whole, dot, tag = self.architecture.partition(".")
        name = re.sub(r"_(tiny|small|base|large)$", "", whole)
        letters = re.split(r"\d", name)[0].rstrip("_-")
        return (letters or name) + dot + tag


KINDS = ("test", "input-shifted", "label-shifted")  # of test sets
Method = Annotated[str, one_of("score", METHODS)]
# imported when needed, since SciPy takes long
_corruptions = one_of("corruption", lambda: import_module("helpers.data.corruptions").NAMES)


class Parameters(parameters.Parameters):
    """Parameters of the benchmark and its evaluation."""

    grid: ClassVar = (
        "names",
        "architectures",
        "strategies",
        "teachers",
        "pretrained",
        "exported",
        "runs",
        "examples",
        "shown",
        "other_data_sets",
    )

    data_set: DataSet  # ID set; see `other_data_sets`
    input_shifted: list[DataSet]  # with classes of the same names; only for `data_set`
    # input-shifted sets on which the prediction is one of the set's own classes
    own_classes: list[str] = Field(default_factory=list)
    # ID sets of published networks, by their record
    other_data_sets: list[DataSet] = Field(default_factory=list)
    # set of the training images of an ID set that has only test images; its classes are the same
    training_sets: dict[str, DataSet] = Field(default_factory=dict)
    corrupted: list[str]  # ID sets that are also corrupted as in ImageNet-C
    # of other classes; without a set that shares classes with the ID set
    label_shifted: list[DataSet]
    near: list[str] = Field(default_factory=list)  # WordNet removes their shared classes
    packs: bool = False  # whether all other packs are label-shifted sets of a variant
    excluded: dict[str, list[str]]  # classes that the networks know under another name
    train_per_class: Annotated[int, Field(ge=0)]  # 0: all
    corruptions: list[Annotated[str, _corruptions]]
    severities: list[Annotated[int, Field(ge=1, le=5)]]
    corrupted_images: Count  # of each corruption and severity, at most; or of each set
    input_shifted_images: Count
    label_shifted_images: Count
    names: Annotated[list[Name], Field(min_length=1)]  # of all networks
    # changes of the recipe; a network of another architecture is pretrained, or fine-tuned
    architectures: dict[Name, Changes]
    strategies: dict[Name, Changes]
    teachers: dict[Name, Name]  # of each distilled network
    pretrained: dict[Name, Name]  # timm's names of networks
    # networks that another chapter trained on the ID set: a file below ``results/`` for each run
    exported: dict[Name, Annotated[list[str], Field(min_length=1)]] = Field(default_factory=dict)
    runs: Repeats  # seeds of the training; a pretrained network has only run 0
    methods: Annotated[list[Method], Field(min_length=1)]
    score_arguments: dict[Method, Changes]
    examples: Annotated[list[Name], Field(min_length=1)]  # networks on the training page
    shown: str  # network of table 1 and figures 1 and 2

    @model_validator(mode="after")
    def _check_together(self):
        id_sets = [self.data_set, *self.other_data_sets]
        for kind, names, options in (
            ("set to corrupt", self.corrupted, id_sets),
            ("set of own classes", self.own_classes, self.input_shifted),
            ("near set", self.near, self.label_shifted),
            ("ID set", self.training_sets, id_sets),
        ):
            for name in names:
                known_name(kind, name, options)
        if both := [name for name in self.input_shifted if name in self.label_shifted]:
            raise ValueError(f"label_shifted: no input-shifted set expected, got {', '.join(both)}")
        parameters.check_scores("score_arguments", self.score_arguments)
        for name, classes in self.excluded.items():
            known_name("set of excluded classes", name, self.label_shifted)
            check_classes(f"excluded of {name}", name, classes)
        for field, names in (
            ("names", self.names),
            ("examples", self.examples),
            ("shown", [self.shown]),
        ):
            for name in names:
                architecture = self.pretrained.get(name, ModelName.parse(name).architecture)
                options = [*self.architectures, *self.exported]
                parameters.check_network(f"network in {field}", architecture, options)
        plain = [name for name in self.names if "+" not in name]
        for name in self.names:
            if name in self.teachers:
                architecture = ModelName.parse(self.teachers[name]).architecture
                known_name(f"teacher of {name}", architecture, [*self.architectures, *plain])
        for name in filter(self.trains, [*self.names, *self.teachers.values()]):
            self.recipe_of(name)
        return self

    def decisive(self) -> dict:
        """Return the values that rows depend on; single sets that are compared have intervals."""
        compared = {} if self.finished is None else {"finished": self.finished}
        return super().decisive() | compared

    def other_packs(self) -> list[str]:
        """Return the available packs that no parameter names; none unless `packs`."""
        if not self.packs:
            return []
        from helpers import data
        from helpers.files import data_root

        named = {self.data_set, *self.other_data_sets, *self.input_shifted, *self.label_shifted}
        others = [name for name in data.names() if name not in named]
        return [name for name in others if (data_root() / f"{name}.zip").is_file()]

    def data_sets_used(self) -> list[str]:
        """Return the names of all data sets."""
        return [*super().data_sets_used(), *self.other_packs()]

    def data_sets_needed(self) -> list[str]:
        """Return the ID set; the run continues without a missing shifted set."""
        return [self.data_set]

    def trains(self, name: str) -> bool:
        """Return whether a network is trained here, from scratch or fine-tuned."""
        _, plus, strategy = name.partition("+")
        scratch = ModelName.parse(name).architecture in self.architectures
        return scratch or (bool(plus) and strategy in self.strategies)

    def runs_of(self, name: str) -> int:
        """Return the number of trainings of a network."""
        if name in self.exported:
            return len(self.exported[name])
        return self.runs if self.trains(name) else 1

    def recipe_of(self, name: str) -> Recipe:
        """Return the recipe of a trained network; its name contains its radius."""
        architecture, plus, strategy = name.partition("+")
        changes = [self.architectures.get(architecture, {})]
        if plus:
            known_name(f"strategy of {name}", strategy, self.strategies)
            changes.append(self.strategies[strategy])
        recipe = self.recipe(*changes)
        radius = recipe.objective_arguments.get("radius", 0.0)
        if radius != ModelName.parse(name).strength:
            raise ValueError(f"model '{name}': its recipe has a radius of {radius:g}")
        return recipe

    def trainings(self) -> dict[str, dict]:
        """Return three groups of networks, the arguments of the training notebook.

        Examples and all teachers and students are in the first group: groups may run in parallel.
        """
        learners = [name for name in self.names if name in self.teachers]
        taught = {*learners, *(self.teachers[name] for name in learners)}
        rest = [name for name in self.names if name not in taught | {*self.examples}]
        normal = [name for name in rest if ModelName.parse(name).strategy == "normal"]
        groups = {
            "examples": [*self.examples, *sorted(taught - {*self.examples})],
            "architectures": normal,
            "strategies": [name for name in rest if name not in normal],
        }
        return {group: {"models": names} for group, names in groups.items() if names}
