"""The parameters of *Unsupervised Evaluation of Out-of-distribution Detection*."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, ClassVar

from pydantic import Field, model_validator

from helpers.checks import known_name
from helpers.networks import zoo_records
from helpers.papers import parameters
from helpers.papers.parameters import (
    Changes,
    Count,
    DataSet,
    Name,
    Repeats,
    Score,
    Share,
    one_of,
)

#: Titles of the paper's four detectors by the names of their scores.
DETECTORS = {"msp": "MSP", "odin": "ODIN", "energy": "Energy", "max_logit": "MaxLogit"}

#: The parameters that a published network may have separate values of.
DIVISION = ("fold_share", "validation_images", "set_images", "shown_again")

Several = Annotated[int, Field(ge=2)]
Evaluator = Annotated[
    str, one_of("evaluator", lambda: import_module("helpers.labelfree").EVALUATORS)
]


class Parameters(parameters.Parameters):
    """The parameters of the suite and its evaluation."""

    grid: ClassVar = ("networks", "data_set", "other_data_sets")

    data_set: DataSet
    sets: list[DataSet]
    packs: bool
    fold_share: Share
    validation_images: Several
    set_images: Several
    shown_again: Several | None = None
    networks: Annotated[dict[Name, Changes], Field(min_length=1)]
    other_data_sets: list[DataSet]
    detectors: Annotated[list[Score], Field(min_length=1)]
    score_arguments: dict[Score, Changes]
    evaluators: list[Evaluator]
    meta_share: Share
    repeats: Repeats
    ratios: list[Annotated[list[Count], Field(min_length=2, max_length=2)]]
    sizes: list[Annotated[int, Field(ge=4)]]
    validations: list[Several]
    shifts: list[str]
    level: Share
    replicates: Repeats = 1  # of AUROC and FPR95 of each set, and of the accuracy; 1: no interval

    @model_validator(mode="after")
    def _check_together(self):
        from helpers.data.corruptions import NAMES, SEVERITIES

        plain: dict[str, Changes] = {name: {} for name in self.detectors}
        arguments = plain | self.score_arguments
        created = parameters.check_scores("score_arguments", arguments)
        for name, changes in self.networks.items():
            if self.is_published(name):
                for change in changes:
                    known_name(f"parameter in networks.{name}", change, DIVISION)
                self.of_network(name)
            elif "." in name:
                known_name("published network", name, zoo_records.records())
            else:
                self.recipe(changes)
        if self.other_data_sets and all(map(self.is_published, self.networks)):
            raise ValueError(
                "other_data_sets: none expected with published networks alone, because each of "
                "them knows one ID set"
            )
        for detector in self.detectors:
            needs = created[detector].info.needs
            if lacking := sorted({"members", "native"} & set(needs)):
                raise ValueError(
                    f"detector '{detector}' needs {', '.join(lacking)}, but a plain network has "
                    "outputs of one pass; choose another detector"
                )
        most = max(self.validations, default=0)
        if most > self.validation_images:
            raise ValueError(
                f"validations: at most validation_images ({self.validation_images}) expected, "
                f"got {most}"
            )
        for shift in self.shifts:
            kind, _, severity = shift.partition("/")
            known_name("corruption", kind, NAMES)
            known_name("severity of a shift", severity, [str(level) for level in SEVERITIES])
        if not (self.sets or self.packs):
            raise ValueError("sets, packs: at least one set of unknown images expected")
        return self

    def is_published(self, network: str) -> bool:
        """Return True for a published network, and False for one that is trained here."""
        return network in zoo_records.records()

    def of_network(self, network: str) -> Parameters:
        """Return the parameters with a published network's values of `DIVISION`."""
        if not self.is_published(network) or not self.networks[network]:
            return self
        return self.replace(networks={network: {}}, other_data_sets=[], **self.networks[network])

    def id_set_of(self, network: str) -> str:
        """Return the ID set of a network: for a published one, the set of its record.

        It is the whole set, or the embedded part if `data_set` or `other_data_sets` name the part.
        """
        if not self.is_published(network):
            return self.data_set
        record = zoo_records.find(network)
        named = [name for name in (self.data_set, *self.other_data_sets) if name in record.id_sets]
        return named[0] if named else record.data_set

    def data_sets_used(self) -> list[str]:
        """Return the names of all data sets, with the available packs if they are sets."""
        names = super().data_sets_used()
        names += [self.id_set_of(name) for name in self.networks]
        if self.packs:
            names += packs()
        return list(dict.fromkeys(names))

    def trainings(self) -> dict[str, dict]:
        """Return the arguments of the training notebook for each trained network, if any."""
        trained = [name for name in self.networks if not self.is_published(name)]
        return {name: {"network": name} for name in trained or self.networks}


def packs() -> list[str]:
    """Return the names of the packs under `helpers.files.data_root`."""
    from helpers import data
    from helpers.files import data_root

    return sorted({path.stem for path in data_root().glob("*.zip")} & set(data.names()))
