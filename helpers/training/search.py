"""Random search: the defaults first, then draws from the law of each hyper-parameter."""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import fields

import numpy as np

from helpers.checks import known_name
from helpers.networks.recipe import Recipe

#: The arguments of each objective that has some, as its class takes them; a test compares them.
#: They are here because the objectives import torch, and parameters are checked without it.
ARGUMENTS = {
    "adversarial": ("radius", "steps"),
    "augmix": ("weight", "severity", "width", "depth", "shear_centre"),
    "autoaugment": ("groups",),
    "crl": ("weight",),
    "distillation": ("weight", "temperature"),
    "edl": ("weight", "ramp_epochs"),
    "mimo": ("subnetworks", "input_repetition", "batch_repetition"),
    "mixup": ("alpha",),
    "noise": ("gaussian", "speckle", "share"),
    "oc": ("weight", "penalty", "width", "depth"),
    "outlier_exposure": ("weight", "ratio"),
    "rnd": ("weight", "width", "depth"),
    "soft_labels": ("positive",),
    "stylised": ("share",),
}
LAWS = ("choice", "log_uniform", "uniform")

#: ``{"uniform": [low, high]}``, ``{"log_uniform": [low, high]}``, whose logarithm is uniform, or
#: ``{"choice": [one, another, ...]}``.
Law = Mapping[str, Sequence[float]]
#: NumPy's generators, the former one too.
Generator = np.random.Generator | np.random.RandomState
#: Ways to draw, see `trials`.
DRAWS = ("names", "sequence")


def check_law(name: str, law: Law) -> None:
    """Refuse a law of unknown form or with an impossible range.

    Examples
    --------
    >>> check_law("learning_rate", {"log_uniform": [0, 0.5]})
    Traceback (most recent call last):
        ...
    ValueError: learning_rate: log_uniform of two numbers above 0, the lower first, expected, \
got [0, 0.5]
    """
    if not isinstance(law, Mapping) or len(law) != 1:
        raise ValueError(f"{name}: one law out of {', '.join(LAWS)} expected, got {law!r}")
    ((kind, values),) = law.items()
    known_name(f"law of '{name}'", kind, LAWS)
    if isinstance(values, str) or not isinstance(values, Sequence) or not len(values):
        raise ValueError(f"{name}: {kind} of a list of values expected, got {values!r}")
    if kind == "choice":
        return
    above = " above 0" if kind == "log_uniform" else ""
    numbers = all(isinstance(value, int | float) and math.isfinite(value) for value in values)
    ranged = numbers and len(values) == 2 and values[0] <= values[1]
    if not ranged or (above and values[0] <= 0):
        raise ValueError(
            f"{name}: {kind} of two numbers{above}, the lower first, expected, got {list(values)}"
        )


def trials(
    space: Mapping[str, Law],
    defaults: Mapping[str, object],
    count: int,
    *,
    seed: int = 0,
    draws: str = "names",
) -> list[dict]:
    """Return the hyper-parameters of each trial.

    Trial 0 has the defaults.  A later trial draws a hyper-parameter from the seed, the number of
    the trial and the hyper-parameter's name alone.  More trials or hyper-parameters do not change
    it, and algorithms with a common hyper-parameter are compared at the same values.

    With ``draws="sequence"``, trial N draws all hyper-parameters of `space` in their order from
    NumPy's former generator with the seed N, as code does that calls ``numpy.random.seed(N)``.

    Parameters
    ----------
    space : mapping of str to Law
        Laws of the hyper-parameters in the search.
    defaults : mapping of str to value
        Default values of these, and values of constant hyper-parameters.
    count : int
        The number of trials, the defaults included.
    seed : int
        Not negative; without effect on ``sequence``.
    draws : {"names", "sequence"}
        Where the random numbers of a trial come from.

    Returns
    -------
    list of dict
        List of `count` trials; each is in the order of `defaults`.

    Examples
    --------
    >>> space = {"momentum": {"choice": [0.5, 0.9]}, "learning_rate": {"log_uniform": [0.01, 0.5]}}
    >>> draws = trials(space, {"learning_rate": 0.1, "momentum": 0.9, "depth": 8}, 3)
    >>> draws[0]
    {'learning_rate': 0.1, 'momentum': 0.9, 'depth': 8}
    >>> all(0.01 <= draw["learning_rate"] <= 0.5 and draw["depth"] == 8 for draw in draws)
    True
    """
    known_name("draws", draws, DRAWS)
    if count < 1:
        raise ValueError(f"count: at least 1 trial expected, got {count}")
    for name, law in space.items():
        known_name("hyper-parameter", name, defaults)
        check_law(name, law)

    def generators(trial: int) -> dict[str, Generator]:
        if draws == "sequence":
            return dict.fromkeys(space, np.random.RandomState(trial))
        seeds = {name: [seed, trial, zlib.crc32(name.encode())] for name in space}
        return {name: np.random.default_rng(seeds[name]) for name in space}

    trials_drawn = [dict(defaults)]
    for trial in range(1, count):
        values = dict(defaults)
        for name, generator in generators(trial).items():
            values[name] = _drawn(space[name], generator)
        trials_drawn.append(values)
    return trials_drawn


