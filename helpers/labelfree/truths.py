"""The metrics of a detector that are predicted, computed from labels."""

from __future__ import annotations

from collections.abc import Callable

from helpers.metrics import RankedGroups

METRICS: dict[str, Callable[[RankedGroups], float]] = {
    "auroc": lambda groups: groups.area,
    "aupr": lambda groups: groups.average_precision,
    "detection_error": lambda groups: groups.least_error,
    "fpr95": lambda groups: groups.false_positive_rate(0.95),
    "fpr80": lambda groups: groups.false_positive_rate(0.8),
    "fpr60": lambda groups: groups.false_positive_rate(0.6),
}
"""The six metrics by name, of groups that are sorted once; ID images are the positive ones."""
PREDICTED = ("auroc", "fpr95")
"""The metrics whose predictions have a skill."""


def true_metrics(known, unknown) -> dict[str, float]:
    """Return the six metrics of a detector on a mixture whose labels are known.

    Examples
    --------
    >>> found = true_metrics([4, 3, 2, 1], [2.5, 0])
    >>> found["auroc"], found["fpr95"], found["fpr60"]
    (0.75, 0.5, 0.5)
    """
    groups = RankedGroups.of(known, unknown)
    return {name: metric(groups) for name, metric in METRICS.items()}
