"""What OpenMax knows of a network's training images: computed, or stored beside the network."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from helpers.scores.openmax import ClassDistances, class_distances
from helpers.training import finished_networks
from helpers.training.fitted import Fitted

if TYPE_CHECKING:
    from helpers.data import Images, ImageStream
    from helpers.networks.model import Network

_STORED = ("mean", "correct", "largest")  # arrays of `ClassDistances`


def learnt_distances(
    network: Network, train: Images | ImageStream, kinds: Iterable[str]
) -> dict[str, ClassDistances]:
    """Return the distances of a network's training images to their class means, by kind.

    Those of a finished network, which has learnt other images too, are stored beside it.
    """
    if isinstance(network, Fitted) and network.finished:
        kept = finished_networks.kept(network.path)
        stored = {kind: [kept[f"{name} {kind}"] for name in _STORED] for kind in kinds}
        return {kind: ClassDistances(kind, *arrays) for kind, arrays in stored.items()}
    learnt = network.outputs(train)
    return {kind: class_distances(learnt.logits, learnt.labels, kind) for kind in kinds}


def arrays_of(known: ClassDistances, most: int, dtype: type[np.floating]) -> dict[str, np.ndarray]:
    """Return what `finished_networks.save_held_out` stores: at most so many distances a class."""
    few = replace(known, largest=known.largest[:, :most].astype(dtype))
    return {f"{name} {known.distance}": getattr(few, name) for name in _STORED}
