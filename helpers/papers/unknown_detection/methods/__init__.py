"""The methods of the benchmark, a file each, found by its name; nothing else is to be edited.

Beside those of the files, every objective of `helpers.training` is one by itself, whose confidence
is the maximum class probability, and so is any score on the networks of any: ``baseline+energy``,
``mixup+knn``.
"""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from helpers.checks import known_name
from helpers.networks.recipe import OBJECTIVES
from helpers.papers.unknown_detection.method import Method

if TYPE_CHECKING:
    from helpers.papers.unknown_detection.parameters import Parameters

YOURS = "yours: "
"""What the name of a method begins with whose answers somebody else gave, see `yours`."""

FILES: dict[str, Method] = {}
"""By name; the paper's nine in the order of its tables, and then the others."""

for _file in iter_modules(__path__):
    _one = import_module(f"{__name__}.{_file.name}").METHOD
    FILES[_file.name] = replace(_one, name=_file.name)
FILES = dict(sorted(FILES.items(), key=lambda item: (not item[1].place, item[1].place, item[0])))

OTHERS = tuple(one for one in OBJECTIVES if one not in FILES and one != "erm")
"""Objectives that no file has; "erm" is the baseline's."""


def names() -> list[str]:
    """Return what can be named alone; those that stand aside come by themselves.

    Examples
    --------
    >>> names()[:9]
    ['baseline', 'crl', 'edl', 'mc_dropout', 'ensemble', 'augmix', 'odin', 'outlier_exposure', \
'openmax']
    """
    return [name for name, one in FILES.items() if not one.aside] + [*OTHERS]


def checked(name: str) -> str:
    """Return a method's name if there is such a method.

    Raises
    ------
    ValueError
        There is no such method, no such score, or the method before a "+" trains no networks of its
        own; says which is nearest.

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
    if training in FILES:
        one = FILES[training]
    else:
        title = training.upper() if len(training) <= 4 else training.replace("_", " ").capitalize()
        recipe = {"objective": known_name("method", training, OTHERS)}
        one = Method(title, key="", name=training, recipe=recipe)
    if not plus:
        return one
    from helpers import scores

    info = scores.create(score).info
    return replace(
        one, title=f"{one.title} + {info.title}", key=info.key, name=name, place=0, score=score,
        arguments={}, detect=None, variants={},
    )  # fmt: skip


def training_of(name: str) -> str:
    """Return the method that trains the networks that a method asks; it may be itself.

    Examples
    --------
    >>> training_of("crl+energy"), training_of("odin"), training_of("crl")
    ('crl', 'baseline', 'crl')
    """
    return named(name).networks_of or name.partition("+")[0]


def trained_in(parameters: Parameters, run: int) -> list[str]:
    """Return the methods whose networks a run trains; not one that is made of other runs'."""
    trainings = dict.fromkeys(training_of(one) for one in parameters.methods)
    return [
        one for one in trainings if all(of == run for of, _ in named(one).networks(parameters, run))
    ]


def title(name: str) -> str:
    """Return what a method is called; one of `YOURS` by the name that it was given.

    Examples
    --------
    >>> title("crl"), title("crl+energy"), title("yours: my net")
    ('CRL', 'CRL + Energy', 'my net')
    """
    return name.removeprefix(YOURS) if name.startswith(YOURS) else named(name).title
