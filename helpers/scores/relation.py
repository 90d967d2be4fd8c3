"""The neural relation graph: relations to the training images."""

from __future__ import annotations

import numpy as np

from helpers.checks import positive_number, whole_number
from helpers.scores.bank import ROWS, draw
from helpers.scores.base import (
    BlockwiseScore,
    norms_of,
    parts,
    recorded,
    rowwise_product,
    unit_rows,
)
from helpers.scores.calibration import softmax

_LEAST = 0.03  # weaker relations count as 0


@recorded("relation")
class Relation(BlockwiseScore):
    """Sum of an image's relations to the training images.

    The relation of two images is the cosine of their features, at least 0, times the probability
    that two classes drawn from their predicted probabilities agree.  Relations of at most 0.03
    count as 0. Source: Kim et al. 2023: their outlier score, kernel and threshold.  Their score is
    1 over the sum: the same ranking.  Their power is 1 for unknown images and 4 for wrong labels;
    OpenOOD chooses among 1 to 8.

    Parameters
    ----------
    power : float
        Positive exponent of each relation.
    bank : int, optional
        Number of compared training images, drawn with a fixed seed; all of them by default.
    """

    block = 1024
    filled = False

    def __init__(self, power: float = 1.0, bank: int | None = None):
        self.power = positive_number("power", power)
        self.bank = None if bank is None else whole_number("bank", bank)

    def _learn(self, train_outputs, head):
        chosen = draw(train_outputs, self.bank)
        self.features = chosen.features
        self.logits = chosen.logits
        self.norms = np.concatenate([norms_of(part.features) for part in parts(chosen)])

    def _scores(self, part):
        rows = unit_rows(part.features)
        total = np.zeros(len(part))
        for start in range(0, len(self.norms), ROWS):
            some = slice(start, start + ROWS)
            relations = rowwise_product(rows, (self.features[some] / self.norms[some, None]).T)
            np.maximum(relations, 0, out=relations)
            relations *= rowwise_product(part.probabilities, softmax(self.logits[some]).T)
            relations *= relations > _LEAST
            total += (relations if self.power == 1 else relations**self.power).sum(axis=1)
        return total
