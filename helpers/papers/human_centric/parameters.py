"""Parameters of *Rethinking OOD Detection From a Human-Centric Perspective*."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import import_module
from typing import Annotated, ClassVar

from pydantic import Field, model_validator

from helpers.checks import known_name
from helpers.networks.recipe import Recipe
from helpers.papers import parameters
from helpers.papers.parameters import (
    Changes,
    Count,
    DataSet,
    Repeats,
    check_classes,
    check_network,
    one_of,
)

PAPER_METHODS = {
    "msp": "MSP", "mahalanobis": "Mahalanobis", "kl_matching": "KL-Matching", "energy": "Energy",
    "react": "ReAct", "gradnorm": "GradNorm", "knn": "KNN", "vim": "ViM", "dice": "DICE",
}  # fmt: skip
"""The paper's nine scores in the order of its tables, and how they are called."""

METHODS = PAPER_METHODS | {
    "max_logit": "MaxLogit", "ash": "ASH", "scale": "SCALE", "gen": "GEN", "rmds": "RMDS",
    "she": "SHE", "fdbd": "fDBD", "nnguide": "NNGuide", "mahalanobis_pp": "Mahalanobis++",
    "rmds_pp": "RMDS++", "nci": "NCI", "relation": "Relation", "vra": "VRA",
}  # fmt: skip
"""Those, and the ones that a user of today expects beside them."""

STRATEGIES = {
    "normal": "normal", "finetuned": "fine-tuned", "distilled": "distilled",
    "adversarial": "adversarial, ℓ2", "augmix": "AugMix", "autoaugment": "AutoAugment",
    "adversarial_noise": "adversarial noise", "gaussian_noise": "Gaussian noise",
    "speckle_noise": "speckle noise", "stylised": "stylised", "stylised_half": "stylised + plain",
}  # fmt: skip
"""Ways to train a network of some architecture, as a model's name has them."""

HELD_OUT, ALL_CLASSES, EVERY_SET = "held-out threshold", "all classes", "every far set"
VARIANTS = {
    "primary": "All training images fit a score, and those that are answered correctly give its "
    "threshold, as in the paper.",
    HELD_OUT: "One half of the training images fits a score, the other half gives its threshold.",
    ALL_CLASSES: "A network answers with all classes that it has, not only with the data set's.",
    EVERY_SET: "All far sets at hand count as label-shifted ones, each like a near set.",
}
"""Ways to evaluate, and what is different in each."""


@dataclass(frozen=True)
class ModelName:
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
    def parse(cls, name: str) -> ModelName:
        """Return the parts of a name."""
        architecture, plus, rest = name.partition("+")
        if not plus:
            return cls(architecture)
        strategy, strength = rest, 0.0
        if found := re.fullmatch(r"(.*)_(\d+(?:\.\d+)?)", rest):
            strategy, strength = found[1], float(found[2])
        return cls(architecture, known_name("strategy", strategy, STRATEGIES), strength)

    @property
    def family(self) -> str:
        """The architecture without its size; networks of a family differ in capacity.

        Published networks belong to other families than networks that are trained here.
        """
        whole, dot, tag = self.architecture.partition(".")
        name = re.sub(r"_(tiny|small|base|large)$", "", whole)
        return (re.match(r"\D*", name)[0].rstrip("_-") or name) + dot + tag


Method = Annotated[str, one_of("score", METHODS)]
Corruption = Annotated[
    str, one_of("corruption", lambda: import_module("helpers.data.corruptions").NAMES)
]  # imported when it is asked for, since SciPy takes long


