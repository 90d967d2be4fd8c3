"""Predictions from a score: the probability of "unknown", and an AUROC without labels."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_expit

from helpers import metrics
from helpers.labelfree import TAUS, Regression, draw_places, fit_regression, gscores
from known_unknowns.across.model_outputs import ModelOutputs

EVALUATOR = "ude_wasserstein"
"""The Gscore evaluator: the best of the paper."""


def unknown_probability(values, known, unknown) -> np.ndarray:
    r"""Return the probability of "unknown" that a score stands for, by Platt's scaling."""
    known, unknown = (np.asarray(one, dtype=np.float64) for one in (known, unknown))
    both = np.concatenate([known, unknown])
    low, centre, high = np.quantile(both, [0.25, 0.5, 0.75])  # a distance may have far outliers
    scale = high - low or both.std() or 1.0
    standard = (both - centre) / scale
    counts = np.array([len(known), len(unknown)])
    wanted = np.repeat([(counts[0] + 1) / (counts[0] + 2), 1 / (counts[1] + 2)], counts)
    weights = np.repeat(0.5 / counts, counts)

    def loss(line: np.ndarray) -> tuple[float, np.ndarray]:
        exponent = line[0] * standard + line[1]
        value = -(weights * (wanted * log_expit(exponent) + (1 - wanted) * log_expit(-exponent)))
        slope = weights * (expit(exponent) - wanted)
        return value.sum(), np.array([slope @ standard, slope.sum()])

    found = minimize(loss, [1.0, 0.0], jac=True, bounds=[(0, None), (None, None)])
    slope, offset = found.x
    return expit(-(slope * (np.asarray(values, dtype=np.float64) - centre) / scale + offset))


def gscore_line(
    values: Mapping[str, np.ndarray], found: ModelOutputs, seed: int
) -> tuple[Regression, float] | None:
    """Return the line that predicts an AUROC without labels, and the Gscore of the test images."""
    known, unknown = values["validation"], np.concatenate([values[one] for one in found.unknown])
    count = min(len(values["test"]), len(unknown))
    chosen = unknown[draw_places("union", len(unknown), count, seed)]
    mixtures = [
        *(np.concatenate([known, values[name]]) for name in found.families),
        np.concatenate([values["test"], chosen]),
    ]
    if np.ptp(known) == 0 or any(np.ptp(one) == 0 for one in mixtures):
        return None
    *learnt, wanted = (gscores(one, [EVALUATOR], validation=known)[EVALUATOR] for one in mixtures)
    if not np.ptp(learnt, axis=0).any():
        return None
    truths = [metrics.auroc(known, values[name]) for name in found.families]
    line = fit_regression(learnt, truths, TAUS)
    return line, float(wanted[TAUS == line.tau][0])
