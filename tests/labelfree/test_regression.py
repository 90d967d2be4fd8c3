import numpy as np
import pytest

from helpers import labelfree as gscore


def test_the_line_is_least_squares():
    generator = np.random.default_rng(0)
    x, y = generator.normal(size=20), generator.uniform(size=20)
    line = gscore.fit_regression(x[:, None], y, [0.93])
    slope, intercept = np.polyfit(x, y, 1)
    assert (line.slope, line.intercept) == pytest.approx((slope, intercept))
    assert line.residuals == pytest.approx(y - slope * x - intercept)
    assert line.predict([0.0, 2.0]) == pytest.approx([intercept, intercept + 2 * slope])
    assert line.tau == 0.93


def noisy(noise_by_tau, sets=30):
    """Gscores that tell the metric but for noise, which depends on the threshold."""
    generator = np.random.default_rng(1)
    truths = generator.uniform(0.5, 1, sets)
    noise = generator.normal(size=sets)[:, None] * noise_by_tau
    return truths[:, None] + noise, truths


def test_the_threshold_is_sought_coarse_then_fine():
    gscores, truths = noisy(np.abs(gscore.TAUS - 0.37))
    assert gscore.fit_regression(gscores, truths, gscore.TAUS).tau == 0.37


def test_the_fine_search_stays_near_the_best_of_the_coarse():
    noise = np.abs(gscore.TAUS - 0.3) + 0.1
    noise[85] = 0  # a better one that no coarse step sees
    gscores, truths = noisy(noise)
    assert gscore.fit_regression(gscores, truths, gscore.TAUS).tau == 0.3


def test_thresholds_that_say_nothing_are_passed_over():
    gscores, truths = noisy(np.full(101, 0.2))
    gscores[:, [0, 100]] = 0  # what an empty part gives
    line = gscore.fit_regression(gscores, truths, gscore.TAUS)
    assert line.tau not in (0, 1) and line.slope > 0


def test_an_evaluator_without_threshold_takes_the_first():
    gscores, truths = noisy(np.array([0.1]))
    line = gscore.fit_regression(np.repeat(gscores, 101, axis=1), truths, gscore.TAUS)
    assert line.tau == 0


def test_the_interval_is_the_jackknife_plus_by_definition():
    generator = np.random.default_rng(5)
    x, y, new = generator.normal(size=14), generator.uniform(0.3, 0.7, 14), np.r_[-1.0, 0.4]
    low, high = gscore.fit_regression(x[:, None], y, [0.5]).interval(new, level=0.8)
    lower, upper = [], []
    for left_out in range(14):
        kept = np.arange(14) != left_out
        slope, intercept = np.polyfit(x[kept], y[kept], 1)
        miss = abs(y[left_out] - intercept - slope * x[left_out])
        lower.append(intercept + slope * new - miss)
        upper.append(intercept + slope * new + miss)
    # 0.8 of 15 are 12: the twelfth from below, and the twelfth from above
    assert low == pytest.approx(np.sort(lower, axis=0)[2])
    assert high == pytest.approx(np.sort(upper, axis=0)[11])


@pytest.mark.parametrize("level", [0.6, 0.9])
def test_intervals_cover_as_often_as_they_say(level):
    generator, covered = np.random.default_rng(9), []
    for _ in range(300):
        x = generator.normal(size=60)
        y = np.clip(0.5 + 0.1 * x + generator.normal(size=60) * 0.05 * (1 + np.abs(x)), 0, 1)
        line = gscore.fit_regression(x[:40, None], y[:40], [0.5])
        low, high = line.interval(x[40:], level)
        covered.append(((low <= y[40:]) & (y[40:] <= high)).mean())
    assert np.mean(covered) == pytest.approx(level, abs=0.02)


