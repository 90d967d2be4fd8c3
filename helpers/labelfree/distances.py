"""The distances between the two parts of a mixture: the Gscore."""

from __future__ import annotations

import numpy as np

from helpers.checks import known_name
from helpers.labelfree.splits import Parts

#: The distances between two parts, by name.
DISTANCES = ("l2", "kl", "reversed_kl", "wasserstein")


def distance(parts: Parts, kind: str) -> np.ndarray:
    r"""Return the distance of the two parts, treated as Gaussians: the Gscore.

    Part 1 is ID and part 2 is OOD.  ``l2`` is :math:`|\mu_1 - \mu_2|`;
    ``wasserstein`` is :math:`(\mu_1 - \mu_2)^2 + (\sigma_1 - \sigma_2)^2`, the squared
    2-Wasserstein distance; ``kl`` is the Kullback–Leibler divergence of part 2 from part 1,
    :math:`\log(\sigma_1 / \sigma_2) + (\sigma_2^2 + (\mu_1 - \mu_2)^2) / 2 \sigma_1^2 - 1/2`;
    ``reversed_kl`` is the divergence of part 1 from part 2.
    """
    known_name("distance", kind, DISTANCES)
    if kind == "reversed_kl":
        return distance(parts.swap(), "kl")
    gap = parts.means[..., 0] - parts.means[..., 1]
    inner = parts.deviations[..., 0]
    outer = parts.deviations[..., 1]
    if kind == "l2":
        return np.abs(gap)
    if kind == "wasserstein":
        return gap**2 + (inner - outer) ** 2
    spread = (inner > 0) & (outer > 0)
    inner = np.where(spread, inner, 1.0)
    outer = np.where(spread, outer, 1.0)
    divergence = np.log(inner / outer) + (outer**2 + gap**2) / (2 * inner**2) - 0.5
    return np.where(spread, np.maximum(divergence, 0), 0.0)