class Parameters(parameters.Parameters):
    """Parameters of the benchmark and its evaluation.

    Attributes
    ----------
    data_set, other_data_sets
        ID sets.  A published network is evaluated on the set of its record; all others on
        `data_set`.
    input_shifted : list of str
        Data sets with classes of the same names; only for `data_set`.
    own_classes : list of str
        Input-shifted sets on which the prediction is one of the set's own classes.
    corrupted : list of str
        ID and input-shifted sets that are also corrupted as in ImageNet-C, in memory.
    label_shifted : list of str
        Data sets of other classes.  In an input-shifted set, images of unknown classes.  A set that
        shares classes with the ID set (`class_lists.shared_classes`) is left out.
    near : list of str
        Label-shifted sets whose shared classes are removed by WordNet (`overlaps.find_related`).
    packs : bool
        Whether all other packs in `data_root` are label-shifted sets of a separate variant.
    excluded : dict of str to list of str
        Classes of a label-shifted set that the networks know under another name.
    train_per_class, threshold_per_class : int
        Training images of each class, 0 for all; and held-out images among them, 0 for every
        second.
    corruptions, severities
        Of `helpers.data.corruptions`, and of the folder ``imagenet_c``.
    corrupted_images, input_shifted_images, label_shifted_images : int
        Largest number of images of each corruption and severity, or of each set.
    names, examples, shown
        All networks; those on the training page; the network of table 1 and figures 1 and 2.
    architectures, strategies : dict of str to dict
        Changes of the recipe.  A network of another architecture is pretrained, or fine-tuned.
    teachers, pretrained : dict of str to str
        The teacher of each distilled network, and timm's names of pretrained networks.
    runs : int
        Seeds of the training; a pretrained network has only run 0.
    methods, score_arguments
        Scores of `METHODS`, and their hyper-parameters.
    """

    grid: ClassVar = ("names", "architectures", "strategies", "teachers", "pretrained", "runs",
                      "examples", "shown", "other_data_sets")  # fmt: skip

    data_set: DataSet
    input_shifted: list[DataSet]
    own_classes: list[str] = Field(default_factory=list)
    other_data_sets: list[DataSet] = Field(default_factory=list)
    corrupted: list[str]
    label_shifted: list[DataSet]
    near: list[str] = Field(default_factory=list)
    packs: bool = False
    excluded: dict[str, list[str]]
    train_per_class: Annotated[int, Field(ge=0)]
    threshold_per_class: Annotated[int, Field(ge=0)] = 0
    corruptions: list[Corruption]
    severities: list[Annotated[int, Field(ge=1, le=5)]]
    corrupted_images: Count
    input_shifted_images: Count
    label_shifted_images: Count
    names: Annotated[list[str], Field(min_length=1)]
    architectures: dict[str, Changes]
    strategies: dict[str, Changes]
    teachers: dict[str, str]
    pretrained: dict[str, str]
    runs: Repeats
    methods: Annotated[list[Method], Field(min_length=1)]
    score_arguments: dict[Method, Changes]
    examples: Annotated[list[str], Field(min_length=1)]
    shown: str

    @model_validator(mode="after")
    def _check_together(self):
        id_sets = [self.data_set, *self.other_data_sets]
        for name in self.corrupted:
            known_name("set to corrupt", name, [*id_sets, *self.input_shifted])
        for name in self.own_classes:
            known_name("set of own classes", name, self.input_shifted)
        for name in self.near:
            known_name("near set", name, [*self.label_shifted])
        for name, classes in self.excluded.items():
            known_name("set of excluded classes", name, self.label_shifted)
            check_classes(f"excluded of {name}", name, classes)
        for field in ("names", "examples", "shown"):
            for name in [self.shown] if field == "shown" else getattr(self, field):
                architecture = self.pretrained.get(name, ModelName.parse(name).architecture)
                check_network(f"network in {field}", architecture, self.architectures)
        for name, teacher in self.teachers.items():
            architecture = ModelName.parse(teacher).architecture
            options = [*self.architectures, *(one for one in self.names if "+" not in one)]
            known_name(f"teacher of {name}", architecture, options)
        for name in filter(self.trains, [*self.names, *self.teachers.values()]):
            self.recipe_of(name)
        return self

    def other_packs(self) -> list[str]:
        """Return the available packs that no parameter names; none unless `packs`."""
        if not self.packs:
            return []
        from helpers import data
        from helpers.files import data_root

        named = {self.data_set, *self.other_data_sets, *self.input_shifted, *self.label_shifted}
        there = (name for name in data.names() if (data_root() / f"{name}.zip").is_file())
        return [name for name in there if name not in named]

    def data_sets_used(self) -> list[str]:
        """Return the names of all data sets."""
        return [*super().data_sets_used(), *self.other_packs()]

    def data_sets_needed(self) -> list[str]:
        """Return the ID set; the run goes on without a missing shifted set."""
        return [self.data_set]

    def trains(self, name: str) -> bool:
        """Return whether a network is trained here, from scratch or fine-tuned."""
        _, plus, strategy = name.partition("+")
        own = ModelName.parse(name).architecture in self.architectures
        return own or (bool(plus) and strategy in self.strategies)

    def recipe_of(self, name: str) -> Recipe:
        """Return the recipe of a trained network; its radius is that of its name."""
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
        rest = [one for one in self.names if one not in taught | {*self.examples}]
        normal = [name for name in rest if ModelName.parse(name).strategy == "normal"]
        groups = {
            "examples": [*self.examples, *sorted(taught - {*self.examples})],
            "architectures": normal,
            "strategies": [name for name in rest if name not in normal],
        }
        return {group: {"models": names} for group, names in groups.items() if names}
