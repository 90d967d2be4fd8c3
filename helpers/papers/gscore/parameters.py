"""The parameters of *Unsupervised Evaluation of Out-of-distribution Detection*."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, ClassVar

from pydantic import Field, model_validator

from helpers.checks import known_name
from helpers.networks import published
from helpers.papers import parameters
from helpers.papers.parameters import (
    Changes,
    Count,
    DataSet,
    Repeats,
    Score,
    Share,
    check_classes,
    one_of,
)

DETECTORS = {"msp": "MSP", "odin": "ODIN", "energy": "ENERGY", "max_logit": "MLS"}
"""The paper's four detectors by the names of their scores, and how they are called."""

DIVISION = ("fold_share", "validation_images", "set_images", "shown_again")
"""What a published network may have its own values of."""

Several = Annotated[int, Field(ge=2)]
Evaluator = Annotated[
    str, one_of("evaluator", lambda: import_module("helpers.labelfree").EVALUATORS)
]


class Parameters(parameters.Parameters):
    """What the suite and its evaluation are free to choose.

    Attributes
    ----------
    data_set : str
        The ID set; ``train`` and ``test`` (or ``val``) of it.
    held_out : list of str
        Classes of it that are left out, each a set of its own.
    sets : list of str
        Unknown images.  Of each, the split ``test``, else ``val``, ``sample``, ``train``.
    outliers : list of str
        Sets whose training images a network is shown as unknown (outlier exposure), and which
        therefore test nothing.
    packs : bool
        Every pack under `helpers.files.data_root` is a set too and, with `download`, every set that
        torchvision reads.  One of the latter that cannot be downloaded is left out, and says why.
    fold_share : float
        Share of the ID training images (of a published network: of the test images) that is mixed
        with the sets which the regression learns from; the network never sees them.
    validation_images : int
        ID images that one-sided density estimation learns from, of the same and likewise unseen.
    set_images : int
        Images of each set, at most.
    shown_again : int, optional
        Images of each set, at most, for a detector that goes back to the images, which takes
        several times as long; and of each role of ID images as many as validate.  By default all.
    networks : dict of str to dict
        What each changes in the recipe, under the names that the tables have for them; or a name
        of `helpers.networks.published.records`, and what of `DIVISION` is otherwise for it.
    other_data_sets : list of str
        ID sets on which the first network that is trained here is evaluated too, with all of their
        classes.
    detectors : list of str
        Scores of one pass, or of the images; the thresholds τ are found with the first of them.
    score_arguments : dict of str to dict
        Hyper-parameters of detectors, where they are not the defaults.
    evaluators : list of str
        Of `helpers.labelfree.EVALUATORS`; the two baselines are always there.
    meta_share : float
        Share of the sets that the regression learns from; the others test it.
    repeats : int
        Random divisions of the sets into these two: the runs of the results table.
    ratios : list of [int, int]
        Of ID to OOD images, as variants.
    sizes : list of int
        Images of a mixture, ID and OOD together, as variants.
    validations : list of int
        Validation images, as variants; at most `validation_images`.
    least_images : int
        Of ID, and of OOD images, where their numbers are drawn at random; fewer where a set has
        fewer.
    shifts : list of str
        Corruptions of the ID test images, as variants: ``NAME/SEVERITY``.
    level : float
        Share of the truths that the prediction intervals should hold.
    replicates : int
        Unused: the claims resample sets, and no row has replicates over images.
    """

    grid: ClassVar = ("networks", "data_set", "other_data_sets")

    data_set: DataSet
    held_out: list[str]
    sets: list[DataSet]
    outliers: list[DataSet]
    packs: bool
    fold_share: Share
    validation_images: Several
    set_images: Several
    shown_again: Several | None = None
    networks: Annotated[dict[str, Changes], Field(min_length=1)]
    other_data_sets: list[DataSet]
    detectors: Annotated[list[Score], Field(min_length=1)]
    score_arguments: dict[Score, Changes]
    evaluators: list[Evaluator]
    meta_share: Share
    repeats: Repeats
    ratios: list[Annotated[list[Count], Field(min_length=2, max_length=2)]]
    sizes: list[Annotated[int, Field(ge=4)]]
    validations: list[Several]
    least_images: Count
    shifts: list[str]
    level: Share
    replicates: Repeats = 1

    @model_validator(mode="after")
    def _check_together(self):
        from helpers.data.corruptions import NAMES, SEVERITIES

        check_classes("held_out", self.data_set, self.held_out)
        scores = import_module("helpers.scores")
        for name, changes in self.networks.items():
            if self.is_published(name):
                for one in changes:
                    known_name(f"value that '{name}' may have for itself", one, DIVISION)
                self.of_network(name)
            elif "." in name:
                known_name("published network", name, published.records())
            else:
                self.recipe(changes)
        if self.other_data_sets and all(map(self.is_published, self.networks)):
            raise ValueError(
                "other_data_sets: none expected, since all networks are published ones, each of "
                "which knows one ID set"
            )
        for detector in {*self.detectors, *self.score_arguments}:
            score = scores.create(detector, **self.score_arguments.get(detector, {}))
            if more := sorted({"members", "native"} & set(score.info.needs)):
                raise ValueError(
                    f"detector '{detector}' needs {', '.join(more)}, but here there are outputs of "
                    "one pass of a plain network; take another"
                )
        for count in self.validations:
            if count > self.validation_images:
                raise ValueError(
                    f"validations: at most validation_images ({self.validation_images}) expected, "
                    f"got {count}"
                )
        for shift in self.shifts:
            kind, _, severity = shift.partition("/")
            known_name("corruption", kind, NAMES)
            known_name("severity of a shift", severity, [str(level) for level in SEVERITIES])
        twice = sorted({name for name in self.sets if self.sets.count(name) > 1})
        if twice:
            raise ValueError(f"sets: twice: {', '.join(twice)}")
        return self

    def is_published(self, network: str) -> bool:
        """Tell whether others have trained a network, rather than that it is trained here."""
        return network in published.records()

    def of_network(self, network: str) -> Parameters:
        """Return the parameters with a published network's own values of `DIVISION`."""
        if not self.is_published(network) or not self.networks[network]:
            return self
        return self.replace(networks={network: {}}, other_data_sets=[], **self.networks[network])

    def id_set_of(self, network: str) -> str:
        """Return the ID set of a network: of a published one, that of its record.

        Of `data_set` and `other_data_sets` the one that is this set or its embedded part, else the
        whole.
        """
        if not self.is_published(network):
            return self.data_set
        record = published.find(network)
        named = (self.data_set, *self.other_data_sets)
        return next((one for one in named if one in record.id_sets), record.data_set)

    def data_sets_used(self) -> list[str]:
        """Return the names of all data sets, the packs at hand among them if they are sets."""
        own = super().data_sets_used() + [self.id_set_of(name) for name in self.networks]
        return list(dict.fromkeys(own + (packs() if self.packs else [])))

    def trainings(self) -> dict[str, dict]:
        """Return what the training notebook is told, for each network that is trained, if any."""
        trained = [name for name in self.networks if not self.is_published(name)]
        return {name: {"network": name} for name in trained or self.networks}


def packs() -> list[str]:
    """Return the names of the packs under `helpers.files.data_root`."""
    from helpers import data
    from helpers.files import data_root

    return sorted({path.stem for path in data_root().glob("*.zip")} & set(data.names()))
