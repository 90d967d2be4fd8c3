"""What is audited: a file of outputs, a network and images, or the example."""

from __future__ import annotations

from typing import TYPE_CHECKING

from known_unknowns.auditing.example import example
from known_unknowns.auditing.folders import images_of
from known_unknowns.auditing.inputs import Inputs, read_outputs
from known_unknowns.auditing.networks import open_network, show_images

if TYPE_CHECKING:
    from known_unknowns.auditing.parameters import Parameters


def gather(given: Parameters) -> Inputs:
    """Return the inputs of the audit that parameters ask for.

    Raises
    ------
    ValueError, FileNotFoundError
        As `read_outputs`, `images_of`, `open_network` and `example`.
    """
    if given.outputs:
        return read_outputs(given.outputs, treat_as=given.treat_as)
    families = {"families": given.generated, "seed": given.seed}
    if not (given.model or given.checkpoint):
        sets = {"ood": given.example_ood, "met": given.example_met}
        return example(given.example, given.example_images, **sets, **families)
    known, names = images_of(given.validation), given.class_names
    roles = [role for role in ("train", "production") if getattr(given, role)]
    more = {role: images_of(getattr(given, role)) for role in roles}
    weights = given.checkpoint, given.training, len(names or known.class_names)
    network = open_network(given.model, *weights, download=given.download)
    ood = list(map(images_of, given.ood))
    return show_images(network, known, ood=ood, class_names=names, **families, **more)
