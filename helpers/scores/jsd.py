"""The Jensen-Shannon divergence of members: of an ensemble, or of passes with dropout."""

from __future__ import annotations

import numpy as np

from helpers.scores.base import BlockwiseScore, recorded
from helpers.scores.entropy import negative_entropy


@recorded("jsd")
class JensenShannon(BlockwiseScore):
    """Minus the Jensen-Shannon divergence of the members' probabilities; in [−log M, 0].

    Members are the networks of an ensemble, the heads of MIMO, or passes with dropout.

    Native measure of MC-Dropout and ensembles in Belghazi and Lopez-Paz 2021: the mutual
    information between class and member.
    """

    def _scores(self, block):
        if block.members is None:
            raise ValueError("outputs: members expected (networks, or dropout passes), got none")
        members = block.members.astype(np.float64)
        within = np.mean([negative_entropy(member) for member in members], axis=0)
        # rounding could raise the value above 0, which Jensen's inequality excludes
        return np.minimum(negative_entropy(members.mean(axis=0)) - within, 0)
