"""Inputs of an audit from a network and folders of images, or from the example."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from helpers import data
from helpers.data import Images, ImageStream, Listing
from helpers.data.class_lists import wnids_of
from helpers.data.sources import folder_splits
from helpers.networks import zoo, zoo_records
from known_unknowns.auditing.inputs import Inputs, read_outputs, unlabelled
from pictures import FAMILIES


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
    if len(names) != len(network.class_names):
        raise ValueError(
            f"class_names: {len(network.class_names)} expected, as many as the head has outputs, "
            f"got {len(names)}"
        )
    words = wnids_of("imagenet")
    titles = words if set(names) <= set(words) else {}
    _check_ood(ood, {*names, *titles.values()})

    def numbered(images: Images | ImageStream) -> Images | ImageStream:
        # class numbers follow the network's class names
        return replace(named_as(images, names, titles), class_names=network.class_names)

    known = numbered(validation)
    sets = {part.name: part.unknown() for part in ood}
    drawn = [] if production is None else _draw_families(families, {*sets}, seed)
    streams: dict[str, Images | ImageStream] = {"validation": known}
    if train is not None:
        streams["train"] = numbered(train)
    if production is not None:
        streams["production"] = production.unknown()
    outputs = {role: network.outputs(part) for role, part in streams.items()}
    streams |= sets
    skipped = {role: getattr(part, "skipped", ()) for role, part in streams.items()}
    digests = {role: part.sha256 for role, part in streams.items()}
    note = zoo_records.find(network.name).note if network.name in zoo_records.records() else ""
    return Inputs(
        source=f"{network.name} ({network.source})",
        validation=outputs["validation"],
        class_names=tuple(titles.get(name, name) for name in names),
        train=outputs.get("train"),
        head=network.head,
        ood={name: network.outputs(part) for name, part in sets.items()},
        families={
            name: network.outputs(data.load(name, "test").subset(slice(0, family_images)).unknown())
            for name in drawn
        },
        production=outputs.get("production"),
        files=getattr(known, "files", ()) or tuple(map(str, range(len(known)))),
        production_files=getattr(production, "files", ()),
        images=known,
        unreadable={role: files for role, files in skipped.items() if files},
        sha256={"weights": network.sha256} | digests,
        note=f"Of {network.name}: {note}." if note else "",
    )


def _check_ood(ood: Sequence[Images | ImageStream], known: set[str]) -> None:
    """Refuse two sets of one name, and sets with classes that the model knows."""
    if len({part.name for part in ood}) != len(ood):
        raise ValueError("ood: two sets have the same name; rename a folder")
    for part in ood:
        if shared := sorted(known.intersection(part.class_names)):
            raise ValueError(
                f"ood: {part.name} has classes that the model knows: {', '.join(shared[:5])}; "
                "remove these folders, or rename them to count their images as unknown"
            )


def _draw_families(count: int, sets: set[str], seed: int) -> list[str]:
    """Return the names of random families of generated images that are not among the sets."""
    names = sorted(set(FAMILIES) - sets)
    return np.random.default_rng(seed).permutation(names)[:count].tolist()


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
    middle = len(every) // 2
    first = np.sort(order[:middle])
    second = np.sort(order[middle:])
    names = [part.name for part in sets]
    held_back = {"new": shown.validation.subset(second)}
    held_back |= {name: shown.ood[name] for name in names[len(ood) :]}
    return replace(
        shown,
        validation=shown.validation.subset(first),
        images=every.subset(first),
        files=tuple(shown.files[index] for index in first),
        ood={name: shown.ood[name] for name in names[: len(ood)]},
        production=unlabelled(list(held_back.values())),
        production_files=(),
        held_back=held_back,
    )


def gather(given: Any) -> Inputs:
    """Return the inputs of the audit with the parameters of the audit's notebook."""
    if given.model:
        return inputs_of(
            given.model,
            given.validation,
            checkpoint=given.checkpoint,
            train=given.train,
            ood=given.ood,
            production=given.production,
            class_names=given.class_names,
            download=given.download,
            families=given.generated,
            seed=given.seed,
        )
    if given.checkpoint or given.validation or given.ood or given.production:
        raise ValueError(
            "model: the network expected for the weights of `checkpoint` and for images "
            "(`validation`, `ood`, `production`); a file of `outputs` has its own images"
        )
    if given.outputs:
        return read_outputs(given.outputs)
    return example(
        given.example,
        given.example_images,
        ood=given.example_ood,
        met=given.example_met,
        families=given.generated,
        seed=given.seed,
    )


