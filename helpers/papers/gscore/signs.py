"""Why the line of a weak network may have the other sign: an experiment on stored scores.

A part of the known images is made unsure, and nothing else is changed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from helpers.labelfree import TAUS
from helpers.metrics.correlation import pearson
from helpers.papers.gscore.mixtures import DetectorScores, choose_images, evaluate_mixtures
from helpers.papers.gscore.parameters import Parameters

_EVALUATOR = "ude_wasserstein"


def make_unsure(detector: DetectorScores, share: float, seed: int = 0) -> DetectorScores:
    """Return scores in which a share of the known images score anywhere in the range of all.

    Those are drawn at random, and their scores uniformly between the lowest and the highest score
    of any set and of the known images; validation images are treated alike, sets are left alone.

    Parameters
    ----------
    detector : DetectorScores
    share : float
        In [0, 1].
    seed : int
    """
    every = np.concatenate([*detector.known.values(), *detector.sets.values()])
    generator = np.random.default_rng(seed)

    def change(scores):
        drawn = generator.uniform(every.min(), every.max(), len(scores))
        return np.where(generator.random(len(scores)) < share, drawn, scores)

    known = {part: change(scores) for part, scores in detector.known.items()}
    return DetectorScores(known, change(detector.validation), detector.sets)


def correlations_by_tau(
    detector: DetectorScores, parameters: Parameters, shares: Sequence[float] = (0.0, 0.3, 0.6)
) -> pd.DataFrame:
    """Return how the Gscore by UDE + Wasserstein correlates with the FPR95, threshold by threshold.

    Parameters
    ----------
    detector : DetectorScores
        Of confidences.
    parameters : Parameters
    shares : sequence of float
        Of known images that are made unsure, see `make_unsure`.

    Returns
    -------
    DataFrame
        Pearson's correlation over all sets, mixed with the ID images ``meta``: a row for each τ, a
        column for each share; NaN where all sets have one Gscore.
    """
    found = {}
    for share in shares:
        own = make_unsure(detector, share, parameters.seed)
        places = choose_images(own, parameters)["meta"]
        made = evaluate_mixtures(own, "meta", places, [_EVALUATOR])
        truths = made.truths["fpr95"]
        found[share] = [
            float(pearson(one, truths)) if np.ptp(one) > 1e-12 and np.ptp(truths) else np.nan
            for one in made.gscores[_EVALUATOR].T
        ]
    return pd.DataFrame(found, index=pd.Index(TAUS, name="τ"))
