"""Nearest-neighbour guidance (NNGuide)."""

from __future__ import annotations

import numpy as np

from helpers.checks import whole_number
from helpers.scores.bank import Bank, draw
from helpers.scores.base import (
    BlockwiseScore,
    norms_of,
    parts,
    register,
    unit_rows,
)
from helpers.scores.energy import log_sum_exp
from helpers.scores.info import Info


@register
class NearestNeighbourGuidance(BlockwiseScore):
    """The energy, times how similar the image is to confident training images.

    The bank holds the normalised features of training images, each times the energy of its
    image.  The guidance is the mean of the k largest inner products of the normalised features
    with the bank; an image without features other than 0 has none.

    Parameters
    ----------
    k : int
        At most the images in the bank.
    bank : int
        How many training images the bank holds, drawn with a fixed seed; all of them, where
        there are fewer.

    Notes
    -----
    Park et al. 2023, with the energy as the score that is guided; a bank of 1 % of ImageNet.
    Their code normalises the features when it extracts them.  OpenOOD takes 100 neighbours in a
    bank of that size.
    """

    info = Info(
        name="nnguide",
        title="Nearest-neighbour guidance (NNGuide)",
        paper="Nearest Neighbor Guidance for Out-of-Distribution Detection",
        authors="Jaewoo Park, Yoon Gyo Jung, Andrew Beng Jin Teoh",
        year=2023,
        key="park2023",
        equation=r"s = E(x) \cdot \frac1k \sum_{i \in N_k(x)} E(x_i)\, \hat h^\top \hat h_i, \quad"
        r" E(x) = \log \sum_k e^{z_k}, \quad \hat h = h / \lVert h \rVert_2",
        needs=("logits", "level of the logits", "features", "training outputs"),
        summary="The energy, scaled by the cosine similarity to the nearest training images, "
        "which count the more the larger their own energy is.",
        hyper_parameters={
            "k": "number of training images that the guidance is the mean over",
            "bank": "number of training images that are compared with, at most",
        },
        published={"ImageNet": {"k": 10, "bank": 12_800}},
    )

    # a bank is exact whatever is looked for at once, and read once for each block
    block, filled = 1024, False

    def __init__(self, k: int = 10, bank: int = 12_800):
        self.k, self.bank = whole_number("k", k), whole_number("bank", bank)

    def _learn(self, train_outputs, head):
        chosen = draw(train_outputs, self.bank, k=self.k)
        energies = np.concatenate([log_sum_exp(part.logits) for part in parts(chosen)])
        norms = np.concatenate([norms_of(part.features) for part in parts(chosen)])
        longest = np.abs(energies).max()
        self.guides = Bank(chosen.features, energies / norms, np.zeros(len(norms)), longest)

    def _scores(self, part):
        guidance = self.guides.largest(unit_rows(part.features), self.k).mean(axis=1)
        return guidance * log_sum_exp(part.logits)
