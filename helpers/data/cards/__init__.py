"""What is known of each data set that the book speaks of: one card each."""

from __future__ import annotations

from helpers.data import generated
from helpers.data.cards.base import Card
from helpers.data.cards.folders import FOLDERS
from helpers.data.cards.packs import PACKS
from helpers.data.cards.vision import VISION

__all__ = ["Card", "cards", "find", "remedy"]

_CARDS = (
    *PACKS,
    *VISION,
    *FOLDERS,
    *(
        Card(
            name=family.name,
            title=family.title,
            what=family.what,
            classes=1,
            splits=family.splits,
            size=generated.SIZE,
            origin="drawn by this project's code, helpers.data.generated, when they are asked for",
            licence="MIT, as the code",
            citation_key=family.citation_key,
        )
        for family in generated.FAMILIES.values()
    ),
)


def cards() -> list[Card]:
    """Return the cards of all data sets that the book speaks of.

    A data folder may hold more packs than these; each tells its own origin.

    Examples
    --------
    >>> [card.name for card in cards()][:3]
    ['cifar10_mini', 'digits', 'photographs']
    """
    return list(_CARDS)


def find(name: str) -> Card | None:
    """Return the card of the data set `name`, or None if it has none."""
    return next((card for card in _CARDS if card.name == name), None)


def remedy(name: str) -> str:
    """Return the command that makes the pack `name` (again).

    Examples
    --------
    >>> remedy("svhn")
    'python workflow/make_packs.py from-torchvision svhn --download'
    """
    card = find(name)
    if name in ("cifar10", "cifar10_mini"):
        arguments = name.replace("_", "-")
    elif card is not None and card.torchvision:
        # larger images, too, are brought to 32 pixels: a pack is made in memory
        size = "" if card.size and card.size <= 128 else " --size 32"
        arguments = f"from-torchvision {name} --download{size}"
    else:
        size = f" --size {card.size}" if card is not None and card.size != 32 else ""
        arguments = f"from-folder FOLDER_OF_IMAGES {name}{size}"
    return f"python workflow/make_packs.py {arguments}"
