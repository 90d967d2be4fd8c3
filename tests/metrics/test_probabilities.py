"""Numbers of probabilities: closed and open set, calibration, its floor, and resampling."""

import numpy as np
import pytest
from sklearn.metrics import log_loss, top_k_accuracy_score

from helpers import metrics
from helpers.metrics.calibration import bin_of
from helpers.scores.calibration import softmax
from helpers.scores.openset import open_set_answer, unknown_probability


def example(n=300, classes=5, unknown=0):
    generator = np.random.default_rng(7)
    probabilities = softmax(2 * generator.normal(size=(n, classes)))
    return probabilities, generator.integers(-unknown, classes, n)


def test_accuracy_nll_and_brier_by_their_definitions():
    probabilities, labels = example()
    value = metrics.nll(probabilities, labels)
    assert value == pytest.approx(log_loss(labels, probabilities), rel=1e-12)
    for top in (1, 2, 4):
        expected = top_k_accuracy_score(labels, probabilities, k=top, labels=range(5))
        assert metrics.accuracy(probabilities, labels, top=top) == expected
        even = metrics.accuracy(np.full_like(probabilities, 0.2), labels, top=top)
        assert even == (labels < top).mean()  # ties as argmax breaks them
    expected = ((probabilities - np.eye(5)[labels]) ** 2).sum(axis=1).mean()
    assert metrics.brier(probabilities, labels) == pytest.approx(expected, rel=1e-12)


CERTAIN = {"accuracy": (1, 0), "nll": (0, np.inf), "brier": (0, 2), "ece": (0, 1)}  # right, wrong


@pytest.mark.parametrize("name", CERTAIN)
def test_certain_predictions_have_the_extreme_values(name):
    """An unknown image is never correct; NLL and Brier score refuse it."""
    function = getattr(metrics, name)
    answers = np.eye(4)
    labels = np.arange(4)
    assert (function(answers, labels), function(answers, (labels + 1) % 4)) == CERTAIN[name]
    labels[-1] = -1  # the last class: an index of the same value
    if name in ("nll", "brier"):
        with pytest.raises(ValueError, match=r"^labels: "):
            function(answers, labels)
    else:
        assert function(answers, labels) == (0.75 if name == "accuracy" else 0.25)


def test_reliability_curve_sums_to_the_ece():
    probabilities, labels = example()
    confidence = probabilities.max(1)
    correct = probabilities.argmax(1) == labels
    curve = metrics.reliability_curve(confidence, correct)
    assert curve.count.sum() == 300
    assert (curve.count > 0).all()
    assert len(curve.count) < 15  # nothing below 1/5, and those bins are left out
    weighted = curve.count @ np.abs(curve.accuracy - curve.confidence) / 300
    assert weighted == pytest.approx(metrics.ece(probabilities, labels))
    assert (curve.edges[:, 0] < curve.confidence).all()
    assert (curve.confidence <= curve.edges[:, 1]).all()
    assert curve.edges[:, 1] - curve.edges[:, 0] == pytest.approx(1 / 15)


def test_the_floor_is_the_error_of_a_calibrated_model():
    """On a test set and on its resamples, which add the scatter once more; by the seed alone."""
    generator = np.random.default_rng(8)
    confidence = generator.uniform(0.3, 1, 120).round(2)
    weights = metrics.resample_weights(120, replicates=200, seed=5)
    shown = []
    for _ in range(200):
        correct = generator.random(120) < confidence
        error = metrics.weighted_calibration_error(confidence, correct, weights[:60])
        shown.append((metrics.calibration_error(confidence, correct), error.mean()))
    plain = metrics.calibration_error_floor(confidence)
    resampled = metrics.weighted_calibration_error_floor(confidence, weights).mean()
    assert (plain, resampled) == pytest.approx(tuple(np.mean(shown, axis=0)), rel=0.08)
    assert resampled > 1.2 * plain
    seeds = [metrics.calibration_error_floor(confidence, seed=seed) for seed in (1, 1, 2)]
    assert seeds[0] == seeds[1] != seeds[2]


