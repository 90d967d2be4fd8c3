import tracemalloc

import numpy as np
import pytest

from helpers import metrics
from helpers.metrics import weighted_ranking

GENERATOR = np.random.default_rng(6)
TIED = {"untied": 12, "tied": 1, "constant": -1}  # decimals that the scores keep


def draws(name, size):
    return GENERATOR.random(size).round(TIED[name])


@pytest.mark.parametrize("name", TIED)
@pytest.mark.parametrize("size", [1, 2, 150])
def test_aurc_is_that_of_the_repeated_images(name, size):
    """Each row gives what `aurc` gives where every image is there as often as it is drawn."""
    confidence, correct = draws(name, size), GENERATOR.random(size) < 0.7
    weights = metrics.resample_weights(size, replicates=20, seed=size)
    found = metrics.weighted_aurc(confidence, correct, weights)
    expected = [
        metrics.aurc(confidence.repeat(row), correct.repeat(row)) for row in weights.astype(int)
    ]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", TIED)
@pytest.mark.parametrize("sizes", [(1, 1), (3, 40), (150, 90)])
def test_known_against_unknown_is_that_of_the_repeated_images(name, sizes):
    """AUROC and FPR of each row are those of the plain metrics on the repeated images."""
    known, unknown = draws(name, sizes[0]) + 0.1, draws(name, sizes[1])
    weights = [metrics.resample_weights(size, replicates=20, seed=size) for size in sizes]
    repeated = [
        (known.repeat(one), unknown.repeat(other)) for one, other in zip(*weights, strict=True)
    ]
    np.testing.assert_allclose(
        metrics.weighted_auroc(known, unknown, *weights),
        [metrics.auroc(*pair) for pair in repeated],
        rtol=0,
        atol=1e-12,
    )
    for tpr in (0.05, 0.5, 0.95, 1.0):
        np.testing.assert_allclose(
            metrics.weighted_fpr_at_tpr(known, unknown, *weights, tpr=tpr),
            [metrics.fpr_at_tpr(*pair, tpr=tpr) for pair in repeated],
            rtol=0,
            atol=1e-12,
        )


def test_values_counted_by_hand():
    """Tied errors count as their mean over the places that they may take; absent images nowhere."""
    # right, then a right and a wrong image in random order, drawn twice each
    weights = [[2, 1, 1, 0], [0, 1, 1, 5]]
    found = metrics.weighted_aurc([0.9, 0.5, 0.5, 0.1], [True, True, False, True], weights)
    assert found[0] == pytest.approx((0 + 0 + 0.5 / 3 + 1 / 4) / 4)
    risks = [0.5, 0.5, 1 / 3, 1 / 4, 1 / 5, 1 / 6, 1 / 7]
    assert found[1] == pytest.approx(sum(risks) / 7)
    # the known image at 1 is not drawn: the threshold may rise above the unknown at 2
    assert metrics.weighted_fpr_at_tpr([3, 1], [2], [[1, 1], [2, 0]], [[1], [1]]).tolist() == [1, 0]


def test_all_right_and_all_wrong():
    """Without errors the area is 0, with errors alone it is 1."""
    weights = metrics.resample_weights(9, replicates=3, seed=0)
    confidence = np.arange(9.0)
    assert (metrics.weighted_aurc(confidence, np.ones(9, dtype=bool), weights) == 0).all()
    found = metrics.weighted_aurc(confidence, np.zeros(9, dtype=bool), weights)
    assert found == pytest.approx(1, abs=1e-12)


def test_rows_and_their_order(monkeypatch):
    """Rows do not touch one another, in whatever blocks, nor does the order of the images."""
    known, unknown = draws("tied", 60), draws("tied", 50)
    weights = [metrics.resample_weights(size, replicates=7, seed=size) for size in (60, 50)]
    correct = GENERATOR.random(60) < 0.5
    order = GENERATOR.permutation(60)

    def values(order, rows):
        first, second = weights[0][rows][:, order], weights[1][rows]
        return [
            metrics.weighted_aurc(known[order], correct[order], first),
            metrics.weighted_auroc(known[order], unknown, first, second),
            metrics.weighted_fpr_at_tpr(known[order], unknown, first, second),
        ]

    whole = values(order, slice(None))
    monkeypatch.setattr(weighted_ranking, "_CELLS", 250)
    np.testing.assert_allclose(values(np.arange(60), slice(None)), whole, atol=1e-13)
    alone = np.transpose([values(order, slice(b, b + 1)) for b in range(7)], (1, 0, 2))
    np.testing.assert_allclose(alone[..., 0], whole, atol=1e-13)


@pytest.mark.parametrize("name", ["untied", "constant"])
def test_one_sort_and_bounded_memory(name, monkeypatch):
    """Images are sorted once for all replicates, and few of the counts are held at a time."""
    size, replicates = 20_000, 400
    confidence, correct = draws(name, size), GENERATOR.random(size) < 0.7
    weights = metrics.resample_weights(size, replicates=replicates, seed=0)
    sorts, argsort = [], np.argsort
    monkeypatch.setattr(np, "argsort", lambda *a, **k: sorts.append(a) or argsort(*a, **k))
    metrics.weighted_aurc(confidence, correct, weights[:, :])  # what is loaded on first use is
    tracemalloc.start()
    try:
        metrics.weighted_aurc(confidence, correct, weights)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(sorts) == 2  # in two calls
    assert peak < size * replicates  # bytes: a single copy of the weights has 2 a count


def test_rows_need_not_sum_to_the_number_of_images():
    """A row of more or fewer draws is one more test set: doubling all weights doubles nothing."""
    known, unknown = draws("tied", 30), draws("tied", 20)
    ones = np.ones((1, 30), dtype=int), np.ones((1, 20), dtype=int)
    more = np.concatenate([ones[0], 2 * ones[0]]), np.concatenate([ones[1], 2 * ones[1]])
    for name in ("auroc", "fpr_at_tpr"):
        plain = getattr(metrics, name)(known, unknown)
        found = getattr(metrics, f"weighted_{name}")(known, unknown, *more)
        assert found.tolist() == pytest.approx([plain, plain], abs=1e-12)


def test_both_groups_need_as_many_rows():
    good = [[1, 1]]
    for function in (metrics.weighted_auroc, metrics.weighted_fpr_at_tpr):
        with pytest.raises(ValueError, match=r"^unknown_weights: as many rows"):
            function([1, 2], [1, 2], good, good * 2)


def test_both_numbers_of_a_detection_at_once_are_those_of_each():
    generator = np.random.default_rng(0)
    pair = generator.normal(1, 1, 700).round(1), generator.normal(0, 1, 400).round(1)
    weights = [metrics.resample_weights(len(one), replicates=30, seed=1) for one in pair]
    areas, accepted = weighted_ranking.weighted_detection(*pair, *weights, tpr=0.9)
    assert np.array_equal(areas, metrics.weighted_auroc(*pair, *weights))
    assert np.array_equal(accepted, metrics.weighted_fpr_at_tpr(*pair, *weights, tpr=0.9))
