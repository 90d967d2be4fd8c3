"""RBF: a class's logit is largest where a linear function of the features is zero."""

from __future__ import annotations

from helpers.training.objectives.erm import ERM


class RBF(ERM):
    r"""Cross-entropy of logits :math:`\exp(-a^2)` of the linear functions a of the features.

    The logits are in (0, 1]: far from all classes the softmax is uniform, and no probability
    exceeds :math:`e / (e + K - 1)`.

    Notes
    -----
    Belghazi and Lopez-Paz 2021, as in their code; they could not make it competitive.  The head
    is `helpers.networks.heads.RBFHead`.
    """
