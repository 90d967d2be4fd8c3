"""The neural relation graph: relations to the training images."""

from __future__ import annotations

import numpy as np

from helpers.checks import positive_number, whole_number
from helpers.scores.bank import ROWS, draw
from helpers.scores.base import (
    BlockwiseScore,
    blocks,
    norms_of,
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
        compared = draw(train_outputs, self.bank)
        self.features = compared.features
        self.logits = compared.logits
        self.norms = np.concatenate([norms_of(block.features) for block in blocks(compared)])

    def _scores(self, block):
        rows = unit_rows(block.features)
        total = np.zeros(len(block))
        for start in range(0, len(self.norms), ROWS):
            rows_of_block = slice(start, start + ROWS)
            relations = rowwise_product(
                rows, (self.features[rows_of_block] / self.norms[rows_of_block, None]).T
            )
            np.maximum(relations, 0, out=relations)
            relations *= rowwise_product(block.probabilities, softmax(self.logits[rows_of_block]).T)
            relations *= relations > _LEAST
            total += (relations if self.power == 1 else relations**self.power).sum(axis=1)
        return total
