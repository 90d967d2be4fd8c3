"""Scores of the logits, the probabilities, or the outputs of several members."""

from __future__ import annotations

import numpy as np

from helpers.checks import whole_number
from helpers.scores.base import BlockwiseScore, recorded


@recorded("msp")
class MaximumSoftmaxProbability(BlockwiseScore):
    """The largest class probability; of an ensemble, of its mean probabilities.

    A confidence: it lies in [1/K, 1].
    """

    def _scores(self, part):
        return part.probabilities.max(axis=1)


@recorded("max_logit")
class MaximumLogit(BlockwiseScore):
    """The largest logit.

    Unlike the largest probability, it tells an image that fits several classes well from one
    that fits none.

    Notes
    -----
    Hendrycks et al. 2022, section 3.  Of an ensemble, whose logits are logarithms of
    probabilities, it ranks images as the largest probability does.
    """

    def _scores(self, part):
        return part.logits.max(axis=1).astype(np.float64)


def log_sum_exp(logits: np.ndarray) -> np.ndarray:
    r"""Return :math:`\log \sum_k e^{z_k}` of each row of logits [N, K], float64 [N].

    Examples
    --------
    >>> log_sum_exp(np.log([[1.0, 2.0, 5.0]])).round(6)  # log(8)
    array([2.079442])
    """
    largest = logits.max(axis=1).astype(np.float64)
    shifted = logits.astype(np.float64)
    shifted -= largest[:, None]
    # In place: for arrays of this size new memory takes longer than the exponentials.
    np.exp(shifted, out=shifted)
    return largest + np.log(shifted.sum(axis=1))


@recorded("energy")
class Energy(BlockwiseScore):
    """Minus the energy: the log of the sum of the exponentials of the logits, at temperature 1.

    A number c added to all logits adds c to it, though no probability changes.

    Notes
    -----
    Liu et al. 2020, equation 7 with T = 1, without their fine-tuning.  Of an ensemble, whose
    logits are logarithms of probabilities, it is 0 for every image and says nothing.
    """

    def _scores(self, part):
        return log_sum_exp(part.logits)


def negative_entropy(probabilities: np.ndarray) -> np.ndarray:
    r"""Return :math:`\sum_k p_k \log p_k` of each row of probabilities [N, K], float64 [N].

    A probability of 0 adds nothing.

    Examples
    --------
    >>> negative_entropy(np.array([[0.0, 1.0], [0.5, 0.5]])).round(6)  # 0 and -log(2)
    array([ 0.      , -0.693147])
    """
    logs = np.maximum(probabilities, np.finfo(np.float64).tiny)
    np.log(logs, out=logs)
    logs *= probabilities
    return logs.sum(axis=1)


@recorded("entropy")
class Entropy(BlockwiseScore):
    """Minus the entropy of the class probabilities; of an ensemble, of its mean probabilities.

    From −log K, all classes equally probable, to 0.  A probability of 0 adds nothing.
    """

    def _scores(self, part):
        return negative_entropy(part.probabilities)


@recorded("gap")
class Gap(BlockwiseScore):
    """The largest probability minus the second largest; of an ensemble, of its means.

    A confidence: it lies in [0, 1].
    """

    def _scores(self, part):
        if part.num_classes < 2:
            raise ValueError("outputs: at least 2 classes expected, got 1")
        largest = np.partition(part.probabilities, -2, axis=1)
        return largest[:, -1] - largest[:, -2]


@recorded("gen")
class GeneralisedEntropy(BlockwiseScore):
    r"""Minus a generalised entropy of the largest probabilities; of an ensemble, of its means.

    At most 0.  The smaller :math:`\gamma`, the more the small probabilities count.

    Parameters
    ----------
    gamma : float
        Above 0.
    top : int
        How many of the largest probabilities are summed over; all, where there are fewer.

    Notes
    -----
    Liu et al. 2023, with the defaults of their code, which is for ImageNet.  Of the largest
    probability the complement is taken as the sum of the others, since :math:`1 - p` loses its
    digits as p nears 1.
    """

    def __init__(self, gamma: float = 0.1, top: int = 100):
        if not gamma > 0:
            raise ValueError(f"gamma: a positive number expected, got {gamma}")
        self.gamma, self.top = gamma, whole_number("top", top)

    def _scores(self, part):
        ordered = np.sort(part.probabilities, axis=1)
        complements = 1 - ordered
        complements[:, -1] = ordered[:, :-1].sum(axis=1)
        return -((ordered * complements)[:, -self.top :] ** self.gamma).sum(axis=1)


@recorded("jsd")
class JensenShannon(BlockwiseScore):
    """Minus the Jensen-Shannon divergence of the members' probabilities.

    From −log M, the M members certain of different classes, to 0, all of one mind.  Members are
    the networks of an ensemble, the heads of MIMO or passes with dropout.

    Notes
    -----
    The native measure of MC-Dropout and of ensembles in Belghazi and Lopez-Paz 2021.  It is the
    mutual information between the class and the member that is asked.
    """

    def _scores(self, part):
        if part.members is None:
            raise ValueError(
                "outputs: members expected (an ensemble's, or passes with dropout), got none"
            )
        members = part.members.astype(np.float64)
        within = np.mean([negative_entropy(member) for member in members], axis=0)
        # rounding could lift it above 0, which Jensen's inequality does not
        return np.minimum(negative_entropy(members.mean(axis=0)) - within, 0)


@recorded("native")
class NativeScore(BlockwiseScore):
    """The training algorithm's own measure, as the network's outputs hold it.

    Mixup, random network distillation, orthogonal certificates and the soft labeler have one;
    what it is, `helpers.training.objectives` says of each.

    Notes
    -----
    One of the measures in Belghazi and Lopez-Paz 2021, whose native measure of MC-Dropout and of
    ensembles is the score ``jsd``.
    """

    def _scores(self, part):
        if part.native is None:
            raise ValueError(
                "outputs: native scores expected, got none; the algorithm that trained the network "
                "has no measure of its own"
            )
        return part.native