def check_space(
    recipe: Recipe,
    space: Mapping[str, Law],
    defaults: Mapping[str, object],
    *,
    create: bool = True,
) -> None:
    """Refuse defaults, ends of ranges and choices that a recipe or its objective refuses.

    Examples
    --------
    >>> law = {"choice": [0.7, 1.2]}
    >>> check_space(Recipe(objective="soft_labels"), {"positive": law}, {"positive": 0.8})
    Traceback (most recent call last):
        ...
    ValueError: search of positive, 1.2: positive: above 0 and at most 1 expected, got 1.2
    """
    applied(recipe, defaults)
    for name, law in space.items():
        known_name("hyper-parameter", name, defaults)
        check_law(name, law)
        ((_, values),) = law.items()
        for value in (defaults[name], *values):
            try:
                changed = applied(recipe, {**defaults, name: value})
                if create:
                    from helpers.training import objectives

                    objectives.create(changed.objective, **changed.objective_arguments)
            except ValueError as error:
                raise ValueError(f"search of {name}, {value}: {error}") from error


def applied(recipe: Recipe, values: Mapping[str, object]) -> Recipe:
    """Return a recipe with a trial's hyper-parameters.

    If the recipe's objective has an argument of this name, the value is that argument (the width
    of RND's teacher, for example); otherwise it is a field of the recipe.

    Examples
    --------
    >>> recipe = applied(Recipe(objective="rnd", width=8), {"learning_rate": 0.02, "width": 64})
    >>> recipe.learning_rate, recipe.width, recipe.objective_arguments
    (0.02, 8, {'width': 64})
    """
    of_objective = arguments_of(recipe.objective)
    names = {*of_objective} | {field.name for field in fields(Recipe)}
    for name in values:
        known_name("hyper-parameter", name, names)
    arguments = {name: value for name, value in values.items() if name in of_objective}
    settings = {name: value for name, value in values.items() if name not in of_objective}
    merged = {**recipe.objective_arguments, **arguments}
    return Recipe.from_parameters(recipe.as_dict() | {"objective_arguments": merged}, **settings)


def arguments_of(objective: str) -> tuple[str, ...]:
    """Return the names of an objective's arguments, without an import of torch.

    Examples
    --------
    >>> arguments_of("stylised"), arguments_of("erm")
    (('share',), ())
    """
    return ARGUMENTS.get(objective, ())


def check_arguments(recipe: Recipe) -> None:
    """Refuse arguments that the objective of a recipe does not have; name the nearest.

    Examples
    --------
    >>> check_arguments(Recipe(objective="stylised", objective_arguments={"shre": 1.0}))
    Traceback (most recent call last):
        ...
    ValueError: unknown argument of objective 'stylised' 'shre'; did you mean 'share'? There are: \
share
    """
    for name in recipe.objective_arguments:
        kind = f"argument of objective '{recipe.objective}'"
        known_name(kind, name, arguments_of(recipe.objective))


def _drawn(law: Law, generator: Generator):
    """Return one value of a law."""
    ((kind, values),) = law.items()
    if kind == "choice":
        return values[generator.choice(len(values))]
    low, high = values
    if kind == "uniform":
        return float(generator.uniform(low, high))
    return float(np.exp(generator.uniform(np.log(low), np.log(high))).clip(low, high))
