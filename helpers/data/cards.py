"""What is known of each data set that the book speaks of: one card each, from ``cards.yaml``."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from pathlib import Path

import pictures


@dataclass(frozen=True)
class Card:
    """The record of one data set, from which the book's page of data sets is made.

    Attributes
    ----------
    name : str
        What `helpers.data.load` calls it.
    title : str
    what : str
        One sentence: what the images show and how they were chosen.
    classes : int
    splits : dict of str to int
        The number of images of each split.
    origin : str
        Who made the images, and by which way they come here.
    citation_key : str
        The entry in the book's bibliography.
    size : int or None
        Height and width in pixels; None where the images differ.
    licence : str
        As far as its makers state one.
    torchvision : str or None
        The class of `torchvision.datasets` that reads (and, when asked, downloads) it.
    torchvision_arguments : dict of str to dict
        By split, what that class is called with where it is not ``split=SPLIT`` or, if it knows
        that instead, ``train=True`` or ``False``.
    torchvision_names : str
        Its attribute that holds the names of the classes; where it has none, they are numbers.
    streamed : bool
        Whether it lies as a folder of images, one subfolder a class, and is read while it is used.
    as_it_comes : bool
        Whether that folder is what its makers' archive unpacks to.
    """

    name: str
    title: str
    what: str
    classes: int
    splits: dict[str, int]
    origin: str
    citation_key: str
    size: int | None = None
    licence: str = "not stated by its makers; in use for research, with citation"
    torchvision: str | None = None
    torchvision_arguments: dict[str, dict[str, object]] = field(default_factory=dict)
    torchvision_names: str = "classes"
    streamed: bool = False
    as_it_comes: bool = False

    @property
    def record(self) -> dict[str, str]:
        """The origin as `Images.origin` holds it: title, source, licence, citation."""
        return {
            "title": self.title,
            "source": self.origin,
            "licence": self.licence,
            "citation": self.citation_key,
        }


@functools.cache
def cards() -> tuple[Card, ...]:
    """Return the cards of all data sets that the book speaks of.

    A data folder may hold more packs than these; each tells its own origin.

    Examples
    --------
    >>> [card.name for card in cards()][:3]
    ['cifar10_mini', 'digits', 'photographs']
    """
    import yaml  # most that load this module ask for no card

    text = Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8")
    written = [Card(**fields) for fields in yaml.load(text, yaml.CSafeLoader)]
    drawn = [
        Card(
            name=family.name,
            title=family.title,
            what=family.what,
            classes=1,
            splits=family.splits,
            size=pictures.SIZE,
            origin="drawn by this project's code, pictures, when they are asked for",
            licence="MIT, as the code",
            citation_key=family.citation_key,
        )
        for family in pictures.FAMILIES.values()
    ]
    return (*written, *drawn)


def find(name: str) -> Card | None:
    """Return the card of the data set `name`, or None if it has none."""
    return next((card for card in cards() if card.name == name), None)


def remedy(name: str) -> str:
    """Return the command that makes the pack `name` (again), or the folder if it is streamed.

    Examples
    --------
    >>> remedy("svhn")
    'python workflow/make_packs.py from-torchvision svhn --download'
    >>> remedy("food101")
    'python workflow/arrange.py food101 FOLDER_OF_ITS_ARCHIVE'
    """
    card = find(name)
    if card is not None and card.as_it_comes:
        return "unzip ARCHIVE_OF_ITS_MAKERS -d DATA_ROOT"
    if card is not None and card.streamed:
        return f"python workflow/arrange.py {name} FOLDER_OF_ITS_ARCHIVE"
    if name in ("cifar10", "cifar10_mini", "tiny_imagenet_fix"):
        arguments = name.replace("_", "-")
    elif card is not None and card.torchvision:
        # larger images, too, are brought to 32 pixels: a pack is made in memory
        size = "" if card.size and card.size <= 128 else " --size 32"
        arguments = f"from-torchvision {name} --download{size}"
    else:
        size = f" --size {card.size}" if card is not None and card.size != 32 else ""
        arguments = f"from-folder FOLDER_OF_IMAGES {name}{size}"
    return f"python workflow/make_packs.py {arguments}"
