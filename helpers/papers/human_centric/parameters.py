"""The parameters of *Rethinking Out-of-Distribution Detection From a Human-Centric Perspective*."""

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
    """What the name of a model says: ``ARCHITECTURE[+STRATEGY[_STRENGTH]]``.

    Attributes
    ----------
    architecture : str
    strategy : str
        One of `STRATEGIES`; "normal" where the name has none.
    strength : float
        Of adversarial training, the radius of its ℓ2 ball; else 0.

    Examples
    --------
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
        """Take a name apart.

        Raises
        ------
        ValueError
            There is no such strategy; says which is nearest.
        """
        architecture, plus, rest = name.partition("+")
        if not plus:
            return cls(architecture)
        strategy, strength = rest, 0.0
        if found := re.fullmatch(r"(.*)_(\d+(?:\.\d+)?)", rest):
            strategy, strength = found[1], float(found[2])
        return cls(architecture, known_name("strategy", strategy, STRATEGIES), strength)

    @property
    def family(self) -> str:
        """The architecture without its size: models of one family differ in capacity.

        Those that others have trained are of another family than those that are trained here.
        """
        whole, dot, tag = self.architecture.partition(".")
        name = re.sub(r"_(tiny|small|base|large)$", "", whole)
        return (re.match(r"\D*", name)[0].rstrip("_-") or name) + dot + tag


Method = Annotated[str, one_of("score", METHODS)]
Corruption = Annotated[
    str, one_of("corruption", lambda: import_module("helpers.data.corruptions").NAMES)
]  # imported when it is asked for, since SciPy takes long


class Parameters(parameters.Parameters):
    """What the benchmark and its evaluation are free to choose.

    Attributes
    ----------
    data_set : str
        With a training split and a split ``test`` or ``val``.
    input_shifted : list of str
        Data sets with classes of the same names.
        Not shown to networks of `other_data_sets`.
    own_classes : list of str
        Of `input_shifted`, those on which an answer is the most probable of the set's own classes
        instead of all that a network knows.  Scores and their thresholds see all classes.
    other_data_sets : list of str
        ID sets beside `data_set`.  A network that others have published is judged on the one that
        it was trained on; all other networks on `data_set`.
    corrupted : list of str
        Of the ID sets and `input_shifted`, those that are also shown with the corruptions of
        ImageNet-C; in memory only.
    label_shifted : list of str
        Data sets of other classes.  One may be among `input_shifted` too: its images of known
        classes are then shifted in their input, the rest in their label.  Of the others one is
        left out beside an ID set that it shows classes of (`class_lists.shared_classes`), or is.
    near : list of str
        Of `label_shifted`, those whose classes are nouns of WordNet like those of the ID set: only
        the classes go that it shares (`overlaps.find_related`).  In memory only; they are brought
        to the size of the ID images.
    packs : bool
        Every other pack under `helpers.files.data_root` that shows no class of the ID set is a
        label-shifted set too, and counts in a variant alone.
    excluded : dict of str to list of str
        Classes of a label-shifted set that the models know under another name.
    train_per_class : int
        Training images of each class, at most, for thresholds and statistics, and for networks
        that are trained here; 0 takes all of them.
    threshold_per_class : int
        Of these, as many of each class as decide the thresholds alone in the variant of the
        held-out threshold, where all others fit the scores; 0 takes every second image.
    corruptions, severities
        Of `helpers.data.corruptions`; and those of the folder ``imagenet_c`` that are shown.
    corrupted_images : int
        Images of a set that each corruption at each severity is shown on, at most.
    input_shifted_images, label_shifted_images : int
        Images of each such set, at most; the first ones in a random order.
    names : list of str
        The models, in the order of tables; see `ModelName`.
    architectures, strategies : dict of str to dict
        What each changes in the recipe.  A model whose architecture is among them is trained,
        any other is a pretrained network: as it is, or fine-tuned by a strategy.
    teachers : dict of str to str
        For each distilled model that is trained, the one that it learns from.
    pretrained : dict of str to str
        What timm calls a pretrained network, where that is not its name here.
    runs : int
        Seeds of the training; a pretrained model has run 0 alone.
    methods : list of str
        Scores, of `METHODS`.
    score_arguments : dict of str to dict
        Hyper-parameters of scores, where they are not the defaults.
    examples : list of str
        The models on the book's page about training.
    shown : str
        The model of table 1 and of figures 1 and 2.
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
        """Return the packs at hand that are no set of these by name; none unless they count."""
        if not self.packs:
            return []
        from helpers import data
        from helpers.files import data_root

        named = {self.data_set, *self.other_data_sets, *self.input_shifted, *self.label_shifted}
        there = (name for name in data.names() if (data_root() / f"{name}.zip").is_file())
        return [name for name in there if name not in named]

    def data_sets_used(self) -> list[str]:
        """Return the names of all data sets, the packs at hand among them if they count."""
        return [*super().data_sets_used(), *self.other_packs()]

    def data_sets_needed(self) -> list[str]:
        """Return the ID set; a shifted one that is missing costs no other (`roles`)."""
        return [self.data_set]

    def trains(self, name: str) -> bool:
        """Tell whether a model is trained here, from scratch or from a pretrained one."""
        _, plus, strategy = name.partition("+")
        own = ModelName.parse(name).architecture in self.architectures
        return own or (bool(plus) and strategy in self.strategies)

    def recipe_of(self, name: str) -> Recipe:
        """Return the recipe of one of the models that are trained.

        The strength in a model's name is that of its recipe: a name never says anything else.

        Raises
        ------
        ValueError
            They differ; or the strategy has no recipe.
        """
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
        """Return what the training notebook is told: three groups of models.

        Those on the book's page come first, and with them all that teach or are taught, since
        groups are trained side by side.
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
