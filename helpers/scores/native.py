"""The measure that comes with a training algorithm."""

from __future__ import annotations

from helpers.scores.base import BlockwiseScore, register
from helpers.scores.info import BELGHAZI, Info


@register
class NativeScore(BlockwiseScore):
    """The training algorithm's own measure, as the network's outputs hold it.

    Mixup, random network distillation, orthogonal certificates and the soft labeler have one;
    what it is, `helpers.training.objectives` says of each.

    Notes
    -----
    One of the measures in Belghazi and Lopez-Paz 2021, whose native measure of MC-Dropout and of
    ensembles is the score ``jsd``.
    """

    info = Info(
        name="native",
        title="Native",
        **BELGHAZI,
        equation=r"s = -u(x), \quad u \text{ the training algorithm's own measure}",
        needs=("native",),
        summary="What the algorithm that trained the network says itself about how well it knows "
        "an image.",
        sign="The paper's measures are negated where outputs are computed: high for known images.",
    )

    def _scores(self, part):
        if part.native is None:
            raise ValueError(
                "outputs: native scores expected, got none; the algorithm that trained the network "
                "has no measure of its own"
            )
        return part.native
