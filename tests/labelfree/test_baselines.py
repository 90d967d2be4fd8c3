import numpy as np
import pytest
from scipy.linalg import sqrtm

from helpers import labelfree as gscore


def test_confidence_takes_the_place_of_labels():
    confidence, scores = np.r_[0.95, 0.91, 0.9, 0.2], np.r_[3.0, 1.0, 2.0, 0.0]
    found = gscore.confidence_metrics(confidence, scores)
    assert found == gscore.true_metrics([3.0, 1.0], [2.0, 0.0])


@pytest.mark.parametrize("confidence", [[0.95, 0.99, 0.91], [0.5, 0.6, 0.7]])
def test_labels_that_are_all_the_same_make_a_perfect_detector(confidence):
    perfect = gscore.true_metrics([3.0, 2.0], [1.0])
    assert gscore.confidence_metrics(confidence, [1.0, 2.0, 3.0]) == perfect


@pytest.mark.parametrize(
    "confidence, threshold, named",
    [([1.2, 0.5], 0.9, "confidence"), ([0.5], 0.9, "confidence"), ([0.5, 0.95], 90, "threshold")],
)
def test_confidences_and_thresholds_are_shares(confidence, threshold, named):
    with pytest.raises(ValueError, match=named):
        gscore.confidence_metrics(confidence, [1.0, 2.0], threshold=threshold)


@pytest.mark.parametrize("rows", [5, 60])  # fewer than features, and more
def test_the_frechet_distance_is_its_definition(rows):
    generator = np.random.default_rng(1)
    first, second = generator.normal(size=(40, 8)), generator.normal(1, 2, (rows, 8))
    one, two = np.cov(first.T), np.cov(second.T)
    expected = ((first.mean(0) - second.mean(0)) ** 2).sum()
    root = np.real(sqrtm(sqrtm(one) @ two @ sqrtm(one)))
    expected += np.trace(one + two - 2 * root)
    assert gscore.frechet_distance(first, second) == pytest.approx(expected, rel=1e-5)
    assert gscore.frechet_distance(second, first) == pytest.approx(expected, rel=1e-5)


def test_the_frechet_distance_is_zero_to_itself_and_grows_with_a_shift():
    features = np.random.default_rng(2).normal(size=(30, 4))
    moments = gscore.FeatureMoments.of(features)
    assert gscore.frechet_distance(features, moments) == pytest.approx(0, abs=1e-9)
    assert gscore.frechet_distance(moments, features + 3) == pytest.approx(36)


@pytest.mark.parametrize(
    "bad", [[[1.0, 2.0]], [[1.0, np.nan], [0.0, 1.0]], [[1.0], [2.0]], [1.0, 2.0]]
)
def test_features_without_moments_are_refused(bad):
    with pytest.raises(ValueError, match="features"):
        gscore.frechet_distance(np.eye(2), bad)
