"""The methods of the benchmark: the networks of each, and the score computed from them.

A method is a record here.  Every objective of `helpers.training` is a method too, with the maximum
class probability as confidence, and so is any score on a method's networks: ``mixup+knn``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from helpers.checks import known_name
from helpers.networks.recipe import OBJECTIVES

AUTHORS = "authors"
"""The variant by the authors' code: their OpenMax, and their rule for every false positive rate."""


@dataclass(frozen=True)
class Method:
    """A method's record.

    Attributes
    ----------
    title, key : str
        Title in tables and figures, and BibTeX key of the method's paper.
    recipe : dict
        Fields of `helpers.networks.recipe.Recipe` that it changes, before `method_recipes` does.
    networks_of : str
        The method whose networks it uses, if it trains none.
    members : callable, optional
        From parameters and a run to (run, number) of each network; by default (run, 0).
    passes : bool
        Whether its network predicts in several passes, with dropout.
    score, arguments : str and dict
        A score of `helpers.scores`; `detectors.DETECT` may replace it by a function.
    variants : tuple of str
        Further functions of `detectors.DETECT` on the same networks.
    aside : callable, optional
        For a score that is no confidence and cannot be chosen: from parameters to whether an
        experiment computes it.
    """

    title: str
    key: str
    recipe: Mapping[str, Any] = field(default_factory=dict)
    networks_of: str = ""
    members: Callable[..., list[tuple[int, int]]] | None = None
    passes: bool = False
    score: str = "msp"
    arguments: Mapping[str, Any] = field(default_factory=dict)
    variants: tuple[str, ...] = ()
    aside: Callable[..., bool] | None = None

    def networks(self, parameters, run: int) -> list[tuple[int, int]]:
        """Return the networks of the method in a run: the run and the number of each."""
        return self.members(parameters, run) if self.members else [(run, 0)]


def members(parameters, run: int) -> list[tuple[int, int]]:
    """Return the networks of a run's ensemble, or the first network of every run."""
    if parameters.ensemble_of == "runs":
        return [(number, 0) for number in range(parameters.runs)]
    return [(run, member) for member in range(parameters.members)]


NINE = {
    "baseline": Method("Baseline", "hendrycks2017"),
    "crl": Method("CRL", "moon2020", {"objective": "crl"}),
    "edl": Method("EDL", "sensoy2018", {"objective": "edl"}, variants=("evidence",)),
    "mc_dropout": Method("MC dropout", "gal2016", passes=True),
    "ensemble": Method("Deep Ensemble", "lakshminarayanan2017", members=members),
    "augmix": Method("AugMix", "hendrycks2020", {"objective": "augmix"}),
    "odin": Method("ODIN", "liang2018", networks_of="baseline"),
    "outlier_exposure": Method(
        "Outlier Exposure", "hendrycks2019", {"objective": "outlier_exposure"}
    ),
    "openmax": Method("OpenMax", "bendale2016", networks_of="baseline", variants=(AUTHORS,)),
}
"""The methods of Kim et al. 2023 in the order of their tables.  Claims are about these alone."""

RECORDS = NINE | {
    "mahalanobis": Method(
        "Mahalanobis", "lee2018", networks_of="baseline", score="mahalanobis",
        aside=lambda parameters: bool(parameters.resized),  # there it shows what a resize does
    ),
    "smoothness": Method(
        "Smoothness of the image", "", networks_of="baseline",
        aside=lambda parameters: not parameters.streamed,
    ),
}  # fmt: skip
"""All methods by name.  The paper tried Mahalanobis and left it out; smoothness uses no network."""

OTHERS = tuple(name for name in OBJECTIVES if name not in RECORDS and name != "erm")
"""Objectives without a record; "erm" is the baseline's."""


def checked(name: str) -> str:
    """Return a method's name if there is such a method.

    >>> checked("odin+energy")
    Traceback (most recent call last):
        ...
    ValueError: odin+energy: the networks of 'odin' are those of 'baseline'; say baseline+energy
    """
    training, plus, score = name.partition("+")
    chosen = [name for name, method in RECORDS.items() if not method.aside]
    known_name("method", training, [*chosen, *OTHERS])
    if plus:
        from helpers import scores

        known_name("score", score, scores.names())
        if trained := named(training).networks_of:
            raise ValueError(
                f"{name}: the networks of '{training}' are those of '{trained}'; "
                f"say {trained}+{score}"
            )
    return name


def named(name: str) -> Method:
    """Return the record of a method.

    >>> named("crl+energy").recipe, named("crl+energy").score, named("crl").score
    ({'objective': 'crl'}, 'energy', 'msp')
    >>> named("mixup").title, named("baseline+knn").title
    ('Mixup', 'Baseline + Nearest neighbours (KNN)')
    """
    training, plus, score = name.partition("+")
    if training in RECORDS:
        method = RECORDS[training]
    else:
        title = training.upper() if len(training) <= 4 else training.replace("_", " ").capitalize()
        method = Method(title, "", {"objective": known_name("method", training, OTHERS)})
    if not plus:
        return method
    from helpers import scores

    info = scores.create(score).info
    title = f"{method.title} + {info.title}"
    return replace(method, title=title, key=info.key, score=score, arguments={}, variants=())


def training_of(name: str) -> str:
    """Return the method that trains the networks of a method: "baseline" for "odin"."""
    return named(name).networks_of or name.partition("+")[0]


def trained_in(parameters, run: int) -> list[str]:
    """Return the methods whose networks a run trains, without ensembles of other runs' networks."""
    trainings = dict.fromkeys(training_of(name) for name in parameters.methods)
    return [
        name
        for name in trainings
        if all(number == run for number, _ in named(name).networks(parameters, run))
    ]


def title(name: str) -> str:
    """Return a method's title: "CRL + Energy" for "crl+energy"."""
    return named(name).title
