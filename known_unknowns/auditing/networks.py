"""Inputs of an audit from a network and folders of images, or from the example."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from helpers import data
from helpers.data import Images, ImageStream, Listing
from helpers.data.class_lists import wnids_of
from helpers.networks import zoo, zoo_records
from known_unknowns.auditing.inputs import Inputs, read_outputs, unlabelled
from pictures import FAMILIES

if TYPE_CHECKING:
    from known_unknowns.auditing.parameters import Parameters


def show_images(
    network: zoo.Pretrained,
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
    """Return the inputs of an audit of a network; earlier outputs are read from the cache."""
    names = tuple(class_names) or network.class_names
    classes = len(network.class_names)
    if len(names) != classes:
        raise ValueError(
            f"class_names: {classes} expected, as many as the head has outputs, got {len(names)}"
        )
    words = wnids_of("imagenet")
    titles = words if set(names) <= set(words) else {}
    if len({part.name for part in ood}) != len(ood):
        raise ValueError("ood: two sets have the same name; rename a folder")
    for part in ood:
        if shared := sorted({*part.class_names} & {*names, *titles.values()}):
            raise ValueError(
                f"ood: {part.name} has classes that the model knows: {', '.join(shared[:5])}; take "
                "them out, or rename their folders if their images are to count as unknown"
            )
    shown = {"validation": validation} | ({} if train is None else {"train": train})
    shown = {role: named_as(images, names, titles) for role, images in shown.items()}
    # class numbers follow the network's own class names
    shown = {role: replace(part, class_names=network.class_names) for role, part in shown.items()}
    if production is not None:
        shown["production"] = production.unknown()
    sets = {part.name: part.unknown() for part in ood}
    drawn = np.random.default_rng(seed).permutation(sorted(set(FAMILIES) - set(sets)))
    drawn = drawn[: families if production is not None else 0].tolist()
    streams = {name: data.load(name, "test") for name in drawn}
    some = {name: part.subset(slice(0, family_images)).unknown() for name, part in streams.items()}
    outputs, ood_outputs, family_outputs = (
        {name: network.outputs(part) for name, part in group.items()}
        for group in (shown, sets, some)
    )
    note = zoo_records.find(network.name).note if network.name in zoo_records.records() else ""
    images, streams = shown["validation"], shown | sets
    skipped = {role: getattr(part, "skipped", ()) for role, part in streams.items()}
    return Inputs(
        source=f"{network.name} ({network.source})",
        validation=outputs["validation"],
        class_names=tuple(titles.get(name, name) for name in names),
        train=outputs.get("train"),
        head=network.head,
        ood=ood_outputs,
        families=family_outputs,
        production=outputs.get("production"),
        files=getattr(images, "files", ()) or tuple(map(str, range(len(images)))),
        images=images,
        unreadable={role: files for role, files in skipped.items() if files},
        sha256={"weights": network.sha256} | {role: part.sha256 for role, part in streams.items()},
        note=f"Of {network.name}: {note}." if note else "",
    )


def example(
    network: str,
    images: str,
    *,
    ood: Sequence[str],
    met: Sequence[str],
    families: int = 30,
    seed: int = 0,
) -> Inputs:
    """Return the inputs of an audit of a published network, with held-back labels.

    Half of the test images are for validation.  The other half and the sets `met` are the
    unlabelled images.
    """
    every = data.load(images, "test")
    sets = [images_of(name, size=every.images.shape[1]) for name in (*ood, *met)]
    shown = show_images(
        zoo.load(network, progress=False),
        every,
        train=data.load(images, "train"),
        ood=sets,  # all sets, so that none of the families is one of them
        production=sets[-1],
        families=families,
        seed=seed,
    )
    order = np.random.default_rng(seed).permutation(len(every))
    first, second = np.sort(order[: len(every) // 2]), np.sort(order[len(every) // 2 :])
    names = [part.name for part in sets]
    held_back = {"new": shown.validation.subset(second)}
    held_back |= {name: shown.ood[name] for name in names[len(ood) :]}
    return replace(
        shown,
        validation=shown.validation.subset(first),
        images=every.subset(first),
        files=tuple(shown.files[place] for place in first),
        ood={name: shown.ood[name] for name in names[: len(ood)]},
        production=unlabelled(list(held_back.values())),
        held_back=held_back,
    )


def gather(given: Parameters) -> Inputs:
    """Return the inputs of the audit with these parameters."""
    if given.outputs:
        return read_outputs(given.outputs, treat_as=given.treat_as)
    families = {"families": given.generated, "seed": given.seed}
    if not given.model:
        if given.checkpoint:
            raise ValueError("checkpoint: weights of which network? Give its name as `model`")
        sets = {"ood": given.example_ood, "met": given.example_met}
        return example(given.example, given.example_images, **sets, **families)
    known, names = images_of(given.validation), given.class_names
    roles = [role for role in ("train", "production") if getattr(given, role)]
    more = {role: images_of(getattr(given, role)) for role in roles}
    found = {"weights": given.checkpoint or None, "download": given.download}
    network = zoo.load(given.model, **found, progress=False)
    ood = list(map(images_of, given.ood))
    return show_images(network, known, ood=ood, class_names=names, **families, **more)


#: Splits of a data set, by priority.
SPLITS = ("val", "test", "sample", "train")


def images_of(where: str, *, size: int | None = None) -> Images | ImageStream:
    """Return the images of a folder, or of a data set of this book."""
    if not where:
        raise ValueError(
            "a folder of images, or the name of a data set, expected, got ''; beside a network, "
            "`validation` is one"
        )
    folder = Path(where).expanduser()
    if folder.is_dir():
        split = next((split for split in SPLITS if (folder / split).is_dir()), "test")
        return ImageStream.scan(where, split=split)
    name, _, split = where.partition("/")
    if "/" in split or name.startswith((".", "~")) or not name:
        raise FileNotFoundError(f"image folder {where}: no such folder")
    known = data.splits(name)
    split = split or next((option for option in SPLITS if option in known), known[0])
    return data.load(name, split, size=size)


def named_as(
    images: Images | ImageStream | Listing, class_names: Sequence[str], titles: Mapping[str, str]
) -> Images | ImageStream | Listing:
    """Return images with classes numbered as in the head; refuse unknown classes."""
    words: dict[str, str] = {}
    for name, title in titles.items():  # a word for two classes identifies neither
        words[title] = "" if title in words else name
    names = tuple(words.get(folder.replace("_", " ")) or folder for folder in images.class_names)
    used = np.unique(images.labels[images.labels >= 0]).tolist()
    unknown = [images.class_names[number] for number in used if names[number] not in class_names]
    if unknown:
        shown = []
        for folder in unknown[:5]:
            near = difflib.get_close_matches(folder, [*class_names, *words], n=1, cutoff=0.4)
            shown.append(f"'{folder}'" + "".join(f" (nearest: '{name}')" for name in near))
        shown = ", ".join([*shown, *["…"] * (len(unknown) > 5)])
        raise ValueError(
            f"{images.name}: {len(unknown)} of {len(used)} classes are none of the head's "
            f"{len(class_names)}: {shown}; rename the folders, or pass class_names in the order of "
            "the head"
        )
    return replace(images, class_names=names).renumber(class_names)
