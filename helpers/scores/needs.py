"""Whether a model has what a score needs, and in words what it lacks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from helpers.networks.model import Model
    from helpers.outputs import Outputs

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
    return [one for one in needs if not has.get(one, True)]
