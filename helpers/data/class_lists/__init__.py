"""Class lists of the data sets that the WordNet rules are about.

``README.md`` documents the source of each list.  Lists keep the order of the data sets.  The lists
of CIFAR-10, CIFAR-100, Tiny ImageNet and ImageNet have wnids (see `helpers.data.wordnet`), all
other lists only names.
"""

from __future__ import annotations

import csv
from pathlib import Path

from helpers.checks import known_name

_FOLDER = Path(__file__).parent
_WITH_WNIDS = ("cifar10", "cifar100", "imagenet", "tiny_imagenet")
_NAMES = ("caltech256", "cifar10", "cifar100", "food101", "lsun", "places365")


def names_of(data_set: str) -> tuple[str, ...]:
    """Return the class names of a data set, in its order and as it spells them.

    Examples
    --------
    >>> names_of("food101")[:2], len(names_of("caltech256")), len(names_of("places365"))
    (('apple_pie', 'baby_back_ribs'), 256, 365)
    """
    known_name("class list", data_set, _NAMES)
    if data_set in _WITH_WNIDS:  # both are in alphabetical order
        return tuple(sorted({row["class"] for row in _rows(f"{data_set}_wnids.csv")}))
    return _lines(f"{data_set}.txt")


def wnids_of(data_set: str) -> dict[str, str]:
    """Return the wnids that represent the classes of a data set; three of CIFAR-100 have two.

    Examples
    --------
    >>> wnids_of("cifar100")["n02437136"], wnids_of("tiny_imagenet")["n04099969"]
    ('camel', 'rocking chair')
    >>> len(wnids_of("cifar100")), len(set(wnids_of("cifar100").values()))
    (103, 100)
    >>> wnids_of("digits")
    {}
    """
    kind = next((prefix for prefix in _WITH_WNIDS if f"{data_set}_".startswith(f"{prefix}_")), None)
    if kind is None:
        return {}
    if kind == "tiny_imagenet":
        names = wnids_of("imagenet")
        return {wnid: names[wnid] for wnid in _lines("tiny_imagenet_200_wnids.txt")}
    return {row["wnid"]: row["class"] for row in _rows(f"{kind}_wnids.csv")}


def cifar100() -> tuple[dict[str, str], ...]:
    """Return the nouns that represent CIFAR-100's classes, and the source of each assignment.

    Examples
    --------
    >>> [row["class"] for row in cifar100() if row["provenance"] == "paper"]
    ['camel', 'mouse']
    """
    return _rows("cifar100_wnids.csv")


def imagenot() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the wnids of ImageNot's in-domain and out-domain classes, both in ascending order.

    Examples
    --------
    >>> names = wnids_of("imagenet")
    >>> [names[wnids[0]] for wnids in imagenot()]
    ['abacus', 'tench']
    """
    return _lines("imagenot_in.txt"), _lines("imagenot_out.txt")


def shared_classes(data_set: str) -> dict[str, str]:
    """Return the data sets with classes of an ID set, and these classes; empty if unchecked.

    For CIFAR-100 this includes the data sets that *Unsupervised Evaluation of Out-of-distribution
    Detection* lists, as ``gbench_NAME``.  A slice of an ID set has the list of the whole set.

    Examples
    --------
    >>> shared_classes("cifar10")["pacs_photo"], shared_classes("cifar10_mini")["pacs_photo"]
    ('dog, horse', 'dog, horse')
    """
    whole = data_set.removesuffix("_mini")
    return {
        row["set"]: row["shared"] for row in _rows("shared_classes.csv") if row["id_set"] == whole
    }


def _lines(file: str) -> tuple[str, ...]:
    return tuple((_FOLDER / file).read_text(encoding="utf-8").split())


def _rows(file: str) -> tuple[dict[str, str], ...]:
    with open(_FOLDER / file, newline="", encoding="utf-8") as opened:
        return tuple(csv.DictReader(opened))
