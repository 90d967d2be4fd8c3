"""The networks that are compared: one, or several that answer together."""

from __future__ import annotations

from collections.abc import Mapping

from helpers.checks import known_name
from helpers.networks.model import Model
from helpers.networks.recipe import Recipe
from helpers.papers.synthesis.roles import ALGORITHMS, Protocol, Roles
from helpers.training.fitted import Fitted, fit

TEACHER = 1
"""The member of the run's ensemble that a distilled network learns from; not the baseline, which
has the same weights in the beginning."""


def recipe_of(algorithm: str, training: Recipe, own: Mapping[str, Mapping]) -> Recipe:
    """Return the recipe of an algorithm's networks.

    Parameters
    ----------
    algorithm : str
    training : Recipe
        What all algorithms share.
    own : mapping of str to mapping
        What each algorithm changes in it.

    Examples
    --------
    >>> recipe_of("crl", Recipe(), {"crl": {"objective": "crl"}}).objective
    'crl'

    Raises
    ------
    ValueError
        Unknown algorithm or training parameter; MC dropout without dropout.
    """
    known_name("algorithm", algorithm, ALGORITHMS)
    recipe = Recipe.from_parameters(training.as_dict() | dict(own.get(algorithm, {})))
    if algorithm == "mc_dropout" and not (recipe.dropout or recipe.block_dropout):
        raise ValueError("mc_dropout: its recipe has no dropout, so that all passes are the same")
    return recipe


def model(
    algorithm: str,
    roles: Roles,
    training: Recipe,
    protocol: Protocol,
    *,
    run: int,
    own: Mapping[str, Mapping],
    device: str | None = None,
    progress: bool = True,
) -> Model:
    """Train the networks of an algorithm in a run, or take them from the cache.

    The networks of the benchmark of unknown detection have its seeds, so that they are the same.

    Parameters
    ----------
    algorithm : str
    roles : Roles
    training : Recipe
        What all algorithms share.
    protocol : Protocol
    run : int
        Decides the weights; the images play the same roles in all runs.
    own : mapping of str to mapping
        What each algorithm changes in the recipe.
    device, progress
        As in `helpers.training.fitted.fit`.

    Raises
    ------
    ValueError
        As `recipe_of`.
    """

    def trained(name: str, member: int, teacher: Fitted | None = None) -> Fitted:
        return fit(
            roles.train,
            recipe_of(name, training, own),
            outliers=roles.external,
            teacher=teacher,
            seed=protocol.seed * 100_000 + run * 100 + member,
            device=device,
            progress=progress,
        )

    members = range(protocol.members if algorithm == "ensemble" else 1)
    teacher = trained("baseline", TEACHER) if algorithm == "distillation" else None
    networks = tuple(trained(algorithm, member, teacher) for member in members)
    return Model(algorithm, networks, protocol.passes if algorithm == "mc_dropout" else 0)
