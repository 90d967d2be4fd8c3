"""Metrics equal their definitions in fractions, on generated arrays."""

import itertools
from fractions import Fraction
from inspect import signature

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from helpers import metrics

# few whole numbers, so that there are ties, and any other number
SCORES = st.integers(-3, 3) | st.floats(allow_nan=False)
GROUP = st.lists(SCORES, min_size=1, max_size=7)
ANSWERS = st.lists(st.tuples(SCORES, st.booleans()), min_size=1, max_size=6)
ANYTHING = arrays.arrays(
    st.sampled_from([np.float64, np.float32, np.int64, np.bool_, "U2", object]),
    arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
)
BINARY = "accuracy augrc auroc aurc brier detection_error eaurc ece fpr_at_tpr nll".split()


def risks_of_all_orders(answers):
    """Return the mean AURC over all orders in which ties may come."""
    groups = itertools.groupby(sorted(answers, reverse=True), key=lambda answer: answer[0])
    orders = itertools.product(*(itertools.permutations(list(group)) for _, group in groups))
    risks = []
    for order in orders:
        wrong = [not right for group in order for _, right in group]
        risks += [Fraction(sum(wrong[:k]), k) for k in range(1, len(wrong) + 1)]
    return sum(risks) / len(risks)


@given(ANSWERS)
@example([(0, True), (0, False)])
def test_aurc_is_the_mean_over_the_orders_of_ties(answers):
    scores, correct = zip(*answers, strict=True)
    expected = risks_of_all_orders(answers)
    assert metrics.aurc(scores, correct) == pytest.approx(float(expected), abs=1e-12)
    best = risks_of_all_orders([(right, right) for _, right in answers])
    assert metrics.eaurc(scores, correct) == pytest.approx(float(expected - best), abs=1e-12)
    _, risk = metrics.risk_coverage_curve(scores, correct)
    assert risk.mean() == pytest.approx(float(expected), abs=1e-12)
    shares = risk * np.arange(1, len(risk) + 1) / len(risk)
    assert metrics.augrc(scores, correct) == pytest.approx(shares.mean(), abs=1e-12)


@given(GROUP, GROUP)
@example([1e300, 1 + 2**-52, np.inf, 0.0], [1e300, 1, 1e-300, -1e-300, np.inf, -0.0])
def test_auroc_is_a_share_of_pairs_and_aupr_a_mean_of_precisions(known, unknown):
    wins = [(k > u) + (k == u) / 2 for k, u in itertools.product(known, unknown)]
    assert metrics.auroc(known, unknown) == pytest.approx(sum(wins) / len(wins), abs=1e-12)
    both = known + unknown
    precisions = [sum(k >= t for k in known) / sum(s >= t for s in both) for t in known]
    area = metrics.aupr(known, unknown, positive="known")
    assert area == pytest.approx(np.mean(precisions), abs=1e-12)


@given(GROUP, GROUP, st.fractions(Fraction(1, 100), 1))
@example([0], [0], Fraction(19, 20))
def test_what_slips_through_is_counted_at_the_largest_threshold(known, unknown, tpr):
    """The largest that keeps enough known images."""
    tpr = Fraction(round(tpr * 1000), 1000) or tpr
    threshold = max(t for t in known if sum(k >= t for k in known) >= tpr * len(known))
    expected = sum(u >= threshold for u in unknown) / len(unknown)
    assert metrics.fpr_at_tpr(known, unknown, tpr=float(tpr)) == expected


@given(GROUP, GROUP)
def test_the_detection_error_is_the_smallest_error_over_all_thresholds(known, unknown):
    missed = [sum(k < t for k in known) / len(known) for t in (*known, *unknown)]
    taken = [sum(u >= t for u in unknown) / len(unknown) for t in (*known, *unknown)]
    least = min(0.5, *((a + b) / 2 for a, b in zip(missed, taken, strict=True)))
    assert metrics.detection_error(known, unknown) == pytest.approx(least, abs=1e-12)


@given(st.lists(st.tuples(st.integers(0, 64), st.booleans()), min_size=1, max_size=30))
@example([(64, True), (0, False)])
def test_the_calibration_error_adds_up_the_gaps_of_right_closed_bins(answers):
    confidence, right = zip(*((Fraction(n, 64), right) for n, right in answers), strict=True)
    sums = [Fraction(0)] * 8
    for share, answer in zip(confidence, right, strict=True):
        sums[max(0, -(-8 * share.numerator // share.denominator) - 1)] += answer - share
    expected = float(sum(map(abs, sums)) / len(answers))
    error = metrics.calibration_error([*map(float, confidence)], right, bins=8)
    assert error == pytest.approx(expected, abs=1e-12)


@given(st.sampled_from(BINARY), ANYTHING, ANYTHING)
@example("auroc", np.array([1, np.inf]), np.array([2**53 + 1]))
@example("aurc", np.array([[1.0]]), np.array([True]))
def test_any_input_gives_a_number_or_an_error_with_the_argument(name, first, second):
    function = getattr(metrics, name)
    try:
        value = function(first, second)
    except ValueError as error:
        assert str(error).startswith(tuple(signature(function).parameters)[:2]), error
    else:
        assert isinstance(value, float)
        assert not np.isnan(value)
