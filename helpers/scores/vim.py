"""Virtual-logit matching, ViM."""

from __future__ import annotations

import numpy as np

from helpers.checks import whole_number
from helpers.scores.base import BlockwiseScore, blocks, check_level, recorded, rowwise_product
from helpers.scores.energy import log_sum_exp
from helpers.scores.moments import moments


def principal_dimensions(width: int) -> int:
    """Return the default dimension of the principal subspace of `width` features."""
    if width >= 2048:
        return 1000
    if width >= 768:
        return 512
    return width // 2


@recorded("vim")
class VirtualLogitMatching(BlockwiseScore):
    r"""Energy minus a virtual logit, the residual outside the features' principal subspace.

    The origin o is the point that the head maps to logits of 0, or nearest to 0.  The residual is
    the part of :math:`h - o` orthogonal to the first principal directions of the training features
    about o.  The virtual logit is :math:`\alpha` times its norm, as large as the largest logit on
    average. Source: Wang et al. 2022.  The default is the rule of their code.  Their text has
    1,000 for more than 1,500 features.  Their eigenvectors are computed by a routine for
    asymmetric matrices.  OpenOOD tries 256 and 1,000 on validation images.

    A constant that is added to all logits changes :math:`\alpha`.  With 8 more or less, the AUROC
    of far images changes by up to 0.034 on four published networks, whose mean largest logit is 18
    to 23.  Their code (benchmark.py) accepts a negative :math:`\alpha`.  Here a mean largest logit
    of at most 0 is refused, and so are logarithms of probabilities, which have lost their level.

    Parameters
    ----------
    dim : int, optional
        Dimension of the principal subspace, below D.  Default: 1,000 for D of at least 2,048, 512
        for D of at least 768, else D / 2.
    """

    def __init__(self, dim: int | None = None):
        self.dim = None if dim is None else whole_number("dim", dim)

    def _learn(self, train_outputs, head):
        width = head.weight.shape[1]
        dim = self.dim or principal_dimensions(width)
        if dim >= width:
            raise ValueError(f"dim: below {width} (the features) expected, got {dim}")
        weight = head.weight.astype(np.float64)
        bias = head.bias.astype(np.float64)
        # equals the pseudo-inverse of the weight, but takes a fraction of its time
        self.origin = np.linalg.lstsq(weight, -bias, rcond=1e-15)[0]
        scatter = moments(train_outputs).about(self.origin)
        # in order of rising eigenvalues
        self.residual = np.linalg.eigh(scatter).eigenvectors[:, : width - dim].copy()
        largest = norms = 0.0
        for block in blocks(train_outputs):
            largest += block.logits.max(axis=1).sum(dtype=np.float64)
            norms += np.linalg.norm((block.features - self.origin) @ self.residual, axis=1).sum()
        spread = np.sqrt(np.trace(scatter) * len(train_outputs))
        if norms <= spread * np.finfo(np.float32).eps:
            raise ValueError(
                f"dim: the training features do not leave a subspace of {dim} dimensions; "
                "choose a smaller one"
            )
        check_level("vim", largest / len(train_outputs))
        self.alpha = largest / norms

    def _scores(self, block):
        return log_sum_exp(block.logits) - self.alpha * self._residual_norms(block)

    def _residual_norms(self, block) -> np.ndarray:
        return np.linalg.norm(rowwise_product(block.features - self.origin, self.residual), axis=1)
