"""Relation: how strongly an image is related to all training images."""

from __future__ import annotations

import numpy as np

from helpers.checks import whole_number
from helpers.scores.bank import draw
from helpers.scores.base import (
    BlockwiseScore,
    norms_of,
    parts,
    register,
    rowwise_product,
    unit_rows,
)
from helpers.scores.calibration import softmax
from helpers.scores.info import Info

_LEAST = 0.03  # edges of the graph that are not stronger are none
_ROWS = 2048  # training images that are compared with at once, which bounds the memory


@register
class Relation(BlockwiseScore):
    """The sum of an image's relations to the training images.

    Two images are related by the cosine of their features, 0 where that is negative, times the
    probability that a class drawn for one by the model's probabilities is the one drawn for the
    other.  Relations of at most 0.03 are none.

    Parameters
    ----------
    power : float
        Above 0: each relation counts with this power.
    bank : int, optional
        How many training images are compared with, drawn with a fixed seed; all of them by
        default, and where there are fewer.

    Notes
    -----
    Kim et al. 2023, their score of outliers with its kernel and the threshold of their code; theirs
    is 1 over the sum, higher for unknown images: the same ranking.  Their code uses a power of 1
    for unknown images, and of 4 for wrong labels; OpenOOD chooses it among 1 to 8 on validation
    images.  Without `bank` the training outputs are not copied; what training images are predicted
    as is computed from their logits.
    """

    info = Info(
        name="relation",
        title="Neural relation graph (Relation)",
        paper="Neural Relation Graph: A Unified Framework for Identifying Label Noise and Outlier "
        "Data",
        authors="Jang-Hyun Kim, Sangdoo Yun, Hyun Oh Song",
        year=2023,
        key="kimyun2023",
        equation=r"s = \sum_i \bigl( r_i\, [r_i > 0.03] \bigr)^t, \quad"
        r" r_i = \max\bigl(0, \hat h^\top \hat h_i\bigr)\, p^\top p_i, \quad"
        r" \hat h = h / \lVert h \rVert_2",
        needs=("logits", "features", "training outputs"),
        summary="How many training images have features in the same direction and the same "
        "prediction, each counted by how much so.",
        sign="The paper's score of outliers is its inverse: high for known images.",
        hyper_parameters={
            "power": "of each relation, t",
            "bank": "number of training images that are compared with, at most; all by default",
        },
        published={"ImageNet": {"power": 1}},
    )

    # a product does not depend on the rows beside, and the bank is read once for each block
    block, filled = 1024, False

    def __init__(self, power: float = 1.0, bank: int | None = None):
        if not 0 < power < np.inf:
            raise ValueError(f"power: a positive number expected, got {power}")
        self.power = power
        self.bank = None if bank is None else whole_number("bank", bank)

    def _learn(self, train_outputs, head):
        chosen = draw(train_outputs, self.bank)
        self.features, self.logits = chosen.features, chosen.logits
        self.norms = np.concatenate([norms_of(part.features) for part in parts(chosen)])

    def _scores(self, part):
        rows, total = unit_rows(part.features), np.zeros(len(part))
        for start in range(0, len(self.norms), _ROWS):
            some = slice(start, start + _ROWS)
            relations = rowwise_product(rows, (self.features[some] / self.norms[some, None]).T)
            np.maximum(relations, 0, out=relations)
            relations *= rowwise_product(part.probabilities, softmax(self.logits[some]).T)
            relations *= relations > _LEAST
            total += (relations if self.power == 1 else relations**self.power).sum(axis=1)
        return total
