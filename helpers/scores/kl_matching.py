"""KL-Matching: how near the probabilities are to those typical of a class."""

from __future__ import annotations

import numpy as np
from scipy.special import entr

from helpers.info import Info
from helpers.scores.base import BlockwiseScore, class_means, register, rowwise_product


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
        paper="Scaling Out-of-Distribution Detection for Real-World Settings",
        authors="Dan Hendrycks, Steven Basart, Mantas Mazeika, Andy Zou, Joseph Kwon, "
        "Mohammadreza Mostajabi, Jacob Steinhardt, Dawn Song",
        year=2022,
        key="hendrycks2022",
        equation=r"s = -\min_k \sum_j p_j \log \frac{p_j}{d_{kj}}, \quad"
        r" d_k = \operatorname{mean}\{p(x_i) : \arg\max_j p_j(x_i) = k\}",
        needs=("logits", "training outputs"),
        summary="How near the class probabilities are to the mean ones of images that are "
        "predicted as one of the classes.",
        sign="The divergence is negated: high for known images.",
    )

    def _learn(self, train_outputs, head):
        means, counts = class_means(
            train_outputs, lambda part: (part.probabilities, part.predictions)
        )
        templates = np.maximum(means[counts > 0], np.finfo(np.float64).tiny)
        self.log_templates = np.log(templates).T

    def _scores(self, part):
        # the divergence from every template, in one product
        cross_entropies = -rowwise_product(part.probabilities, self.log_templates)
        return entr(part.probabilities).sum(axis=1) - cross_entropies.min(axis=1)
