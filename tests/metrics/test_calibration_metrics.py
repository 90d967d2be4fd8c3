import numpy as np
import pytest
import torch
from sklearn.metrics import log_loss, top_k_accuracy_score
from torchmetrics.functional.classification import multiclass_calibration_error

from helpers import metrics
from helpers.scores.calibration import softmax


def example(n=300, classes=5, decimals=15):
    generator = np.random.default_rng(7)
    logits = (2 * generator.normal(size=(n, classes))).round(decimals)
    return softmax(logits), generator.integers(0, classes, n)


def naive_ece(confidence, correct, bins=15):
    total = 0.0
    for b in range(bins):
        inside = (confidence > b / bins) & (confidence <= (b + 1) / bins)
        if b == 0:
            inside |= confidence == 0
        if inside.any():
            total += inside.mean() * abs(correct[inside].mean() - confidence[inside].mean())
    return total


def test_nll_is_scikit_learns_log_loss():
    probabilities, labels = example()
    assert metrics.nll(probabilities, labels) == pytest.approx(
        log_loss(labels, probabilities), rel=1e-12
    )


@pytest.mark.parametrize("top", [1, 2, 4])
def test_accuracy_is_scikit_learns(top):
    probabilities, labels = example()
    expected = top_k_accuracy_score(labels, probabilities, k=top, labels=range(5))
    assert metrics.accuracy(probabilities, labels, top=top) == expected


def test_accuracy_breaks_ties_as_argmax_does():
    probabilities, labels = example(decimals=0)
    probabilities = np.full_like(probabilities, 0.2)
    assert metrics.accuracy(probabilities, labels) == (labels == 0).mean()
    assert metrics.accuracy(probabilities, labels, top=2) == (labels < 2).mean()


def test_brier_by_hand():
    probabilities, labels = example()
    expected = np.mean([np.sum((p - np.eye(5)[y]) ** 2) for p, y in zip(*example(), strict=True)])
    assert metrics.brier(probabilities, labels) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("bins", [1, 10, 15])
def test_ece_is_torchmetrics_away_from_one(bins):
    probabilities, labels = example()
    expected = multiclass_calibration_error(
        torch.from_numpy(probabilities), torch.from_numpy(labels), num_classes=5, n_bins=bins
    )
    assert metrics.ece(probabilities, labels, bins=bins) == pytest.approx(float(expected), abs=1e-6)


@pytest.mark.parametrize("bins", [1, 2, 15])
def test_ece_at_the_edges_of_bins(bins):
    # Every confidence lies on an edge, which belongs to the bin below it.
    confidence = np.repeat(np.arange(bins + 1) / bins, 3)
    correct = np.arange(len(confidence)) % 2 == 0
    expected = naive_ece(confidence, correct, bins)
    assert metrics.calibration_error(confidence, correct, bins=bins) == pytest.approx(expected)


def test_confidence_one_belongs_to_the_last_bin():
    # With a bin of its own for 1.0 it would be (0.95 + 0) / 2.
    assert metrics.ece([[0.95, 0.05], [1.0, 0.0]], [1, 0]) == pytest.approx(0.475)


def test_ece_by_hand_on_tied_data():
    probabilities, labels = example(decimals=0)
    confidence, correct = probabilities.max(1), probabilities.argmax(1) == labels
    assert metrics.ece(probabilities, labels) == pytest.approx(naive_ece(confidence, correct))


def test_reliability_curve_sums_to_the_ece():
    probabilities, labels = example()
    confidence, correct = probabilities.max(1), probabilities.argmax(1) == labels
    curve = metrics.reliability_curve(confidence, correct)
    assert curve.count.sum() == 300 and (curve.count > 0).all()
    assert len(curve.count) < 15  # nothing below 1/5, and those bins are left out
    weighted = curve.count @ np.abs(curve.accuracy - curve.confidence) / 300
    assert weighted == pytest.approx(metrics.ece(probabilities, labels))
    assert (curve.edges[:, 0] < curve.confidence).all()
    assert (curve.confidence <= curve.edges[:, 1]).all()
    assert curve.edges[:, 1] - curve.edges[:, 0] == pytest.approx(1 / 15)


def test_floor_is_the_mean_ece_of_calibrated_outcomes():
    confidence = np.random.default_rng(0).uniform(0.2, 1, 250)
    generator = np.random.default_rng(11)
    simulated = [
        metrics.calibration_error(confidence, generator.random(250) < confidence)
        for _ in range(400)
    ]
    floor = metrics.calibration_error_floor(confidence, replicates=400)
    assert floor == pytest.approx(np.mean(simulated), rel=0.05)
    assert 0.01 < floor < 0.1


def test_floor_depends_on_the_seed_alone():
    confidence = np.random.default_rng(0).uniform(0.2, 1, 100)
    floor = metrics.calibration_error_floor(confidence, seed=1)
    assert floor == metrics.calibration_error_floor(confidence, seed=1)
    assert floor != metrics.calibration_error_floor(confidence, seed=2)


def test_floor_falls_with_the_root_of_the_images():
    few, many = (metrics.calibration_error_floor(np.full(n, 0.7)) for n in (100, 10_000))
    assert few / many == pytest.approx(10, rel=0.2)


CERTAIN = {"accuracy": (1, 0), "nll": (0, np.inf), "brier": (0, 2), "ece": (0, 1)}  # right, wrong


@pytest.mark.parametrize("name", CERTAIN)
@pytest.mark.parametrize("count", [1, 4])
def test_certain_answers(name, count):
    answers, labels = np.eye(4)[:count], np.arange(count)
    found = [getattr(metrics, name)(answers, truth) for truth in (labels, (labels + 1) % 4)]
    assert tuple(found) == CERTAIN[name]


@pytest.mark.parametrize("function", [metrics.accuracy, metrics.ece])
def test_an_unknown_image_is_never_right(function):
    probabilities = [[1.0, 0.0], [0.0, 1.0]]
    assert function(probabilities, [0, -1]) == 0.5
    assert metrics.accuracy(probabilities, [0, -1], top=2) == 0.5


@pytest.mark.parametrize("function", [metrics.nll, metrics.brier])
def test_an_unknown_image_is_refused_where_it_has_no_term(function):
    with pytest.raises(ValueError, match=r"^labels: "):
        function([[1.0, 0.0]], [-1])


def test_more_answers_than_classes_are_refused():
    with pytest.raises(ValueError, match="top: "):
        metrics.accuracy([[0.6, 0.4]], [0], top=3)
