"""All numbers of label-free estimation from one sort are those of the functions."""

import numpy as np
import pytest

from helpers import metrics
from helpers.labelfree import METRICS, true_metrics
from helpers.metrics import selective


@pytest.fixture(params=["plain", "ties", "one of each"])
def groups(request):
    """Scores of known and unknown images, and which of the known ones are correct."""
    generator = np.random.default_rng(0)
    known, unknown = generator.normal(1, size=120), generator.normal(size=80)
    if request.param == "ties":
        known, unknown = known.round(), unknown.round()
    if request.param == "one of each":
        known, unknown = known[:1], unknown[:1]
    return known, unknown


def test_the_numbers_are_those_of_the_functions(groups, monkeypatch):
    """And the scores are sorted once."""
    expected = {
        "auroc": metrics.auroc(*groups),
        "aupr": metrics.aupr(*groups, positive="known"),
        "detection_error": metrics.detection_error(*groups),
        "fpr95": metrics.fpr_at_tpr(*groups),
        "fpr80": metrics.fpr_at_tpr(*groups, tpr=0.8),
        "fpr60": metrics.fpr_at_tpr(*groups, tpr=0.6),
    }
    sorts, argsort = [], np.argsort
    monkeypatch.setattr(np, "argsort", lambda *a, **k: sorts.append(1) or argsort(*a, **k))
    assert true_metrics(*groups) == pytest.approx(expected)
    assert len(sorts) == 1 and expected.keys() == set(METRICS)


def test_the_area_is_the_mean_of_the_curve(groups):
    """The sum over errors and that over coverages are the same number."""
    scores = np.concatenate(groups)
    correct = np.arange(len(scores)) < 0.4 * len(scores)
    curve = selective.risk_coverage_curve(scores, correct)[1]
    assert metrics.aurc(scores, correct) == pytest.approx(curve.mean(), abs=1e-13)
