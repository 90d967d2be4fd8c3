"""Folders of images as an audit takes them: which split, and which classes of the head they are."""

from __future__ import annotations

import difflib
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from helpers import data
from helpers.data import Images, ImageStream, Listing

SPLITS = ("val", "test", "sample", "train")
"""Of a data set's splits, the first that it has is taken."""


def split_of(folder: str | os.PathLike) -> str:
    """Return the split of a folder that is taken; ``test`` for a folder without subfolders."""
    place = Path(folder).expanduser()
    return next((one for one in SPLITS if (place / one).is_dir()), "test")


def images_of(where: str, *, size: int | None = None) -> Images | ImageStream:
    """Return the images of a folder, or of a data set that this book knows.

    Parameters
    ----------
    where : str
        A folder of images, with a subfolder for each class where classes matter; or the name of
        a data set, as `helpers.data.load` takes it, alone or as ``NAME/SPLIT``.
    size : int, optional
        Pixels that a data set's images are brought to; those of a folder are when they are read.

    Raises
    ------
    FileNotFoundError, ValueError
        No name; else as `helpers.data.ImageStream.scan` for a path, and `helpers.data.load` for a
        name.
    """
    if not where:
        raise ValueError(
            "a folder of images, or the name of a data set, expected, got ''; beside a network, "
            "`validation` is one"
        )
    if Path(where).expanduser().is_dir():
        return ImageStream.scan(where, split=split_of(where))
    name, _, split = where.partition("/")
    if "/" in split or name.startswith((".", "~")) or not name:
        raise FileNotFoundError(f"image folder {where}: no such folder")
    found = data.splits(name)
    split = split or next((one for one in SPLITS if one in found), found[0])
    return data.load(name, split, size=size)


def named_as(
    images: Images | ImageStream | Listing, class_names: Sequence[str], titles: Mapping[str, str]
) -> Images | ImageStream | Listing:
    """Return images with their classes numbered as a head numbers its own.

    Parameters
    ----------
    images : Images, ImageStream or Listing
        Of a labelled role; each of its classes must be one of the head's.
    class_names : sequence of str, length K
        The head's, in its order.
    titles : mapping of str to str
        What a class is called in words, by its name, where a folder may have that name instead,
        with spaces or underscores.

    Raises
    ------
    ValueError
        Classes that the head does not have; says which are nearest.

    Examples
    --------
    >>> pixels = np.zeros((2, 4, 4, 3), np.uint8)
    >>> pets = Images(pixels, np.array([0, 1]), ("cat", "dgo"), "pets", "test")
    >>> named_as(pets, ["cat", "dog", "fox"], {})
    Traceback (most recent call last):
        ...
    ValueError: pets: 1 of 2 classes are none of the head's 3: 'dgo' (nearest: 'dog'); rename the \
folders, or pass class_names in the order of the head
    """
    words: dict[str, str] = {}
    for name, title in titles.items():  # a word that stands for two classes stands for none
        words[title] = "" if title in words else name
    names = tuple(words.get(one.replace("_", " ")) or one for one in images.class_names)
    used = set(np.unique(images.labels[images.labels >= 0]).tolist())
    unknown = [
        one
        for number, (one, name) in enumerate(zip(images.class_names, names, strict=True))
        if number in used and name not in class_names
    ]
    if unknown:
        options = [*class_names, *words]
        near = [difflib.get_close_matches(one, options, n=1, cutoff=0.4) for one in unknown[:5]]
        shown = ", ".join(
            f"'{one}'" + (f" (nearest: '{found[0]}')" if found else "")
            for one, found in zip(unknown, near, strict=False)
        )
        raise ValueError(
            f"{images.name}: {len(unknown)} of {len(used)} classes are none of the head's "
            f"{len(class_names)}: {shown}{', …' if len(unknown) > 5 else ''}; rename the folders, "
            "or pass class_names in the order of the head"
        )
    return replace(images, class_names=names).renumber(class_names)


def check_unknown(
    sets: Mapping[str, Images | ImageStream | Listing], known: Collection[str]
) -> None:
    """Refuse sets of unknown images, by name, that have classes which the model knows.

    Raises
    ------
    ValueError
        As it says.
    """
    for name, images in sets.items():
        if shared := sorted({*images.class_names} & {*known}):
            raise ValueError(
                f"ood: {name} has classes that the model knows: {', '.join(shared[:5])}; take them "
                "out, or rename their folders if their images are to count as unknown"
            )
