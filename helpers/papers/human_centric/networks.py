"""The models of the chapter: trained here by some strategy, or pretrained by others."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from helpers.checks import known_name
from helpers.data import Images, ImageStream
from helpers.files import data_root
from helpers.networks.model import Model
from helpers.networks.recipe import Recipe
from helpers.outputs import Head, Outputs
from helpers.papers.human_centric.roles import Model as ModelName
from helpers.training.fitted import fit


def network(
    name: str,
    train: Images | ImageStream,
    models: Mapping[str, Mapping],
    training: Mapping,
    *,
    teachers: Mapping[str, str] | None = None,
    pretrained: Mapping[str, str] | None = None,
    seed: int = 0,
    download: bool = False,
    device: str | None = None,
    progress: bool = True,
) -> Model:
    """Train a network, or take it from the cache or the zoo.

    Parameters
    ----------
    name : str
        One of `models`; any other is a pretrained network.
    train : Images or ImageStream
        What networks are trained on; a pretrained one does not see it here.
    models : mapping of str to mapping
        What each of the models that are trained changes in the recipe.
    training : mapping
        The recipe that they share.
    teachers : mapping of str to str
        For each distilled model, the one that it learns from.
    pretrained : mapping of str to str
        What timm calls a pretrained network, where that is not its name here.  Weights that timm
        does not have are read from ``DATA_ROOT/weights/NAME.safetensors`` or ``.pth``, with
        NAME the name here.
    seed : int
        Of the initial weights, the order of images and the augmentation.
    download : bool
        Let timm download pretrained weights.
    device, progress
        As in `helpers.training.fitted.fit`.

    Raises
    ------
    ValueError
        A teacher has no recipe, or timm no such network.
    FileNotFoundError
        The weights of a pretrained network are not at hand.
    """
    teachers, pretrained = teachers or {}, pretrained or {}
    if name not in models:
        own = [data_root() / "weights" / f"{name}{suffix}" for suffix in (".safetensors", ".pth")]
        weights = next((path for path in own if path.is_file()), None)
        called = pretrained.get(name, name)
        if weights is None and list(pretrained.values()).count(called) > 1 and "+" in name:
            # timm's weights are those of the plain network, which has a name of its own
            raise FileNotFoundError(
                f"weights of '{name}': not found. Looked for {' or '.join(map(str, own))}; timm "
                f"has only those of '{called}'"
            )
        from helpers.networks import zoo

        found = zoo.load(
            called,
            weights=weights,
            download=download,
            device=device,
            threads=training.get("threads", 1),
            progress=progress,
        )
        return Model(name, (found,), class_names=found.class_names)
    teacher = None
    if name in teachers:
        known_name(f"teacher of {name}", teachers[name], models)
        teacher = network(
            teachers[name], train, models, training, seed=seed, device=device, progress=progress
        ).networks[0]
    fitted = fit(
        train,
        recipe_of(name, models, training),
        teacher=teacher,
        seed=seed,
        device=device,
        progress=progress,
    )
    return Model(name, (fitted,), class_names=train.class_names)


def recipe_of(name: str, models: Mapping[str, Mapping], training: Mapping) -> Recipe:
    """Return the recipe of one of the models that are trained.

    The strength in a model's name is that of its recipe: a name never says anything else.

    Raises
    ------
    ValueError
        They differ.
    """
    recipe = Recipe.from_parameters({**training, **models[name]})
    strength = recipe.objective_arguments.get("radius", 0.0)
    if strength != ModelName.parse(name).strength:
        raise ValueError(f"model '{name}': its recipe has a radius of {strength:g}")
    return recipe


def restricted(network: Model, outputs: Outputs, class_names: tuple[str, ...]) -> Outputs:
    """Return outputs of a network as if it knew only these of its classes.

    Raises
    ------
    ValueError
        It does not know one of them.
    """
    same = class_names == network.class_names
    return outputs if same else outputs.restricted(_columns(network, class_names))


def restricted_head(network: Model, class_names: tuple[str, ...]) -> Head | None:
    """Return the head that goes with `restricted` outputs."""
    same = class_names == network.class_names
    return (
        network.head
        if same or network.head is None
        else network.head.restricted(_columns(network, class_names))
    )


def _columns(network: Model, class_names: tuple[str, ...]) -> list[int]:
    for one in class_names:
        known_name(f"class of {network.name}", one, network.class_names)
    return [network.class_names.index(one) for one in class_names]


def of_role(outputs: Outputs, *, known: bool) -> Outputs | None:
    """Return the outputs of the images whose class the model knows, or of the others, if any."""
    chosen = (outputs.labels >= 0) == known
    if chosen.all():  # no copy of what may be mapped from a large file
        return outputs
    return outputs.subset(np.flatnonzero(chosen)) if chosen.any() else None
