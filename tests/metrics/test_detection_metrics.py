"""Four numbers from one sort are those of the four functions."""

import numpy as np
import pytest

from helpers import metrics
from helpers.labelfree import METRICS, true_metrics
from helpers.metrics import selective


@pytest.fixture(params=[0, 1, 2])
def images(request):
    """Scores, correct, known: plain, with ties, and with one image of each kind."""
    generator = np.random.default_rng(request.param)
    known = generator.random(200) < 0.6
    scores = generator.normal(size=200) + known
    if request.param == 1:
        scores = scores.round()
    if request.param == 2:
        scores, known = scores[:2], np.array([True, False])
    return scores, known & (generator.random(len(known)) < 0.7), known


def test_the_numbers_are_those_of_the_functions(images):
    scores, correct, known = images
    groups = scores[known], scores[~known]
    found = metrics.detection_metrics(scores, correct, known, tpr=0.8)
    expected = (
        metrics.aurc(scores, correct),
        metrics.auroc(*groups),
        metrics.aupr(*groups, positive="known"),
        metrics.fpr_at_tpr(*groups, tpr=0.8),
    )
    assert found == pytest.approx(expected, abs=1e-13)
    assert true_metrics(*groups) == pytest.approx(
        {
            "auroc": metrics.auroc(*groups),
            "aupr": metrics.aupr(*groups, positive="known"),
            "detection_error": metrics.detection_error(*groups),
            "fpr95": metrics.fpr_at_tpr(*groups),
            "fpr80": metrics.fpr_at_tpr(*groups, tpr=0.8),
            "fpr60": metrics.fpr_at_tpr(*groups, tpr=0.6),
        }
    )
    assert set(true_metrics(*groups)) == set(METRICS)


def test_the_area_is_the_mean_of_the_curve(images):
    """The sum over errors and that over coverages are the same number."""
    scores, correct, _ = images
    curve = selective.risk_coverage_curve(scores, correct)[1]
    assert metrics.aurc(scores, correct) == pytest.approx(curve.mean(), abs=1e-13)


def test_the_scores_are_sorted_once(images, monkeypatch):
    """However many numbers are asked for."""
    sorts, argsort = [], np.argsort
    monkeypatch.setattr(np, "argsort", lambda *a, **k: sorts.append(1) or argsort(*a, **k))
    scores, correct, known = images
    metrics.detection_metrics(scores, correct, known)
    assert len(sorts) == 1
    true_metrics(scores[known], scores[~known])
    assert len(sorts) == 2


@pytest.mark.parametrize(
    ("correct", "known", "message"),
    [
        ([True, False], [False, True], "correct: an image of an unknown class"),
        ([True, False], [True, True], "known: at least one unknown image"),
        ([False, False], [False, False], "known: at least one known image"),
        ([True], [True, False], "correct"),
    ],
)
def test_bad_input_is_named(correct, known, message):
    with pytest.raises(ValueError, match=message):
        metrics.detection_metrics([0.1, 0.2], correct, known)


def test_scores_may_be_infinite_and_the_last_image_known():
    scores, known = [np.inf, 2.0, 1.0, -np.inf], [True, False, False, True]
    found = metrics.detection_metrics(scores, [True, False, False, True], known)
    assert found.auroc == metrics.auroc([np.inf, -np.inf], [2.0, 1.0]) == 0.5
    assert found.fpr_at_tpr == metrics.fpr_at_tpr([np.inf, -np.inf], [2.0, 1.0]) == 1
