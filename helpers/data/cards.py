"""Description of each data set in the book: one card per data set, from ``cards.yaml``."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field

import pictures
from helpers.checks import known_name
from helpers.files import content_of

#: The two rules of slices, in words.
FIRST = "the first images of each class"
SPACED = "images at equal distances"


@dataclass(frozen=True)
class Card:
    """The record of one data set, from which the book's page of data sets is made.

    Attributes
    ----------
    name : str
        Name for `helpers.data.load`.
    title : str
    what : str
        One sentence: content of the images and how they were chosen.
    classes : int
    splits : dict of str to int
        The number of images of each split.
    origin : str
        Authors of the images, and how the images are obtained here.
    citation_key : str
        The entry in the book's bibliography.
    size : int or None
        Height and width in pixels; None if the images differ.
    licence : str
        Licence, if the authors state one.
    torchvision : str or None
        The class of `torchvision.datasets` that reads it, and downloads it on request.
    torchvision_arguments : dict of str to dict
        For each split, the arguments of that class, unless they are ``split=SPLIT`` or, for a
        class that has ``train`` instead, ``train=True`` or ``False``.
    megabytes : int
        Size of the download of a set that `make data` fetches.
    torchvision_names : str
        Attribute of that class with the names of the classes; without it, names are numbers.
    streamed : bool
        Whether it is a folder of images, one subfolder per class, that is read during use.
    as_it_comes : bool
        Whether that folder is the unpacked archive of the authors.
    slice_of : str or None
        The whole set, if the data set is an embedded slice of it.
    rule : str or None
        Which images of each split of the whole set the slice contains: `FIRST` or `SPACED`.
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
    megabytes: int = 0
    torchvision_arguments: dict[str, dict[str, object]] = field(default_factory=dict)
    torchvision_names: str = "classes"
    streamed: bool = False
    as_it_comes: bool = False
    slice_of: str | None = None
    rule: str | None = None

    def __post_init__(self):
        if self.slice_of:
            known_name(f"rule of the slice {self.name}", self.rule or "", (FIRST, SPACED))

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
    """Return the cards of all data sets in the book.

    A data folder may contain other packs; each of them stores its origin.

    Examples
    --------
    >>> [card.name for card in cards()][:3]
    ['cifar10_mini', 'cifar100_mini', 'crypto_icons_mini']
    """
    entries = content_of(__file__)
    whole = {fields["name"]: fields for fields in entries if "slice_of" not in fields}
    written = [
        Card(**_slice(fields, whole[fields["slice_of"]]) if "slice_of" in fields else fields)
        for fields in entries
    ]
    generated = [
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
    return (*written, *generated)


def _slice(fields: dict, whole: dict) -> dict:
    """Return the fields of a slice's card; the whole set gives the fields that the card lacks."""
    counts = " and ".join(f"{count:,} {split} images" for split, count in fields["splits"].items())
    description = {
        "title": f"{whole['title']}, a small part",
        "what": f"{whole['what']} Here {counts}: {fields['rule']}, in the set's order.",
        "origin": f"{whole['origin']}; embedded in this repository",
    }
    copied = ("classes", "size", "licence", "citation_key")
    return {name: whole[name] for name in copied if name in whole} | description | fields


def find(name: str) -> Card | None:
    """Return the card of the data set `name`, or None without a card."""
    return next((card for card in cards() if card.name == name), None)


def card_of(name: str) -> Card:
    """Return the card of the data set `name`; refuse a name without a card."""
    of_name = {card.name: card for card in cards()}
    return of_name[known_name("data set", name, of_name)]


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
    if card is not None and card.slice_of:
        arguments = f"slice {name}"
    elif name in ("cifar10", "tiny_imagenet_fix"):
        arguments = name.replace("_", "-")
    elif card is not None and card.torchvision:
        # larger images, too, are resized to 32 pixels: a pack is made in memory
        size = "" if card.size and card.size <= 128 else " --size 32"
        arguments = f"from-torchvision {name} --download{size}"
    else:
        size = f" --size {card.size}" if card is not None and card.size != 32 else ""
        arguments = f"from-folder FOLDER_OF_IMAGES {name}{size}"
    return f"python workflow/make_packs.py {arguments}"
