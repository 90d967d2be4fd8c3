"""The measure that a training algorithm brings."""

from __future__ import annotations

from helpers.scores.base import BlockwiseScore, recorded


@recorded("native")
class NativeScore(BlockwiseScore):
    """Measure of the training algorithm, which the network's outputs contain.

    Mixup, random network distillation, orthogonal certificates and the soft labeler have one; see
    `helpers.training.objectives`.

    One of the measures in Belghazi and Lopez-Paz 2021; for MC-Dropout and ensembles, see ``jsd``.
    """

    def _scores(self, block):
        if block.native is None:
            raise ValueError("outputs: native scores expected, got none: the algorithm lacks them")
        return block.native
