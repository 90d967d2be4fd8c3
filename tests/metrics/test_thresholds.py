import numpy as np
import pytest

from helpers import metrics


@pytest.mark.parametrize("decimals", [15, 1])
@pytest.mark.parametrize("keep", [0.01, 0.07, 0.5, 0.95, 0.99, 1.0])
@pytest.mark.parametrize("count", [1, 2, 20, 100, 137])
def test_threshold_is_the_largest_that_keeps_at_least_the_share(count, keep, decimals):
    scores = np.random.default_rng(count).normal(size=count).round(decimals)
    threshold = metrics.rejection_threshold(scores, keep=keep)
    required = int(np.ceil(round(keep * count, 9)))
    assert (scores >= threshold).sum() >= required
    assert (scores > threshold).sum() < required
    assert threshold in scores


def test_detection_error_rate_by_hand():
    scores, correct = [5, 4, 3, 2, 1], [1, 0, 1, 1, 0]
    assert metrics.detection_error_rate(scores, correct, 3) == 2 / 5  # equal is accepted


def test_detection_error_rate_at_the_ends():
    scores, correct = [5, 4, 3, 2], [1, 0, 1, 1]
    assert metrics.detection_error_rate(scores, correct, -np.inf) == 1 / 4  # the error rate
    assert metrics.detection_error_rate(scores, correct, np.inf) == 3 / 4  # the accuracy
    assert metrics.detection_error_rate([1], [True], 1) == 0
    assert metrics.detection_error_rate([1, 1], [True, True], 0) == 0
    assert metrics.detection_error_rate([1, 1], [False, False], 0) == 1


def test_domain_confusion_by_hand():
    confusion = metrics.domain_confusion([3, 2, 1], [2, 0, 0, 0], 2)
    assert confusion == pytest.approx((2 / 3, 1 / 3, 1 / 4, 3 / 4))
    assert confusion.InAsOut == pytest.approx(1 / 3) and confusion.OutAsOut == 3 / 4


def test_what_is_kept_unless_said_otherwise():
    scores = np.arange(100.0)
    assert (
        metrics.rejection_threshold(scores) == metrics.rejection_threshold(scores, keep=0.95) == 5
    )
    assert metrics.thresholds.DETECTION_ERROR_RATES == {"der95": 0.95, "der99": 0.99}


def test_scores_may_be_infinite():
    ends = [np.inf, 1.0, -np.inf]
    assert metrics.rejection_threshold(ends, keep=1.0) == -np.inf
    assert metrics.detection_error_rate(ends, [True, True, False], 1.0) == 0


def test_scores_of_both_kinds_may_be_infinite():
    found = metrics.domain_confusion([np.inf, 0.0], [-np.inf, 2.0], 1.0)
    assert found == (0.5, 0.5, 0.5, 0.5)