def test_other_id_images_are_a_second_source_of_variance():
    """All new mixtures are off by what theirs are; told of it, intervals hold as often as said."""
    generator, covered = np.random.default_rng(10), []
    for _ in range(300):
        x = generator.normal(size=60)
        y = 0.5 + 0.05 * x + generator.normal(size=60) * 0.02
        line = gscore.fit_regression(x[:40, None], y[:40], [0.5])
        new = np.clip(y[40:] + 0.06 * generator.normal(), 0, 1)  # one shift for all of a test
        redrawn = x[:40], np.clip(y[:40] + 0.06 * generator.normal(size=40), 0, 1)
        for again in (None, redrawn):
            low, high = line.interval(x[40:], 0.9, redrawn=again)
            covered.append(((low <= new) & (new <= high)).mean())
    alone, both = np.reshape(covered, (-1, 2)).mean(axis=0)
    assert alone < 0.6 and both == pytest.approx(0.9, abs=0.03)


def test_mixtures_that_are_the_same_again_change_no_interval():
    generator = np.random.default_rng(11)
    x, y = generator.normal(size=12), generator.uniform(0.4, 0.6, 12)
    line = gscore.fit_regression(x[:, None], y, [0.5])
    for one, other in zip(line.interval(x), line.interval(x, redrawn=(x, y)), strict=True):
        assert one == pytest.approx(other)
    with pytest.raises(ValueError, match="redrawn: length 12 expected, got 3"):
        line.interval(x, redrawn=(x[:3], y[:3]))


def test_intervals_stay_in_the_range_of_metrics_and_predictions_need_not():
    gscores, truths = noisy(np.array([0.05]))
    line = gscore.fit_regression(gscores, truths, [0.5])
    low, high = line.interval([-5.0, 5.0])
    assert (low >= 0).all() and (high <= 1).all() and (low <= high).all()
    assert line.predict([5.0])[0] > 1


@pytest.mark.parametrize("sets, level", [(8, 0.9), (18, 0.95)])
def test_an_interval_needs_enough_sets(sets, level):
    x = np.arange(sets + 1.0)
    with pytest.raises(ValueError, match=f"at least {sets + 1} meta-training sets"):
        gscore.fit_regression(x[:-1, None], x[:-1] / 20, [0.5]).interval([1.0], level)
    low, high = gscore.fit_regression(x[:, None], x / 20, [0.5]).interval([1.0], level)
    assert low == pytest.approx(high)


def test_a_line_that_rests_on_one_set_has_no_interval():
    line = gscore.fit_regression([[0.0]] * 9 + [[1.0]], np.r_[:10] / 10, [0.5])
    with pytest.raises(ValueError, match="all meta-training sets but one"):
        line.interval([0.5])


@pytest.mark.parametrize(
    "gscores, truths, taus, message",
    [
        ([[1.0], [2.0]], [0.1, 0.2], [0.5], "at least 3 sets"),
        ([[1.0], [1.0], [1.0]], [0.1, 0.2, 0.3], [0.5], "same for all sets"),
        ([[1.0], [2.0], [3.0]], [10, 20, 30], [0.5], "not percent"),
        ([[1.0], [2.0], [np.nan]], [0.1, 0.2, 0.3], [0.5], "gscores"),
        ([[1.0], [2.0], [3.0]], [0.1, 0.2], [0.5], "truths"),
        ([[1.0], [2.0], [3.0]], [0.1, 0.2, 0.3], [0.5, 0.6], "2 columns"),
        ([[1.0], [2.0], [3.0]], [0.1, 0.2, 0.3], [2.0], "taus"),
    ],
)
def test_what_gives_no_line_is_refused(gscores, truths, taus, message):
    with pytest.raises(ValueError, match=message):
        gscore.fit_regression(gscores, truths, taus)


@pytest.mark.parametrize("level", [0, 1, 1.5])
def test_a_level_is_a_share(level):
    with pytest.raises(ValueError, match="level"):
        gscore.fit_regression([[1.0], [2.0], [3.0]], [0.1, 0.2, 0.3], [0.5]).interval([1.0], level)
