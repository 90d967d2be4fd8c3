"""What is audited: a file of outputs, a network and folders of images, or the example."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from helpers import checkpoints, data
from helpers.data import Images, ImageStream
from helpers.data.class_lists import wnids_of
from helpers.networks import published, zoo
from helpers.networks.devices import default_device, device_name
from helpers.networks.recipe import Recipe
from helpers.training.fitted import Fitted
from known_unknowns.auditing.folders import check_unknown, images_of, named_as
from known_unknowns.auditing.inputs import Inputs, read_outputs, unlabelled
from pictures import FAMILIES

if TYPE_CHECKING:
    from known_unknowns.auditing.parameters import Parameters

Network = zoo.Pretrained | Fitted


def open_network(
    model: str,
    checkpoint: str = "",
    recipe: Mapping | None = None,
    classes: int = 0,
    *,
    download: bool = False,
) -> Network:
    """Open a network of timm, or one that this project has trained.

    Parameters
    ----------
    model : str
        A name of timm; empty for a network of this project.
    checkpoint : path
        The file of weights.  For a network of timm it may be empty, see
        `helpers.networks.zoo.load`.
    recipe : mapping
        Of a network of this project: what it was trained with, by the names of
        `helpers.networks.recipe.Recipe`; `image_size` is the size of the images it learnt from.
    classes : int
        Of a network of this project: how many it knows.
    download : bool
        Fetch the weights of a network of timm from Hugging Face if they are nowhere else.

    Raises
    ------
    ValueError
        Neither a model nor a checkpoint; an unknown name; weights that are damaged or of another
        network.
    FileNotFoundError
        No such file, or no weights.
    """
    if model:
        return zoo.load(model, weights=checkpoint or None, download=download, progress=False)
    if not checkpoint:
        raise ValueError("model, checkpoint: give one of them, or a file of outputs")
    tensors, information = checkpoints.load(checkpoint)
    made = Recipe.from_parameters(recipe or {})
    network = Fitted(
        path=Path(checkpoint),
        recipe=made,
        num_classes=classes,
        history=pd.DataFrame(information.get("history", {})),
        seconds=information.get("seconds", 0.0),
        device=default_device(),
        device_name=device_name(default_device(), made.threads),
        sha256=checkpoints.digest(tensors),
    )
    try:
        network.classifier  # noqa: B018 (it is made when first asked for)
    except RuntimeError as error:
        raise ValueError(
            f"checkpoint: {checkpoint} does not hold the weights of a {made.backbone} of depth "
            f"{made.depth:g} and width {made.width:g} for {classes} classes; correct `recipe`, or "
            f"the folders of classes ({error})"
        ) from error
    return network


def show_images(
    network: Network,
    validation: Images | ImageStream,
    *,
    train: Images | ImageStream | None = None,
    ood: Sequence[Images | ImageStream] = (),
    production: Images | ImageStream | None = None,
    families: int = 0,
    family_images: int = 60,
    class_names: Sequence[str] = (),
    seed: int = 0,
) -> Inputs:
    """Show all images of an audit to a network; what it said before comes from the cache.

    Parameters
    ----------
    network : Pretrained or Fitted
    validation : Images or ImageStream
        ID, with labels; not learnt from.
    train : Images or ImageStream, optional
        ID, with labels; (a sample of) what the network has learnt from.
    ood : sequence of Images or ImageStream
        Of unknown classes.
    production : Images or ImageStream, optional
        Unlabelled.
    families : int
        How many generated families, drawn by seed, are shown too where there are images of
        production; no set of `ood` is among them.
    family_images : int
        Of each of them.
    class_names : sequence of str
        The head's, in its order.  By default those of the network of timm, and else those of
        the validation images.
    seed : int

    Raises
    ------
    ValueError
        Classes that the head does not have, or as many names; two sets of one name.
    """
    known = network.class_names if isinstance(network, zoo.Pretrained) else ()
    names = tuple(class_names) or known or validation.class_names
    classes = len(network.classifier.head.bias)
    if len(names) != classes:
        raise ValueError(
            f"class_names: {classes} expected, as many as the head has outputs, got {len(names)}"
        )
    words = wnids_of("imagenet")
    titles = words if set(names) <= set(words) else {}

    def labelled(images: Images | ImageStream):
        numbered = named_as(images, names, titles)
        return replace(numbered, class_names=known) if known else numbered

    sets = {one.name: one.unknown() for one in ood}
    if len(sets) != len(ood):
        raise ValueError("ood: two sets have the same name; rename a folder")
    check_unknown(dict(zip(sets, ood, strict=True)), {*names, *titles.values()})
    parts = {"validation": labelled(validation)}
    if train is not None:
        parts["train"] = labelled(train)
    if production is not None:
        parts["production"] = production.unknown()
    drawn: list[str] = []
    if production is not None and families:
        free = sorted(set(FAMILIES) - set(sets))
        drawn = np.random.default_rng(seed).permutation(free)[:families].tolist()
    size = None
    if isinstance(network, Fitted):
        stream = isinstance(validation, ImageStream)
        size = network.recipe.image_size if stream else validation.images.shape[1]
    shown = {
        name: network.outputs(
            data.load(name, "test", size=size).subset(slice(0, family_images)).unknown()
        )
        for name in drawn
    }
    found = {role: network.outputs(images) for role, images in parts.items()}
    streams = {**parts, **sets}
    images = parts["validation"]
    return Inputs(
        source=_source(network),
        validation=found["validation"],
        class_names=tuple(titles.get(name, name) for name in names),
        train=found.get("train"),
        head=network.classifier.head,
        ood={name: network.outputs(images) for name, images in sets.items()},
        families=shown,
        production=found.get("production"),
        files=getattr(images, "files", ()) or tuple(map(str, range(len(images)))),
        images=images,
        unreadable={
            role: one.skipped for role, one in streams.items() if getattr(one, "skipped", ())
        },
        sha256={"weights": network.sha256}
        | {role: images.sha256 for role, images in streams.items()},
        note=_note(network),
    )


def _source(network: Network) -> str:
    if isinstance(network, zoo.Pretrained):
        return f"{network.name} ({network.source})"
    recipe = network.recipe
    return f"a {recipe.backbone} of depth {recipe.depth:g} and width {recipe.width:g}"


def _note(network: Network) -> str:
    """Return what the record of a published network says that one has to know."""
    name = getattr(network, "name", "")
    note = published.find(name).note if name in published.records() else ""
    return f"Of {name}: {note}." if note else ""


def example(
    network: str,
    images: str,
    *,
    ood: Sequence[str],
    met: Sequence[str],
    families: int = 30,
    seed: int = 0,
) -> Inputs:
    """Return the inputs of an audit of a published network, and what became of its promises.

    Half of the test images are for validation.  The other half and sets that the audit is not
    shown are what the network meets later: its unlabelled images, whose labels are held back.

    Parameters
    ----------
    network : str
        One of `helpers.networks.published.records`.
    images : str
        The data set that it was trained on, or a part of it, with the splits train and test.
    ood, met : sequence of str
        Data sets of unknown images: those that somebody brings to the audit, and those that turn
        up later.  Any number of the first, at least one of the others.
    families : int
        Generated families that the prediction without labels learns from; none of them is met.
    seed : int
        Of what is drawn.

    Raises
    ------
    FileNotFoundError
        A file of the network or of a data set is not there: says where to put it.
    ValueError
        An unknown name; a set that shows a class of the network; none to be met.
    """
    if not met:
        raise ValueError("met: at least one data set expected, to be mixed with new images")
    whole = data.load(images, "test")
    size = whole.images.shape[1]
    sets = [images_of(name, size=size) for name in (*ood, *met)]
    found = show_images(
        zoo.load(network, progress=False),
        whole,
        train=data.load(images, "train"),
        ood=sets,  # all of them, so that no family is one of these
        production=sets[-1],
        families=families,
        seed=seed,
    )
    order = np.random.default_rng(seed).permutation(len(whole))
    first, second = np.sort(order[: len(whole) // 2]), np.sort(order[len(whole) // 2 :])
    brought, later = sets[: len(ood)], sets[len(ood) :]
    held_back = {"new": found.validation.subset(second)}
    held_back |= {one.name: found.ood[one.name] for one in later}
    return replace(
        found,
        validation=found.validation.subset(first),
        images=whole.subset(first),
        files=tuple(found.files[place] for place in first),
        ood={one.name: found.ood[one.name] for one in brought},
        production=unlabelled(list(held_back.values())),
        held_back=held_back,
    )


def gather(given: Parameters) -> Inputs:
    """Return the inputs of the audit that parameters ask for.

    Raises
    ------
    ValueError, FileNotFoundError
        As `read_outputs`, `images_of`, `open_network` and `example`.
    """
    if given.outputs:
        return read_outputs(given.outputs, treat_as=given.treat_as)
    families = {"families": given.generated, "seed": given.seed}
    if not (given.model or given.checkpoint):
        sets = {"ood": given.example_ood, "met": given.example_met}
        return example(given.example, given.example_images, **sets, **families)
    known, names = images_of(given.validation), given.class_names
    roles = [role for role in ("train", "production") if getattr(given, role)]
    more = {role: images_of(getattr(given, role)) for role in roles}
    weights = given.checkpoint, given.training, len(names or known.class_names)
    network = open_network(given.model, *weights, download=given.download)
    ood = list(map(images_of, given.ood))
    return show_images(network, known, ood=ood, class_names=names, **families, **more)
