"""A recipe's family ``head``: a network that sees features of a frozen one, and no pixels.

It has no pixels to augment, and is one linear layer (``depth`` 1), or a hidden layer of ``width``
units with batch normalisation below it (``depth`` 2).  ``image_size`` says how many features an
image has.

`helpers.networks.recipe` belongs to the keys of the results of all networks, so that a family
written there would make all of them anew.  This one registers itself when it is imported, which
`helpers.papers.parameters` does.
"""

from __future__ import annotations

from helpers.networks import recipe

HEAD = "head"
PIXELS = ("adversarial", "augmix", "autoaugment", "noise", "stylised")
"""Objectives that change an image: there is none here, but AugMix's views of it can be stored."""
_families = recipe._check_size


def _check_size(backbone: str, depth: float, width: float) -> None:
    if backbone != HEAD:
        return _families(backbone, depth, width)
    if depth not in (1, 2):
        raise ValueError(f"depth: a head has 1 layer or 2, got {depth}")
    if width != int(width):
        raise ValueError(f"width: a whole number of hidden units expected, got {width}")


if HEAD not in recipe.FAMILIES:
    recipe.FAMILIES = (*recipe.FAMILIES, HEAD)
    recipe._check_size = _check_size


def check(one: recipe.Recipe) -> recipe.Recipe:
    """Return a recipe, after a look at whether a head can be trained by it; others are let through.

    Examples
    --------
    >>> check(recipe.Recipe(backbone="head", depth=1, augmentation=(), objective="augmix"))
    Traceback (most recent call last):
        ...
    ValueError: objective: 'augmix' changes pixels, and a head sees features; not at this tier
    """
    stored = one.objective == "augmix" and one.objective_arguments.get("stored", 0)
    if one.backbone != HEAD:
        if stored:
            raise ValueError(
                f"stored: 0 expected, since a {one.backbone} sees pixels; got {stored}"
            )
        return one
    if one.objective in PIXELS and not stored:
        raise ValueError(
            f"objective: '{one.objective}' changes pixels, and a head sees features; not at this "
            "tier"
        )
    if one.augmentation:
        raise ValueError(
            f"augmentation: [] expected of a head, which sees features, got {[*one.augmentation]}"
        )
    if one.objective == "mimo" and one.depth < 2:
        raise ValueError("depth: 2 expected, since MIMO mixes images in a hidden layer; got 1")
    return one
