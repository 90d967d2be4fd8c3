"""The methods of the benchmark: which networks each trains, and what it computes from them.

A method is a record here.  Every objective of `helpers.training` is a method too, whose confidence
is the maximum class probability.  So is any score on the networks of a method: ``baseline+energy``,
``mixup+knn``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from helpers.checks import known_name
from helpers.networks.recipe import OBJECTIVES
from helpers.papers.unknown_detection.authors import AUTHORS


@dataclass(frozen=True)
class Method:
    """A method's record.

    Attributes
    ----------
    title : str
        Title in tables and figures.
    key : str
        BibTeX key of its paper.
    recipe : dict
        What it changes in the common recipe: fields of `helpers.networks.recipe.Recipe`, such as
        the objective.  The parameter `method_recipes` comes after it.
    networks_of : str
        The method whose networks it uses, if it trains none.
    members : callable, optional
        From parameters and a run to the run and the number in it of each network; by default the
        first network of the run.
    passes : bool
        Whether its network predicts in several passes, with dropout.
    score : str
        A score of `helpers.scores`.  `detectors.DETECT` may have a function in place of a score.
    arguments : dict
        Arguments of the score.
    variants : tuple of str
        Variants of the results that come from the same networks by other functions of
        `detectors.DETECT`.
    aside : callable, optional
        For a score next to the methods that is no confidence: from parameters to whether an
        experiment has it.  It cannot be chosen by name.
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


def names() -> list[str]:
    """Return the names that can be chosen alone.

    Examples
    --------
    >>> names()[:9] == list(NINE)
    True
    """
    return [name for name, method in RECORDS.items() if not method.aside] + [*OTHERS]


def checked(name: str) -> str:
    """Return a method's name if there is such a method.

    Raises
    ------
    ValueError
        There is no such method or score, or the method before a "+" trains no networks; the message
        has the nearest name.

    Examples
    --------
    >>> checked("mixup+knn")
    'mixup+knn'
    >>> checked("odin+energy")
    Traceback (most recent call last):
        ...
    ValueError: odin+energy: the networks of 'odin' are those of 'baseline'; say baseline+energy
    """
    training, plus, score = name.partition("+")
    known_name("method", training, names())
    if plus:
        from helpers import scores

        known_name("score", score, scores.names())
        if of := named(training).networks_of:
            raise ValueError(
                f"{name}: the networks of '{training}' are those of '{of}'; say {of}+{score}"
            )
    return name


def named(name: str) -> Method:
    """Return the record of a method.

    Examples
    --------
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
    return replace(
        method, title=f"{method.title} + {info.title}", key=info.key, score=score, arguments={},
        variants=(),
    )  # fmt: skip


def training_of(name: str) -> str:
    """Return the method that trains the networks of a method; it may be the same method.

    Examples
    --------
    >>> training_of("crl+energy"), training_of("odin"), training_of("crl")
    ('crl', 'baseline', 'crl')
    """
    return named(name).networks_of or name.partition("+")[0]


def trained_in(parameters, run: int) -> list[str]:
    """Return the methods whose networks a run trains, without ensembles of other runs' networks."""
    trainings = dict.fromkeys(training_of(name) for name in parameters.methods)
    return [
        name
        for name in trainings
        if all(of == run for of, _ in named(name).networks(parameters, run))
    ]


def title(name: str) -> str:
    """Return a method's title.

    Examples
    --------
    >>> title("crl"), title("crl+energy")
    ('CRL', 'CRL + Energy')
    """
    return named(name).title
