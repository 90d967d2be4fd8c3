"""Records that describe methods, from which the book's reference pages are made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from helpers.checks import known_name

#: What a method may need: what it reads of a model and its outputs.  One that needs the level of
#: the logits changes with a number added to all logits of an image, as no probability does.
NEEDS = (
    "logits", "level of the logits", "labels", "features", "head", "members", "native", "images",
    "one network", "training outputs",
)  # fmt: skip


@dataclass(frozen=True)
class Info:
    """What there is to know about a method: a score, a calibration, an open-set rule.

    Attributes
    ----------
    name : str
        The name in code (what `helpers.scores.create` takes, for a score).
    title : str
        The name in prose.
    paper, authors : str
        Title and authors of the paper that introduced the method.
    year : int
        Year of that paper.
    key : str
        Its BibTeX key in the book's bibliography.
    equation : str
        LaTeX, without delimiters.
    needs : tuple of str
        What the method reads, out of `NEEDS`.
    summary : str
        One or two sentences.
    sign : str
        What a higher value means, and whether the paper's own sign was turned round.
    hyper_parameters : mapping of str to str
        Each argument of the constructor, and its meaning in a phrase.
    published : mapping of str to mapping
        What its authors chose for these on data of some scale, by the name of a data set, as their
        paper or code says.

    Raises
    ------
    ValueError
        `needs` names something that is not in `NEEDS`, or `published` no hyper-parameter.
    """

    name: str
    title: str
    paper: str
    authors: str
    year: int
    key: str
    equation: str
    needs: tuple[str, ...]
    summary: str
    sign: str = "High for known images, as in the paper."
    hyper_parameters: Mapping[str, str] = field(default_factory=dict)
    published: Mapping[str, Mapping[str, float | str]] = field(default_factory=dict)

    def __post_init__(self):
        for name in self.needs:
            known_name("need", name, NEEDS)
        for chosen in self.published.values():
            for name in chosen:
                known_name(f"hyper-parameter of '{self.name}'", name, self.hyper_parameters)

    @property
    def fits(self) -> bool:
        """Whether it takes something from the training images or the head before it scores."""
        return "training outputs" in self.needs or "head" in self.needs


# sources of several scores
BELGHAZI = {
    "paper": "What classifiers know what they don't?",
    "authors": "Mohamed Ishmael Belghazi, David Lopez-Paz",
    "year": 2021,
    "key": "belghazi2021",
}
HENDRYCKS = {
    "paper": "Scaling Out-of-Distribution Detection for Real-World Settings",
    "authors": "Dan Hendrycks, Steven Basart, Mantas Mazeika, Andy Zou, Joseph Kwon, "
    "Mohammadreza Mostajabi, Jacob Steinhardt, Dawn Song",
    "year": 2022,
    "key": "hendrycks2022",
}
MUELLER = {
    "paper": "Mahalanobis++: Improving OOD Detection via Feature Normalization",
    "authors": "Maximilian Müller, Matthias Hein",
    "year": 2025,
    "key": "mueller2025",
}
