import numpy as np
import pytest

from helpers import metrics

GENERATOR = np.random.default_rng(4)
CONFIDENCE = GENERATOR.uniform(0.3, 1, 120).round(2)
CORRECT = GENERATOR.random(120) < CONFIDENCE
ONES = np.ones((2, 120), dtype=np.uint16)


def test_each_row_draws_as_many_images_as_there_are():
    weights = metrics.resample_weights(50, replicates=400, seed=0)
    assert weights.shape == (400, 50) and weights.dtype == np.uint16
    assert (weights.sum(axis=1) == 50).all()
    assert weights.mean(axis=0) == pytest.approx(1, abs=0.25)
    assert weights.var() == pytest.approx(1 - 1 / 50, abs=0.05)  # of a multinomial count


def test_weights_depend_on_the_seed_alone():
    first = metrics.resample_weights(30, replicates=5, seed=1)
    assert (first == metrics.resample_weights(30, replicates=5, seed=1)).all()
    assert (first != metrics.resample_weights(30, replicates=5, seed=2)).any()
    assert (metrics.resample_weights(30, replicates=2, seed=1) == first[:2]).all()


@pytest.mark.parametrize("bins", [1, 15])
def test_weights_are_repetitions(bins):
    weights = np.vstack([ONES[:1], metrics.resample_weights(120, replicates=7, seed=3)])
    means = metrics.weighted_mean(CONFIDENCE, weights)
    errors = metrics.weighted_calibration_error(CONFIDENCE, CORRECT, weights, bins=bins)
    for row, mean, error in zip(weights, means, errors, strict=True):
        drawn = np.repeat(np.arange(120), row)
        plain = metrics.calibration_error(CONFIDENCE[drawn], CORRECT[drawn], bins=bins)
        assert (mean, error) == pytest.approx((CONFIDENCE[drawn].mean(), plain))


def test_spread_of_the_replicates_is_the_standard_error():
    weights = metrics.resample_weights(120, replicates=2000, seed=3)
    spread = metrics.weighted_mean(CORRECT, weights).std()
    assert spread == pytest.approx(CORRECT.std() / np.sqrt(120), rel=0.1)


def test_blocks_do_not_show():
    values = GENERATOR.random(100_000)  # the weights are converted in blocks of 20 rows
    weights = GENERATOR.integers(0, 3, size=(45, 100_000)).astype(np.uint16)
    expected = [np.average(values, weights=row) for row in weights]
    assert metrics.weighted_mean(values, weights) == pytest.approx(expected, rel=1e-12)


def test_floor_of_unit_weights_is_the_simulated_one():
    floor = metrics.weighted_calibration_error_floor(CONFIDENCE, ONES)
    assert floor == pytest.approx(metrics.calibration_error_floor(CONFIDENCE), rel=0.1)


def test_floor_is_what_replicates_of_a_calibrated_model_show():
    generator = np.random.default_rng(8)
    weights = metrics.resample_weights(120, replicates=200, seed=5)
    shown = [
        metrics.weighted_calibration_error(
            CONFIDENCE, generator.random(120) < CONFIDENCE, weights
        ).mean()
        for _ in range(60)
    ]
    floor = metrics.weighted_calibration_error_floor(CONFIDENCE, weights).mean()
    assert floor == pytest.approx(np.mean(shown), rel=0.1)
    # Resampling adds the scatter once more: the plain floor is too low for replicates.
    assert floor > 1.2 * metrics.calibration_error_floor(CONFIDENCE)


def test_without_a_row_of_weights_nothing_is_drawn():
    with pytest.raises(ValueError, match=r"weights: shape \[B, 3\] expected, got \(0, 3\)"):
        metrics.weighted_mean([1.0, 2.0, 3.0], np.empty((0, 3)))


def test_bins_are_fifteen_unless_said_otherwise():
    generator = np.random.default_rng(0)
    confidence, correct = generator.random(40), generator.random(40) < 0.5
    weights = np.ones((1, 40), int)
    by_default = metrics.weighted_calibration_error(confidence, correct, weights)
    assert by_default == metrics.weighted_calibration_error(confidence, correct, weights, bins=15)
    assert by_default != metrics.weighted_calibration_error(confidence, correct, weights, bins=16)
