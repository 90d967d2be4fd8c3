"""Virtual-logit matching (ViM)."""

from __future__ import annotations

import numpy as np

from helpers.checks import whole_number
from helpers.scores.base import BlockwiseScore, parts, register, rowwise_product
from helpers.scores.energy import log_sum_exp
from helpers.scores.info import Info
from helpers.scores.moments import moments


def principal_dimensions(width: int) -> int:
    """Return how many dimensions the principal subspace of `width` features has by default.

    Examples
    --------
    >>> [principal_dimensions(width) for width in (2048, 2047, 768, 767)]
    [1000, 512, 512, 383]
    """
    return 1000 if width >= 2048 else 512 if width >= 768 else width // 2


@register
class VirtualLogitMatching(BlockwiseScore):
    r"""The energy, minus a logit for what the features have outside their principal subspace.

    The origin o is the point that the head maps to logits of 0, or as near as can be.  The
    residual of an image is the part of :math:`h - o` that is orthogonal to the first principal
    directions of the training features about o (not about their mean).  Its norm times
    :math:`\alpha` is the virtual logit; :math:`\alpha` makes it as large on the training images,
    on average, as their largest logit.

    Parameters
    ----------
    dim : int, optional
        Dimensions of the principal subspace, below that of the features, D.  By default 1,000
        where D is at least 2,048, 512 where it is at least 768, and else half of D.

    Notes
    -----
    Wang et al. 2022.  The default is the rule of their code, 1,000 from 2,048 on, 512 from 768 on
    and half of D below that.  Their paper's text has 1,000 for more than 1,500 features: between
    1,500 and 2,048 the two differ, and the code's 512 is taken here.  Their code finds the
    eigenvectors by a routine for matrices that need not be symmetric, which may return complex
    ones.  OpenOOD tries 256 and 1,000 on validation images.
    """

    info = Info(
        name="vim",
        title="Virtual-logit matching (ViM)",
        paper="ViM: Out-Of-Distribution with Virtual-logit Matching",
        authors="Haoqi Wang, Zhizhong Li, Litong Feng, Wayne Zhang",
        year=2022,
        key="wang2022",
        equation=r"s = \log \sum_k e^{z_k} - \alpha \lVert R^\top (h - o) \rVert_2, \quad"
        r" o = -W^{+} b, \quad \alpha = \frac{\sum_i \max_k z_{ik}}"
        r"{\sum_i \lVert R^\top (h_i - o) \rVert_2}",
        needs=("logits", "level of the logits", "features", "head", "training outputs"),
        summary="The energy, less the more the features lie outside the subspace in which those "
        "of the training images vary most.",
        sign="The logarithm of the odds against the virtual class: high for known images.",
        hyper_parameters={
            "dim": "dimensions of the principal subspace; by default, as in the authors' code, "
            "1,000 from 2,048 features on, 512 from 768 on (between 1,500 and 2,048, too, where "
            "the paper's text has 1,000), and half of them below"
        },
    )

    def __init__(self, dim: int | None = None):
        self.dim = None if dim is None else whole_number("dim", dim)

    def _learn(self, train_outputs, head):
        width = head.weight.shape[1]
        dim = self.dim or principal_dimensions(width)
        if dim >= width:
            raise ValueError(f"dim: below {width} (the features) expected, got {dim}")
        weight, bias = head.weight.astype(np.float64), head.bias.astype(np.float64)
        # what the pseudo-inverse of the weight gives, in a fraction of its time
        self.origin = np.linalg.lstsq(weight, -bias, rcond=1e-15)[0]
        scatter = moments(train_outputs).about(self.origin)
        # in order of rising eigenvalues
        self.residual = np.linalg.eigh(scatter).eigenvectors[:, : width - dim].copy()
        largest = norms = 0.0
        for part in parts(train_outputs):
            largest += part.logits.max(axis=1).sum(dtype=np.float64)
            norms += np.linalg.norm((part.features - self.origin) @ self.residual, axis=1).sum()
        spread = np.sqrt(np.trace(scatter) * len(train_outputs))
        if norms <= spread * np.finfo(np.float32).eps:
            raise ValueError(
                f"dim: the training features do not leave a subspace of {dim} dimensions; "
                "choose a smaller one"
            )
        self.alpha = largest / norms

    def _scores(self, part):
        return log_sum_exp(part.logits) - self.alpha * self._residual_norms(part)

    def _residual_norms(self, part) -> np.ndarray:
        return np.linalg.norm(rowwise_product(part.features - self.origin, self.residual), axis=1)
