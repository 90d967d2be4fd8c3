"""Records of methods, read from ``records.yaml``; the book's page of methods shows them."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from helpers.checks import known_name

if TYPE_CHECKING:
    from helpers.networks.model import Model
    from helpers.outputs import Outputs

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


@functools.cache
def _records() -> dict[str, Info]:
    text = Path(__file__).with_name("records.yaml").read_text(encoding="utf-8")
    content = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    records = {}
    for name, values in content["records"].items():
        key, needs = values.pop("source"), tuple(values.pop("needs"))
        records[name] = Info(name=name, key=key, needs=needs, **content["papers"][key], **values)
    return records


def record(name: str) -> Info:
    """Return the record of a method from ``records.yaml``.

    Examples
    --------
    >>> record("openmax").title
    'OpenMax'
    """
    return _records()[name]


LACKING = {
    "members": "needs an ensemble, several heads or several passes",
    "native": "is the measure of a training algorithm that brings one",
    "head": "needs a linear layer as the last one, of one network",
    "level of the logits": "needs the level of the logits, which the logarithms of mean "
    "probabilities have lost",
    "images": "goes back to the images, to a network without dropout",
    "one network": "needs one network",
}
"""Why a score cannot be had, by what the model lacks."""


def lacking(needs: Iterable[str], model: Model, outputs: Outputs) -> list[str]:
    """Return what a model lacks of what a score needs; nothing, if the score can be had of it.

    The logarithms of mean probabilities have no level: of an ensemble, or of several heads, the
    energy is 0 for every image but for rounding errors, and the largest logit is the score
    ``msp``.  One network of which several passes are the answer has logits all the same, those
    without dropout; but images are not shown to it again, since that would be without dropout too.

    Parameters
    ----------
    needs : iterable of str
        The score's ``info.needs``.
    model : Model
    outputs : Outputs
        What it says of some images.

    Returns
    -------
    list of str
        Keys of `LACKING`.
    """
    one_network = len(model.networks) == 1
    has = {
        "members": outputs.members is not None,
        "native": outputs.native is not None,
        "head": model.head is not None,
        "level of the logits": outputs.members is None or (one_network and model.passes > 0),
        "images": not model.passes,
        "one network": one_network,
    }
    return [need for need in needs if not has.get(need, True)]
