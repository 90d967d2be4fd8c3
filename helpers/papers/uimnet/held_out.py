"""Committed outputs of held-out images, for networks whose test images are at hand as a slice.

The threshold, the temperature and the likelihood need images that a network has not learnt.  The
training images of a slice are no such images: most of them are among those that it has learnt.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np

from helpers.outputs import Outputs
from helpers.training import finished_networks

#: Start of the names of scores in a file of `finished_networks.save_held_out`.
SCORE = "score_"


@dataclass(frozen=True)
class HeldOut:
    """Outputs of all held-out images of a network, and scores that need more than logits.

    ``scores`` has, by the name of a score, float32 [temperatures, N]: at temperature 1 and, if the
    score depends on it, at the temperature that is fitted to these images.
    """

    outputs: Outputs
    scores: Mapping[str, np.ndarray]

    @classmethod
    def read(cls, path: Path) -> Self:
        """Return the outputs and scores beside an exported network."""
        stored = finished_networks.kept(path)
        names = [name for name in stored if name.startswith(SCORE)]
        scores = {name.removeprefix(SCORE): stored[name] for name in names}
        return cls(finished_networks.held_out(path), scores)

    def scores_of(self, name: str, *, after: bool) -> np.ndarray:
        """Return the scores of the held-out images, after temperature scaling if `after`."""
        if name not in self.scores:
            raise ValueError(
                f"The network has no committed scores '{name}' of held-out images; there are "
                f"{', '.join(self.scores)}, and all scores of logits"
            )
        return self.scores[name][int(after)]
