"""The metrics that are predicted, from labels; and labels by confidence, a baseline."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial

import numpy as np

from helpers.checks import float_array
from helpers.metrics import aupr, auroc, detection_error, fpr_at_tpr
from helpers.metrics.inputs import share_array

#: The six metrics by name; ID images are the positive ones.
#:
#: The paper has no formula of the detection error.  Here it is the smallest mean of both error
#: rates.  At a TPR of 95 %, as in ODIN, it is (0.05 + FPR95) / 2 and has the correlation of
#: FPR95.
METRICS: dict[str, Callable[..., float]] = {
    "auroc": auroc,
    "aupr": partial(aupr, positive="known"),
    "detection_error": detection_error,
    "fpr95": partial(fpr_at_tpr, tpr=0.95),
    "fpr80": partial(fpr_at_tpr, tpr=0.8),
    "fpr60": partial(fpr_at_tpr, tpr=0.6),
}
#: The metrics whose predictions have a skill.
PREDICTED = ("auroc", "fpr95")


def true_metrics(known, unknown, names: Iterable[str] = tuple(METRICS)) -> dict[str, float]:
    """Return metrics of a detector on a mixture whose labels are known."""
    return {name: METRICS[name](known, unknown) for name in names}


def stack_metrics(rows: Iterable[Mapping[str, float]], names: Iterable[str]) -> dict:
    """Return the values of each metric of several mixtures, float64 [S] by name."""
    rows = list(rows)
    return {name: np.array([row[name] for row in rows]) for name in names}


def confidence_metrics(confidence, scores) -> dict[str, float]:
    """Return the metrics of a detector with labels by confidence: ID above 0.9."""
    scores = float_array("scores", scores, finite=False)
    inside = share_array("confidence", confidence, length=len(scores)) > 0.9
    if inside.all() or not inside.any():
        return dict.fromkeys(METRICS, 0.0) | {"auroc": 1.0, "aupr": 1.0}
    return true_metrics(scores[inside], scores[~inside])
