"""Jensen-Shannon divergence of the members of an ensemble."""

from __future__ import annotations

import numpy as np

from helpers.scores.base import BlockwiseScore, register
from helpers.scores.entropy import negative_entropy
from helpers.scores.info import BELGHAZI, Info


@register
class JensenShannon(BlockwiseScore):
    """Minus the Jensen-Shannon divergence of the members' probabilities.

    From −log M, the M members certain of different classes, to 0, all of one mind.  Members are
    the networks of an ensemble, the heads of MIMO or passes with dropout.

    Notes
    -----
    The native measure of MC-Dropout and of ensembles in Belghazi and Lopez-Paz 2021.  It is the
    mutual information between the class and the member that is asked.
    """

    info = Info(
        name="jsd",
        title="Jensen–Shannon divergence",
        **BELGHAZI,
        equation=r"s = \frac1M \sum_m H(p^{(m)}) - H\Bigl(\frac1M \sum_m p^{(m)}\Bigr), \quad"
        r" H(p) = -\sum_k p_k \log p_k",
        needs=("members",),
        summary="How far the members of an ensemble, or passes with dropout, agree.",
        sign="The divergence is negated: high for known images.",
    )

    def _scores(self, part):
        if part.members is None:
            raise ValueError(
                "outputs: members expected (an ensemble's, or passes with dropout), got none"
            )
        members = part.members.astype(np.float64)
        within = np.mean([negative_entropy(one) for one in members], axis=0)
        # rounding could lift it above 0, which Jensen's inequality does not
        return np.minimum(negative_entropy(members.mean(axis=0)) - within, 0)
