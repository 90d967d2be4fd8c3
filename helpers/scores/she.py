"""The simplified Hopfield energy, SHE."""

from __future__ import annotations

import numpy as np

from helpers.scores.base import BlockwiseScore, class_means, recorded


@recorded("she")
class SimplifiedHopfieldEnergy(BlockwiseScore):
    """Inner product of the features with the pattern of the predicted class.

    A pattern is the mean feature over the correctly classified training images of a class.  A class
    without such images is left out, and the most probable of the other classes is used instead.

    Zhang et al. 2023, their simplified energy with the inner product, on the features before the
    head and without a step of the image.  OpenOOD's pattern of such a class is NaN.
    """

    def _learn(self, train_outputs, head):
        means, counts = class_means(
            train_outputs,
            lambda block: (block.features[block.correct], block.labels[block.correct]),
        )
        self.kept = np.flatnonzero(counts)
        if not len(self.kept):
            raise ValueError("train_outputs: a correctly classified image expected, got none")
        self.patterns = means[self.kept]

    def _scores(self, block):
        likely = block.logits if block.members is None else block.probabilities
        patterns = self.patterns[likely[:, self.kept].argmax(axis=1)]
        return np.einsum("nd,nd->n", block.features, patterns)