def test_resamples_are_multinomial_counts_by_the_seed_alone():
    weights = metrics.resample_weights(50, replicates=400, seed=0)
    assert weights.shape == (400, 50)
    assert weights.dtype == np.uint16
    assert (weights.sum(axis=1) == 50).all()
    assert weights.mean(axis=0) == pytest.approx(1, abs=0.25)
    assert weights.var() == pytest.approx(1 - 1 / 50, abs=0.05)
    assert (weights[:2] == metrics.resample_weights(50, replicates=2, seed=0)).all()
    assert (weights != metrics.resample_weights(50, replicates=400, seed=1)).any()


@pytest.mark.parametrize("bins", [1, 15])
def test_weights_are_repetitions(bins):
    generator = np.random.default_rng(4)
    confidence = generator.uniform(0.3, 1, 120).round(2)
    correct = generator.random(120) < confidence
    weights = metrics.resample_weights(120, replicates=7, seed=3)
    copies = [np.repeat(np.arange(120), row) for row in weights]
    expected = [metrics.calibration_error(confidence[c], correct[c], bins=bins) for c in copies]
    errors = metrics.weighted_calibration_error(confidence, correct, weights, bins=bins)
    assert errors == pytest.approx(expected)


def test_blocks_do_not_show():
    generator = np.random.default_rng(4)
    values = generator.random(100_000)  # the weights are converted in blocks of 20 rows
    weights = generator.integers(0, 3, size=(45, 100_000)).astype(np.uint16)
    expected = [np.average(values, weights=row) for row in weights]
    assert metrics.weighted_mean(values, weights) == pytest.approx(expected, rel=1e-12)


def test_open_set_brier_is_the_plain_one_over_all_answers():
    """The K + 1 numbers do not sum to 1."""
    probabilities, labels = example(unknown=1)
    vector = np.column_stack([probabilities, unknown_probability(probabilities)])
    expected = ((vector - np.eye(6)[labels]) ** 2).sum(axis=1).mean()  # -1 is the last
    assert metrics.open_set_brier(vector[:, :5], vector[:, 5], labels) == pytest.approx(expected)


@pytest.mark.parametrize("rejected", ["unknown", "known"])
def test_open_set_ece_is_the_calibration_error_of_the_answers(rejected):
    probabilities, labels = example(unknown=1)
    unknown = unknown_probability(probabilities)
    answers = open_set_answer(probabilities, 0.6)
    assert 0 < (answers < 0).sum() < 300
    confidence = metrics.answer_confidence(probabilities, unknown, answers, rejected=rejected)
    largest = probabilities.max(axis=1)
    expected = np.where(answers < 0, unknown, largest) if rejected == "unknown" else largest
    assert (confidence == expected).all()
    error = metrics.open_set_ece(probabilities, unknown, labels, answers, rejected=rejected)
    assert error == metrics.calibration_error(confidence, answers == labels)


@pytest.mark.parametrize("classes", [3, 40])
def test_single_precision_gives_the_numbers_of_double_precision(classes):
    """Bit by bit, with ties of the largest probability, and with a row that needs a correction."""
    generator = np.random.default_rng(0)
    single = generator.integers(1, 4, size=(2000, classes)).astype(np.float32)
    single /= single.sum(axis=1, keepdims=True)
    labels = generator.integers(classes, size=2000)
    for corrected in (False, True):
        if corrected:
            single[7] = -1e-7
            single[7, 1] = 1 + 1e-7
        double = single.astype(np.float64)
        clipped = np.clip(double, 0, 1)
        answers = clipped.argmax(axis=1)
        confidence = clipped[np.arange(2000), answers]
        error = metrics.calibration_error(confidence, answers == labels)
        squares = np.square(clipped - np.eye(classes)[labels]).sum(axis=1)
        for given in (single, double):
            assert metrics.ece(given, labels) == error
            assert metrics.accuracy(given, labels) == (answers == labels).mean()
            assert np.array_equal(metrics.squared_errors(given, labels), squares)
        assert metrics.nll(single, labels) == metrics.nll(double, labels)


def test_few_and_many_bins_hold_the_same_images():
    """Edges belong to the lower bin, however the bins are found."""
    confidence = np.concatenate([np.arange(65) / 64, np.random.default_rng(0).random(1000)])
    for bins in (15, 32, 33, 64):
        edges = np.arange(1, bins) / bins
        assert np.array_equal(bin_of(confidence, bins), np.searchsorted(edges, confidence))
