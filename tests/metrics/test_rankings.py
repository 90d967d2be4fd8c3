"""Numbers of a ranking: known against unknown, correct against incorrect, thresholds, resamples."""

import tracemalloc

import numpy as np
import pytest

from helpers import metrics
from helpers.labelfree import METRICS, true_metrics
from helpers.metrics import ranking, weighted_ranking
from helpers.metrics.detection_error_rate import DETECTION_ERROR_RATES

GENERATOR = np.random.default_rng(6)
DECIMALS = {"untied": 12, "tied": 1, "constant": -1}  # decimals that the scores keep


@pytest.mark.parametrize("digits", [0, 8])
def test_all_numbers_of_label_free_estimation_equal_their_definitions(digits):
    known, unknown = np.round(GENERATOR.normal(size=(2, 150)), digits)
    thresholds = -np.unique(-np.concatenate([known, unknown]))
    tpr = (known[:, None] >= thresholds).mean(axis=0)
    fpr = (unknown[:, None] >= thresholds).mean(axis=0)
    ahead = np.sign(known[:, None] - unknown)
    expected = {
        "auroc": (1 + ahead.mean()) / 2,
        "aupr": np.diff(tpr, prepend=0) @ (tpr / (tpr + fpr)),
        "detection_error": (1 - tpr + fpr).min() / 2,
    }
    for share in (95, 80, 60):
        expected[f"fpr{share}"] = fpr[tpr > share / 100 - 1e-9].min()
    assert true_metrics(known, unknown) == pytest.approx(expected)
    assert expected.keys() == set(METRICS)


def test_thresholds_by_hand():
    """An equal score is accepted; −∞ gives the error rate and ∞ the accuracy."""
    scores = [np.inf, 4, 3, 2, -np.inf]
    correct = [1, 0, 1, 1, 1]
    for threshold, wrong in zip([3, -np.inf, np.inf, 4, 2.5, 2], [3, 1, 3, 4, 3, 2], strict=True):
        assert metrics.detection_error_rate(scores, correct, threshold) == wrong / 5
    confusion = metrics.domain_confusion([np.inf, 2, 1], [2, 0, 0, -np.inf], 2)
    assert confusion == pytest.approx((2 / 3, 1 / 3, 1 / 4, 3 / 4))
    assert metrics.rejection_threshold(np.arange(100.0)) == 5
    assert metrics.rejection_threshold(np.arange(100.0), keep=0.07) == 93  # 0.07 * 100 exceeds 7
    assert DETECTION_ERROR_RATES == {"der95": 0.95, "der99": 0.99}


def draws(name, size):
    return GENERATOR.random(size).round(DECIMALS[name])


@pytest.mark.parametrize("name", DECIMALS)
def test_weighted_metrics_equal_the_metrics_of_repeated_images(name, monkeypatch):
    """Blocks and order do not matter, also if a block has fewer rows than images."""
    known = draws(name, 400) + 0.1
    unknown = draws(name, 290)
    correct = GENERATOR.random(400) < 0.7
    order = GENERATOR.permutation(400)
    weights = [metrics.resample_weights(size, replicates=6, seed=size) for size in (400, 290)]
    expected = []
    for first, second in zip(*weights, strict=True):
        pair = known.repeat(first), unknown.repeat(second)
        risk = metrics.aurc(pair[0], correct.repeat(first))
        expected.append([risk, metrics.auroc(*pair), metrics.fpr_at_tpr(*pair, tpr=0.9)])
    for cells in (weighted_ranking._CELLS, 2000):
        monkeypatch.setattr(weighted_ranking, "_CELLS", cells)
        risks = metrics.weighted_aurc(known[order], correct[order], weights[0][:, order])
        both = metrics.weighted_detection(known, unknown, *weights, tpr=0.9)
        np.testing.assert_allclose(np.transpose([risks, *both]), expected, atol=1e-12)


def peak(function, *given, **options):
    """Return the bytes that a second call needs."""
    function(*given, **options)
    tracemalloc.start()
    function(*given, **options)
    used = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return used


@pytest.mark.parametrize("name", ["untied", "constant"])
def test_memory_of_replicates(name):
    """Few of the counts are held at a time."""
    size = 20_000
    replicates = 400
    confidence = draws(name, size)
    correct = GENERATOR.random(size) < 0.7
    weights = metrics.resample_weights(size, replicates=replicates, seed=0)
    used = peak(metrics.weighted_aurc, confidence, correct, weights)
    assert used < size * replicates  # bytes: a single copy of the weights has 2 a count


@pytest.mark.parametrize("digits", [1, 3, 16])
def test_areas_by_places_equal_their_definitions(digits):
    """The places of one group among all scores give the areas of the curves, block by block."""
    size = 3 * ranking._BLOCK + 7
    correct = GENERATOR.random(size) < 0.7
    scores = np.round(GENERATOR.normal(size=size) + correct, digits)
    scores[:2] = np.inf, -np.inf
    _, risk = metrics.risk_coverage_curve(scores, correct)
    assert metrics.aurc(scores, correct) == pytest.approx(risk.mean(), rel=1e-11)
    generalised = (risk * np.arange(1, size + 1)).mean() / size
    assert metrics.augrc(scores, correct) == pytest.approx(generalised, rel=1e-12)
    pair = scores[correct], scores[~correct]
    for positive, sign in (("known", 1), ("unknown", -1)):
        _, accepted, true = ranking.cumulative_counts(sign * scores, correct == (sign > 0))
        steps = np.diff(true, prepend=0) / true[-1]
        area = metrics.aupr(*pair, positive=positive)
        assert area == pytest.approx(steps @ (true / accepted), rel=1e-12)
        false = (accepted - true) / (size - true[-1])
        below = 1 - false + np.diff(false, prepend=0) / 2
        assert metrics.auroc(*pair) == pytest.approx(steps @ below, rel=1e-12)
        kept = np.argmax(true >= 0.95 * true[-1])
        assert metrics.fpr_at_tpr(*pair, positive=positive) == false[kept]


@pytest.mark.parametrize("name", ["aurc", "augrc", "auroc", "aupr", "fpr_at_tpr"])
def test_memory_of_rankings(name):
    """At most 1.2 times the input: a sorted copy, and the counts of a block."""
    scores = GENERATOR.random(10**6)
    chosen = GENERATOR.random(len(scores)) < 0.4
    given = (scores, chosen) if name in ("aurc", "augrc") else (scores[chosen], scores[~chosen])
    options = {"positive": "known"} if name == "aupr" else {}
    used = peak(getattr(metrics, name), *given, **options)
    assert used <= 1.2 * sum(array.nbytes for array in given)


def test_large_weights_do_not_overflow():
    """Their sum needs 64 bits."""
    assert metrics.weighted_detection([1.0], [0.0], [[1_200_000_000]], [[1]])[0] == 1
