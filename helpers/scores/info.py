"""Records of methods, read from ``records.yaml``; the book's page of methods shows them."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from helpers.checks import known_name
from helpers.files import content_of

if TYPE_CHECKING:
    from helpers.networks.model import Model
    from helpers.outputs import Outputs

#: Possible needs of a method: parts of a model and its outputs that it uses.  A method that needs
#: the level of logits changes if a number is added to all logits of an image; probabilities do not.
NEEDS = (
    "logits", "level of the logits", "labels", "features", "head", "members", "native", "images",
    "one network", "training outputs",
)  # fmt: skip


@dataclass(frozen=True)
class Info:
    """Record of a method: a score, a calibration, an open-set rule.

    `key` is a BibTeX key, `equation` LaTeX, `needs` lists the parts of a model that the method uses
    (from `NEEDS`), `sign` is the meaning of a higher value.  `hyper_parameters` are arguments and
    their meanings, `settings` the authors' values for them, by the name of a data set.
    """

    name: str
    title: str
    paper: str
    key: str
    equation: str
    needs: tuple[str, ...]
    summary: str
    sign: str = "High for known images, as in the paper."
    hyper_parameters: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Mapping[str, float | str]] = field(default_factory=dict)

    def __post_init__(self):
        for name in self.needs:
            known_name("need", name, NEEDS)
        for arguments in self.settings.values():
            for name in arguments:
                known_name(f"hyper-parameter of '{self.name}'", name, self.hyper_parameters)

    @property
    def fits(self) -> bool:
        """Whether it reads the training images or the head before it scores."""
        return "training outputs" in self.needs or "head" in self.needs


@functools.cache
def _records() -> dict[str, Info]:
    content = content_of(__file__, "records")
    records = {}
    for name, values in content["records"].items():
        key = values.pop("source")
        needs = tuple(values.pop("needs"))
        records[name] = Info(name=name, key=key, needs=needs, **content["papers"][key], **values)
    return records


def record(name: str) -> Info:
    """Return the record of a method from ``records.yaml``.

    >>> record("openmax").title
    'OpenMax'
    """
    return _records()[name]


#: Reason why a score is unavailable, by the part that the model lacks.
LACKING = {
    "members": "needs an ensemble, several heads or several passes",
    "native": "is the measure of a training algorithm that brings one",
    "head": "needs a linear layer as the last one, of one network",
    "level of the logits": "needs the level of the logits, which the logarithms of mean "
    "probabilities have lost",
    "images": "goes back to the images, to a network without dropout",
    "one network": "needs one network",
}


def lacking(needs: Iterable[str], model: Model, outputs: Outputs) -> list[str]:
    """Return the keys of `LACKING` that a score needs and a model does not have.

    `needs` is the score's ``info.needs``, `outputs` are outputs of the model.  Logarithms of mean
    probabilities lack a level: the energy of an ensemble is 0 up to rounding.  Several passes of
    one network keep the logits without dropout, but the images would also be seen without dropout.
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
