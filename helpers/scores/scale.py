"""SCALE: the energy after all features of an image were enlarged."""

from __future__ import annotations

from helpers.scores.ash import shaping
from helpers.scores.base import BlockwiseScore, register, valid_percentile
from helpers.scores.energy import log_sum_exp
from helpers.scores.info import Info


@register
class Scale(BlockwiseScore):
    """The energy of the logits for features enlarged by ASH's factor, with none removed.

    As the head is linear, the logits less its bias are enlarged by the same factor.

    Parameters
    ----------
    percentile : float
        Share of each image's features that are not among the largest, in [0, 100).

    Notes
    -----
    Xu et al. 2024, without their training.  Their code begins with the 85th percentile, for
    ImageNet, and chooses another one on validation images.  Negative features count as 0 in the
    factor, see `helpers.scores.ash.shaping`; they are enlarged as the others are.
    """

    info = Info(
        name="scale",
        title="Activation scaling (SCALE)",
        paper="Scaling for Training Time and Post-hoc Out-of-distribution Detection Enhancement",
        authors="Kai Xu, Rongyu Chen, Gianni Franchi, Angela Yao",
        year=2024,
        key="xu2024",
        equation=r"s = \log \sum_k e^{z'_k}, \quad z' = e^{r} W h + b, \quad"
        r" r = \frac{\sum_j h_j}{\sum_{j : h_j \ge q(h)} h_j}",
        needs=("logits", "level of the logits", "features", "head"),
        summary="The energy of an image whose features are enlarged, the more so the less of "
        "their sum is in the largest ones.",
        hyper_parameters={
            "percentile": "share of an image's features that are not among the largest, in percent"
        },
        published={"ImageNet": {"percentile": 85}},
    )

    def __init__(self, percentile: float = 85.0):
        self.percentile = valid_percentile(percentile)

    def _learn(self, train_outputs, head):
        self.bias = head.bias

    def _scores(self, part):
        _, factor = shaping(part.features, self.percentile)
        return log_sum_exp(factor[:, None] * (part.logits - self.bias) + self.bias)
