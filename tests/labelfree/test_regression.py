"""The line from Gscores to a metric, its intervals, and its skill; and what is refused."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest
import yaml

from helpers import labelfree
from helpers.labelfree import TAUS, Estimate, describe_skill, fit_regression, skill

MISTAKES = yaml.safe_load(Path(__file__).with_name("mistakes.yaml").read_text("utf-8"))
LINE = fit_regression([[0.0]] * 9 + [[1.0]], np.r_[:10] / 10, [0.5])
FUNCTIONS = vars(labelfree) | {
    "interval of ten sets": LINE.interval,
    "distance of two means": partial(labelfree.distance, labelfree.two_means([1, 2])),
}


@pytest.mark.parametrize("function", MISTAKES)
def test_bad_input_is_named(function):
    for message, calls in MISTAKES[function].items():
        for arguments in calls:
            with pytest.raises(ValueError, match=message):
                FUNCTIONS[function](*arguments)


def test_the_line_is_least_squares():
    generator = np.random.default_rng(0)
    x, y = generator.normal(size=20), generator.uniform(size=20)
    line = fit_regression(x[:, None], y, [0.93])
    slope, intercept = np.polyfit(x, y, 1)
    assert (line.slope, line.intercept, line.tau) == pytest.approx((slope, intercept, 0.93))
    assert line.residuals == pytest.approx(y - slope * x - intercept)
    assert line.predict([0.0, 2.0]) == pytest.approx([intercept, intercept + 2 * slope])
    low, high = line.interval([-50.0, 50.0])
    assert (low >= 0).all() and (high <= 1).all() and (low <= high).all()


def noisy(noise_by_tau, sets=30):
    """Gscores that are the metric and noise, which depends on the threshold."""
    generator = np.random.default_rng(1)
    truths = generator.uniform(0.5, 1, sets)
    noise = generator.normal(size=sets)[:, None] * noise_by_tau
    return truths[:, None] + noise, truths


def test_the_threshold_is_sought_coarse_then_fine():
    """Near the best of the coarse; thresholds without a line are left out; of equals the first."""
    assert fit_regression(*noisy(np.abs(TAUS - 0.37)), TAUS).tau == 0.37
    noise = np.abs(TAUS - 0.3) + 0.1
    noise[85] = 0  # a better one that no coarse step has
    assert fit_regression(*noisy(noise), TAUS).tau == 0.3
    gscores, truths = noisy(np.full(101, 0.2))
    gscores[:, [0, 100]] = 0  # as of an empty part
    line = fit_regression(gscores, truths, TAUS)
    assert line.tau not in (0, 1) and line.slope > 0
    gscores, truths = noisy(np.array([0.1]))
    assert fit_regression(np.repeat(gscores, 101, axis=1), truths, TAUS).tau == 0


@pytest.mark.parametrize("level", [0.8, 0.75])
def test_the_interval_is_the_jackknife_plus_by_definition(level):
    """Also of mixtures with other ID images, if the intervals know of them."""
    generator = np.random.default_rng(5)
    x, y, new = generator.normal(size=14), generator.uniform(0.3, 0.7, 14), np.r_[-1.0, 0.4]
    again = generator.normal(size=14), generator.uniform(0.3, 0.7, 14)
    line = fit_regression(x[:, None], y, [0.5])
    for redrawn in (None, (x, y), again):
        low, high = line.interval(new, level=level, redrawn=redrawn)
        others, truths = redrawn or (x, y)
        lower, upper = [], []
        for left_out in range(14):
            kept = np.arange(14) != left_out
            slope, intercept = np.polyfit(x[kept], y[kept], 1)
            miss = abs(truths[left_out] - intercept - slope * others[left_out])
            lower.append(intercept + slope * new - miss)
            upper.append(intercept + slope * new + miss)
        # of 15 that are 12, or 11.25: the twelfth from below, and the twelfth from above
        assert low == pytest.approx(np.clip(np.sort(lower, axis=0)[2], 0, 1))
        assert high == pytest.approx(np.clip(np.sort(upper, axis=0)[11], 0, 1))


@pytest.mark.parametrize(("sets", "level"), [(8, 0.9), (18, 0.95)])
def test_an_interval_needs_enough_sets(sets, level):
    x = np.arange(sets + 1.0)
    with pytest.raises(ValueError, match=f"at least {sets + 1} meta-training sets"):
        fit_regression(x[:-1, None], x[:-1] / 20, [0.5]).interval([1.0], level)
    low, high = fit_regression(x[:, None], x / 20, [0.5]).interval([1.0], level)
    assert low == pytest.approx(high)


def test_skill_is_its_definition():
    generator = np.random.default_rng(0)
    truths, predicted, learnt = generator.uniform(size=(3, 20))
    expected = 1 - ((predicted - truths) ** 2).mean() / ((learnt.mean() - truths) ** 2).mean()
    found = skill(predicted, truths, learnt)
    assert found.value == pytest.approx(expected) and found.low < expected < found.high
    assert skill(truths, truths, learnt) == (1, 1, 1)
    assert skill(np.full(20, learnt.mean()), truths, learnt) == (0, 0, 0)


def test_the_interval_of_a_skill_covers_about_as_often_as_it_says():
    """Predictions that halve the squared error of the constant, on 40 test sets."""
    generator, covered = np.random.default_rng(1), []
    for _ in range(100):
        truths = generator.normal(size=40)
        predicted = truths + generator.normal(0, np.sqrt(0.5), 40)
        low, high = skill(predicted, truths, [0.0], level=0.8)[1:]
        covered.append(low <= 0.5 <= high)
    assert np.mean(covered) == pytest.approx(0.8, abs=0.12)


def test_a_skill_in_words():
    words = [(0.1, 0.6, "better than"), (-0.1, 0.6, "no better"), (0, 0, "no"), (-1, -0.1, "worse")]
    for *ends, text in words:
        assert describe_skill(Estimate(0.0, *ends)).startswith(text)
