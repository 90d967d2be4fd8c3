"""Numbers of a ranking: known against unknown, correct against incorrect, thresholds, resamples."""

import tracemalloc

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from helpers import metrics
from helpers.labelfree import METRICS, true_metrics
from helpers.metrics import ranking, weighted_ranking
from helpers.metrics.detection_error_rate import DETECTION_ERROR_RATES

GENERATOR = np.random.default_rng(6)
DECIMALS = {"untied": 12, "tied": 1, "constant": -1}  # decimals that the scores keep


@pytest.fixture(params=["continuous", "tied", "two values", "one of each"])
def groups(request):
    generator = np.random.default_rng(5)
    known = generator.normal(1, 1, 157)
    unknown = generator.normal(0, 1, 83)
    return {
        "continuous": (known, unknown),
        "tied": (known.round(), unknown.round()),
        "two values": ((known > 0.5).astype(float), (unknown > 0.5).astype(float)),
        "one of each": (known[:1], unknown[:1]),
    }[request.param]


@pytest.mark.parametrize(("positive", "sign"), [("known", 1), ("unknown", -1)])
def test_aupr_is_scikit_learns_average_precision(groups, positive, sign):
    """AUROC, FPR and the detection error: tests/generated/test_generated_metrics.py."""
    truth = np.repeat([sign, -sign], [len(scores) for scores in groups]) > 0
    expected = average_precision_score(truth, sign * np.concatenate(groups))
    assert metrics.aupr(*groups, positive=positive) == pytest.approx(expected, abs=1e-12)
    turned = metrics.fpr_at_tpr(*(-scores for scores in reversed(groups)), tpr=0.8)
    assert metrics.fpr_at_tpr(*groups, tpr=0.8, positive="unknown") == turned


def test_all_numbers_of_label_free_estimation_need_one_sort(groups, monkeypatch):
    expected = {
        "auroc": metrics.auroc(*groups),
        "aupr": metrics.aupr(*groups, positive="known"),
        "detection_error": metrics.detection_error(*groups),
    } | {f"fpr{share}": metrics.fpr_at_tpr(*groups, tpr=share / 100) for share in (95, 80, 60)}
    sorts = []
    argsort = np.argsort
    monkeypatch.setattr(np, "argsort", lambda *a, **k: sorts.append(1) or argsort(*a, **k))
    assert true_metrics(*groups) == pytest.approx(expected)
    assert len(sorts) == 1
    assert expected.keys() == set(METRICS)


def test_thresholds_by_hand():
    """An equal score is accepted; −∞ gives the error rate and ∞ the accuracy."""
    scores = [np.inf, 4, 3, 2, -np.inf]
    correct = [1, 0, 1, 1, 1]
    for threshold, wrong in ((3, 3), (-np.inf, 1), (np.inf, 3), (4, 4), (2.5, 3), (2, 2)):
        assert metrics.detection_error_rate(scores, correct, threshold) == wrong / 5
    confusion = metrics.domain_confusion([np.inf, 2, 1], [2, 0, 0, -np.inf], 2)
    assert confusion == pytest.approx((2 / 3, 1 / 3, 1 / 4, 3 / 4))
    assert confusion.InAsOut == pytest.approx(1 / 3)
    assert confusion.OutAsOut == 3 / 4
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
        both = weighted_ranking.weighted_detection(known, unknown, *weights, tpr=0.9)
        np.testing.assert_allclose(np.transpose([risks, *both]), expected, atol=1e-12)
    assert np.array_equal(metrics.weighted_auroc(known, unknown, *weights), both[0])


@pytest.mark.parametrize("name", ["untied", "constant"])
def test_one_sort_and_bounded_memory(name, monkeypatch):
    """Images are sorted once for all replicates, and few of the counts are held at a time."""
    size = 20_000
    replicates = 400
    confidence = draws(name, size)
    correct = GENERATOR.random(size) < 0.7
    weights = metrics.resample_weights(size, replicates=replicates, seed=0)
    sorts = []
    argsort = np.argsort
    monkeypatch.setattr(np, "argsort", lambda *a, **k: sorts.append(a) or argsort(*a, **k))
    metrics.weighted_aurc(confidence, correct, weights[:, :])  # what is loaded on first use is
    tracemalloc.start()
    metrics.weighted_aurc(confidence, correct, weights)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(sorts) == 2  # in two calls
    assert peak < size * replicates  # bytes: a single copy of the weights has 2 a count


@pytest.mark.parametrize("digits", [0, 1, 8])
def test_short_ways_to_auroc_and_fpr_equal_the_sorted_pass(digits):
    """With many ties, few ties and infinite scores, to the bit."""
    generator = np.random.default_rng(digits)
    known = np.round(generator.normal(0.5, 1, 1000), digits)
    unknown = np.round(generator.normal(size=300), digits)
    known[0] = np.inf
    unknown[0] = -np.inf
    assert metrics.auroc(known, unknown) == metrics.RankedGroups.of(known, unknown).area
    for positive in ("known", "unknown"):
        groups = metrics.RankedGroups.of(known, unknown, positive)
        for tpr in (0.07, 0.95, 1):
            rate = metrics.fpr_at_tpr(known, unknown, tpr=tpr, positive=positive)
            assert rate == groups.false_positive_rate(tpr)


@pytest.mark.parametrize("digits", [1, 3, 16])
def test_areas_by_counts_equal_their_definitions(digits):
    """The counts of two sorted groups give the areas of the curves, block by block."""
    generator = np.random.default_rng(digits)
    size = 3 * ranking._BLOCK + 7
    correct = generator.random(size) < 0.7
    scores = np.round(generator.normal(size=size) + correct, digits)
    scores[:2] = np.inf, -np.inf
    _, risk = metrics.risk_coverage_curve(scores, correct)
    assert metrics.aurc(scores, correct) == pytest.approx(risk.mean(), rel=1e-11)
    generalised = (risk * np.arange(1, size + 1)).mean() / size
    assert metrics.augrc(scores, correct) == pytest.approx(generalised, rel=1e-12)
    for positive in ("known", "unknown"):
        groups = metrics.RankedGroups.of(scores[correct], scores[~correct], positive)
        area = metrics.aupr(scores[correct], scores[~correct], positive=positive)
        assert area == pytest.approx(groups.average_precision, rel=1e-12)


@pytest.mark.parametrize("name", ["aurc", "augrc", "auroc", "aupr", "fpr_at_tpr"])
def test_memory_of_rankings(name):
    """At most 1.2 times the input: a sorted copy, and the counts of a block."""
    generator = np.random.default_rng(0)
    scores = generator.random(10**6)
    chosen = generator.random(len(scores)) < 0.4
    given = (scores, chosen) if name in ("aurc", "augrc") else (scores[chosen], scores[~chosen])
    options = {"positive": "known"} if name == "aupr" else {}
    tracemalloc.start()
    getattr(metrics, name)(*given, **options)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= 1.2 * sum(array.nbytes for array in given)