def inputs_of(
    model: str,
    validation: str,
    *,
    checkpoint: str | None = None,
    train: str | None = None,
    ood: Sequence[str] = (),
    production: str | None = None,
    class_names: Sequence[str] = (),
    download: bool = False,
    families: int = 0,
    seed: int = 0,
) -> Inputs:
    """Return the inputs of an audit: a network of timm, and folders or data sets by name.

    `checkpoint` is a file with the weights; by default they are the published weights.
    """
    known = images_of(validation)
    if known.class_names == (Path(validation).name,):
        raise ValueError(f"validation: a subfolder for each class expected in {validation}")
    return show_images(
        zoo.load(model, weights=checkpoint or None, download=download, progress=False),
        known,
        train=images_of(train, splits=SPLITS[::-1]) if train else None,
        ood=list(map(images_of, ood)),
        production=images_of(production) if production else None,
        class_names=class_names,
        families=families,
        seed=seed,
    )


def outputs_of(
    model: str, folder: str, checkpoint: str | None, download: bool
) -> dict[str, np.ndarray]:
    """Return the logits, features and file names of the images of a folder, for a rejector."""
    images = images_of(folder)
    network = zoo.load(model, weights=checkpoint or None, download=download, progress=False)
    outputs = network.outputs(images.unknown())
    files = getattr(images, "files", ()) or range(len(images))
    arrays = {"logits": outputs.logits, "files": np.array([*map(str, files)])}
    if outputs.features.shape[1]:
        arrays["features"] = outputs.features
    return arrays


#: Splits of a data set, by priority for images that are not learned.
SPLITS = ("val", "test", "sample", "train")


def images_of(
    where: str, *, size: int | None = None, splits: Sequence[str] = SPLITS
) -> Images | ImageStream:
    """Return the images of a folder, or of a data set of this book: of the first split there is."""
    if not where:
        raise ValueError(
            "validation: a folder of images, or the name of a data set, expected for a network, "
            "got ''"
        )
    folder = Path(where).expanduser()
    if folder.is_dir():
        there = folder_splits(folder)
        return _opened(Listing.scan(where, split=next(each for each in splits if each in there)))
    name, _, split = where.partition("/")
    if "/" in split or name.startswith((".", "~")) or not name:
        raise FileNotFoundError(f"image folder {where}: no such folder")
    try:
        known = data.splits(name)
    except ValueError as error:
        raise ValueError(f"image folder {where}: no such folder, and {error}") from error
    split = split or next((option for option in splits if option in known), known[0])
    return data.load(name, split, size=size)


def _opened(listed: Listing) -> ImageStream:
    """Open the images of a folder; links to no file are skipped like broken images."""
    exist = np.array([(listed.root / file).exists() for file in listed.files])
    stream = ImageStream.open(listed.subset(exist) if exist.any() else listed)
    return replace(stream, skipped=stream.skipped + listed.subset(~exist).files)


def named_as(
    images: Images | ImageStream, class_names: Sequence[str], titles: Mapping[str, str]
) -> Images | ImageStream:
    """Return images with classes numbered as in the head; refuse unknown classes."""
    words: dict[str, str] = {}
    for name, title in titles.items():  # a word for two classes identifies neither
        words[title] = "" if title in words else name
    names = tuple(words.get(folder.replace("_", " ")) or folder for folder in images.class_names)
    used = np.unique(images.labels[images.labels >= 0]).tolist()
    unknown = [images.class_names[number] for number in used if names[number] not in class_names]
    if unknown:
        shown = [_with_nearest(folder, [*class_names, *words]) for folder in unknown[:5]]
        if len(unknown) > 5:
            shown.append("…")
        raise ValueError(
            f"{images.name}: {len(unknown)} of {len(used)} classes are none of the head's "
            f"{len(class_names)}: {', '.join(shown)}; rename the folders, or pass class_names in "
            "the order of the head"
        )
    return replace(images, class_names=names).renumber(class_names)


def _with_nearest(folder: str, options: Sequence[str]) -> str:
    """Return the name of a folder, with the nearest option if there is one."""
    nearest = difflib.get_close_matches(folder, options, n=1, cutoff=0.4)
    return f"'{folder}' (nearest: '{nearest[0]}')" if nearest else f"'{folder}'"
