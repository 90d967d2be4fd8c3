"""KL-Matching: how near the probabilities are to those typical of a class."""

from __future__ import annotations

import numpy as np

from helpers.scores.bank import Bank
from helpers.scores.base import BlockwiseScore, class_means, register
from helpers.scores.entropy import negative_entropy
from helpers.scores.info import HENDRYCKS, Info


@register
class KLMatching(BlockwiseScore):
    """Minus the divergence of the probabilities from the nearest class template.

    A template is the mean of the probabilities over the training images that the model
    *predicts* as that class: labels are not used, and a class that is never predicted has none.

    Notes
    -----
    Hendrycks et al. 2022, section 3, who take the templates from held-out images.  A probability
    that underflowed to 0 in a template counts as the smallest normal float64, 2.2e-308; one that
    did so in an image adds nothing.
    """

    info = Info(
        name="kl_matching",
        title="KL-Matching",
        **HENDRYCKS,
        equation=r"s = -\min_k \sum_j p_j \log \frac{p_j}{d_{kj}}, \quad"
        r" d_k = \operatorname{mean}\{p(x_i) : \arg\max_j p_j(x_i) = k\}",
        needs=("logits", "training outputs"),
        summary="How near the class probabilities are to the mean ones of images that are "
        "predicted as one of the classes.",
        sign="The divergence is negated: high for known images.",
    )

    # a bank is exact whatever is looked for at once, and read once for each block
    block, filled = 1024, False

    def _learn(self, train_outputs, head):
        means, counts = class_means(
            train_outputs, lambda part: (part.probabilities, part.predictions)
        )
        templates = np.maximum(means[counts > 0], np.finfo(np.float64).tiny)
        logs = np.log(templates)
        ones, longest = np.ones(len(logs)), np.linalg.norm(logs, axis=1).max()
        self.log_templates = Bank(logs, ones, 0 * ones, longest)

    def _scores(self, part):
        # The nearest template is the one with the smallest cross-entropy.
        nearest = self.log_templates.kth_largest(part.probabilities, 1)
        return nearest - negative_entropy(part.probabilities)
