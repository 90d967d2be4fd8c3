"""KL-Matching: the divergence from the templates of the classes."""

from __future__ import annotations

import numpy as np

from helpers.scores.bank import Bank
from helpers.scores.base import BlockwiseScore, class_means, recorded
from helpers.scores.entropy import negative_entropy


@recorded("kl_matching")
class KLMatching(BlockwiseScore):
    """Minus the divergence of the probabilities from the nearest class template.

    A template is the mean probability over the training images that the model *predicts* as a
    class. Labels are not used.  A class without predictions does not get a template.

    Hendrycks et al. 2022, section 3, with templates from held-out images.  A probability that
    underflowed to 0 in a template counts as 2.2e-308; in an image it contributes 0.
    """

    block = 1024
    filled = False

    def _learn(self, train_outputs, head):
        means, counts = class_means(
            train_outputs, lambda block: (block.probabilities, block.predictions)
        )
        templates = np.maximum(means[counts > 0], np.finfo(np.float64).tiny)
        logs = np.log(templates)
        ones = np.ones(len(logs))
        longest = np.linalg.norm(logs, axis=1).max()
        self.log_templates = Bank(logs, ones, 0 * ones, longest)

    def _scores(self, block):
        # The nearest template has the smallest cross-entropy.
        nearest = self.log_templates.kth_largest(block.probabilities, 1)
        return nearest - negative_entropy(block.probabilities)
