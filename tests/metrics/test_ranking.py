import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from helpers import metrics


@pytest.fixture(params=["continuous", "tied", "two values"])
def groups(request):
    generator = np.random.default_rng(5)
    known, unknown = generator.normal(1, 1, 157), generator.normal(0, 1, 83)
    decimals = {"continuous": 15, "tied": 0}.get(request.param)
    if decimals is None:
        return (known > 0.5).astype(float), (unknown > 0.5).astype(float)
    return known.round(decimals), unknown.round(decimals)


def reference(known, unknown):
    return np.r_[np.ones(len(known)), np.zeros(len(unknown))], np.r_[known, unknown]


def brute_force_fpr(known, unknown, tpr):
    thresholds = [t for t in known if (known >= t).mean() >= tpr - 1e-12]
    return (unknown >= max(thresholds)).mean()


def test_auroc_counts_pairs(groups):
    known, unknown = groups
    wins = (known[:, None] > unknown) + 0.5 * (known[:, None] == unknown)
    assert metrics.auroc(known, unknown) == pytest.approx(wins.mean(), abs=1e-12)


@pytest.mark.parametrize("positive", ["known", "unknown"])
def test_aupr_is_scikit_learns_average_precision(groups, positive):
    labels, scores = reference(*groups)
    if positive == "unknown":
        labels, scores = 1 - labels, -scores
    expected = average_precision_score(labels, scores)
    assert metrics.aupr(*groups, positive=positive) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("tpr", [0.05, 0.5, 0.8, 0.95, 1.0])
def test_fpr_keeps_at_least_the_tpr(groups, tpr):
    known, unknown = groups
    assert metrics.fpr_at_tpr(known, unknown, tpr=tpr) == brute_force_fpr(known, unknown, tpr)
    from_other_end = metrics.fpr_at_tpr(known, unknown, tpr=tpr, positive="unknown")
    assert from_other_end == brute_force_fpr(-unknown, -known, tpr)


@pytest.mark.parametrize("count", [100, 20, 3, 1])
def test_a_share_is_counted_without_rounding_errors(count):
    # 0.07 * 100 is 7.000000000000001 in floating point; 7 of 100 are 7 %.
    known = np.arange(count, 0, -1.0)
    kept = -(-7 * count // 100)
    unknown = known - 0.5  # one below each known score
    assert metrics.fpr_at_tpr(known, unknown, tpr=0.07) == (kept - 1) / count


def test_detection_error_is_the_minimum_over_thresholds(groups):
    known, unknown = groups
    errors = [
        0.5 * (known < t).mean() + 0.5 * (unknown >= t).mean()
        for t in [*known, *unknown, np.inf, -np.inf]
    ]
    assert metrics.detection_error(known, unknown) == pytest.approx(min(errors), abs=1e-12)


FUNCTIONS = {
    "auroc": metrics.auroc,
    "aupr known": lambda k, u: metrics.aupr(k, u, positive="known"),
    "aupr unknown": lambda k, u: metrics.aupr(k, u, positive="unknown"),
    "fpr known": metrics.fpr_at_tpr,
    "fpr unknown": lambda k, u: metrics.fpr_at_tpr(k, u, positive="unknown"),
    "detection_error": metrics.detection_error,
}
PERFECT = dict(zip(FUNCTIONS, [1.0, 1.0, 1.0, 0.0, 0.0, 0.0], strict=True))
REVERSED = dict(zip(FUNCTIONS, [0.0, None, None, 1.0, 1.0, 0.5], strict=True))
CONSTANT = dict(zip(FUNCTIONS, [0.5, 0.75, 0.25, 1.0, 1.0, 0.5], strict=True))


@pytest.mark.parametrize("name", FUNCTIONS)
class TestEach:
    def test_only_ranks_matter(self, name, groups):
        known, unknown = groups
        assert FUNCTIONS[name](np.exp(known), np.exp(unknown)) == FUNCTIONS[name](known, unknown)

    def test_groups_apart_and_alike(self, name):
        for known, unknown in (([3, 2, 2], [1]), ([1], [0]), ([np.inf, 1], [-np.inf])):
            assert FUNCTIONS[name](known, unknown) == PERFECT[name]
        assert REVERSED[name] in (FUNCTIONS[name]([1], [3, 2, 2]), None)
        assert FUNCTIONS[name]([7, 7, 7], [7]) == CONSTANT[name]


def test_another_positive_class_is_refused():
    with pytest.raises(ValueError, match="did you mean 'known'"):
        metrics.fpr_at_tpr([1], [0], positive="knwon")
    with pytest.raises(ValueError, match="positive class 'ood'"):
        metrics.aupr([1], [0], positive="ood")


def test_a_share_of_nothing_is_refused():
    with pytest.raises(ValueError, match=r"tpr: a share in \(0, 1\] expected, got 0"):
        metrics.fpr_at_tpr([1.0], [0.0], tpr=0)
