"""What a card says."""

from __future__ import annotations

from dataclasses import dataclass, field


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
    torchvision_arguments : dict of str to dict
        By split, what that class is called with where it is not ``split=SPLIT`` or, if it knows
        that instead, ``train=True`` or ``False``.
    torchvision_names : str
        Its attribute that holds the names of the classes; where it has none, they are numbers.
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
    torchvision_arguments: dict[str, dict[str, object]] = field(default_factory=dict)
    torchvision_names: str = "classes"
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
