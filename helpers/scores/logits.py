"""Scores of the logits, the probabilities, or the outputs of several members."""

from __future__ import annotations

import numpy as np

from helpers.checks import positive_number, whole_number
from helpers.scores.base import BlockwiseScore, recorded


@recorded("msp")
class MaximumSoftmaxProbability(BlockwiseScore):
    """Largest class probability, of the mean over members; in [1/K, 1]."""

    def _scores(self, part):
        return part.probabilities.max(axis=1)


@recorded("max_logit")
class MaximumLogit(BlockwiseScore):
    """Largest logit.

    Unlike the largest probability, it separates an image of several classes from one of no class.

    Hendrycks et al. 2022, section 3.  For an ensemble, it ranks images as the largest probability.
    """

    def _scores(self, part):
        return part.logits.max(axis=1).astype(np.float64)


def log_sum_exp(logits: np.ndarray) -> np.ndarray:
    """Return the logarithm of the sum of exponentials of each row, float64 [N].

    >>> log_sum_exp(np.log([[1.0, 2.0, 5.0]])).round(6)  # log(8)
    array([2.079442])
    """
    largest = logits.max(axis=1).astype(np.float64)
    shifted = logits.astype(np.float64)
    shifted -= largest[:, None]
    # In place: for arrays of this size the allocation of memory takes longer than the exponentials.
    np.exp(shifted, out=shifted)
    return largest + np.log(shifted.sum(axis=1))


@recorded("energy")
class Energy(BlockwiseScore):
    """Minus the energy: the log of the sum of the exponentials of the logits.

    Liu et al. 2020, equation 7 with T = 1, without fine-tuning.  It depends on the level of the
    logits, so it is 0 for all images of an ensemble.
    """

    def _scores(self, part):
        return log_sum_exp(part.logits)


def negative_entropy(probabilities: np.ndarray) -> np.ndarray:
    r"""Return the sum of :math:`p_k \log p_k` of each row, float64 [N]; p = 0 contributes 0.

    >>> negative_entropy(np.array([[0.0, 1.0], [0.5, 0.5]])).round(6)  # 0 and -log(2)
    array([ 0.      , -0.693147])
    """
    logs = np.maximum(probabilities, np.finfo(np.float64).tiny)
    np.log(logs, out=logs)
    logs *= probabilities
    return logs.sum(axis=1)


@recorded("entropy")
class Entropy(BlockwiseScore):
    """Minus the entropy of the probabilities, of the mean over members; in [−log K, 0]."""

    def _scores(self, part):
        return negative_entropy(part.probabilities)


@recorded("gap")
class Gap(BlockwiseScore):
    """Largest minus second largest probability, of the mean over members; in [0, 1]."""

    def _scores(self, part):
        if part.num_classes < 2:
            raise ValueError("outputs: at least 2 classes expected, got 1")
        largest = np.partition(part.probabilities, -2, axis=1)
        return largest[:, -1] - largest[:, -2]


@recorded("gen")
class GeneralisedEntropy(BlockwiseScore):
    r"""Minus a generalised entropy of the largest probabilities; at most 0.

    The smaller :math:`\gamma`, the more small probabilities count. Source: Liu et al. 2023, with
    the defaults of their code for ImageNet.  The complement of the largest probability is computed
    as the sum of all others, since :math:`1 - p` loses digits near p = 1.

    Parameters
    ----------
    gamma : float
        Positive.
    top : int
        Number of largest probabilities, at most K.
    """

    def __init__(self, gamma: float = 0.1, top: int = 100):
        self.gamma, self.top = positive_number("gamma", gamma), whole_number("top", top)

    def _scores(self, part):
        ordered = np.sort(part.probabilities, axis=1)
        complements = 1 - ordered
        complements[:, -1] = ordered[:, :-1].sum(axis=1)
        return -((ordered * complements)[:, -self.top :] ** self.gamma).sum(axis=1)


@recorded("jsd")
class JensenShannon(BlockwiseScore):
    """Minus the Jensen-Shannon divergence of the members' probabilities; in [−log M, 0].

    Members are the networks of an ensemble, the heads of MIMO, or passes with dropout.

    Native measure of MC-Dropout and ensembles in Belghazi and Lopez-Paz 2021: the mutual
    information between class and member.
    """

    def _scores(self, part):
        if part.members is None:
            raise ValueError("outputs: members expected (networks, or dropout passes), got none")
        members = part.members.astype(np.float64)
        within = np.mean([negative_entropy(member) for member in members], axis=0)
        # rounding could raise the value above 0, which Jensen's inequality excludes
        return np.minimum(negative_entropy(members.mean(axis=0)) - within, 0)


@recorded("native")
class NativeScore(BlockwiseScore):
    """Measure of the training algorithm, which the network's outputs contain.

    Mixup, random network distillation, orthogonal certificates and the soft labeler have one; see
    `helpers.training.objectives`.

    One of the measures in Belghazi and Lopez-Paz 2021; for MC-Dropout and ensembles, see ``jsd``.
    """

    def _scores(self, part):
        if part.native is None:
            raise ValueError("outputs: native scores expected, got none: the algorithm lacks them")
        return part.native
