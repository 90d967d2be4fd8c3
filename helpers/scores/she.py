"""Simplified Hopfield energy (SHE)."""

from __future__ import annotations

import numpy as np

from helpers.scores.base import BlockwiseScore, class_means, register
from helpers.scores.info import Info


@register
class SimplifiedHopfieldEnergy(BlockwiseScore):
    """The inner product of the features with the pattern of the predicted class.

    A pattern is the mean of the features over the correctly classified training images of a class.
    A class of which there is none has no pattern and is left out, as if the model did not have it:
    an image that is predicted as such a class is compared with the pattern of the most probable
    class that has one.

    Notes
    -----
    Zhang et al. 2023, their simplified energy with the inner product, on the features before the
    head and without a step of the image.  OpenOOD takes the mean of no image for the pattern of a
    class without any, which is not a number.
    """

    info = Info(
        name="she",
        title="Simplified Hopfield energy (SHE)",
        paper="Out-of-Distribution Detection based on In-Distribution Data Patterns Memorization "
        "with Modern Hopfield Energy",
        authors="Jinsong Zhang, Qiang Fu, Xu Chen, Lun Du, Zelin Li, Gang Wang, Xiaoguang Liu, "
        "Shi Han, Dongmei Zhang",
        year=2023,
        key="zhangfu2023",
        equation=r"s = h^\top \bar h_{\hat y}, \quad \hat y = \arg\max_k p_k, \quad"
        r" \bar h_k = \operatorname{mean}\{h_i : y_i = \hat y_i = k\}",
        needs=("logits", "features", "labels", "training outputs"),
        summary="How well the features match the mean ones of the predicted class.",
        sign="The energy is its negative; high for known images, as in the paper.",
    )

    def _learn(self, train_outputs, head):
        means, counts = class_means(
            train_outputs, lambda part: (part.features[part.correct], part.labels[part.correct])
        )
        self.kept = np.flatnonzero(counts)
        if not len(self.kept):
            raise ValueError("train_outputs: a correctly classified image expected, got none")
        self.patterns = means[self.kept]

    def _scores(self, part):
        likely = part.logits if part.members is None else part.probabilities
        patterns = self.patterns[likely[:, self.kept].argmax(axis=1)]
        return np.einsum("nd,nd->n", part.features, patterns)
