import itertools

import numpy as np
import pytest

from helpers import metrics


def running_risk(correct):
    return np.cumsum(1 - np.asarray(correct, float)) / np.arange(1, len(correct) + 1)


def all_orders(confidence, correct, measure):
    """Mean of a measure of the sorted `correct` over all orders that the ties allow."""
    values = []
    for order in itertools.permutations(range(len(confidence))):
        ranked = [confidence[i] for i in order]
        if ranked == sorted(ranked, reverse=True):
            values.append(measure([correct[i] for i in order]))
    return np.mean(values)


TIED = ([0.9, 0.9, 0.9, 0.5, 0.2, 0.2], [True, False, True, True, False, True])


def example(ties: bool, n: int = 400):
    generator = np.random.default_rng(3)
    confidence = generator.random(n)
    correct = generator.random(n) < confidence
    return (confidence.round(1) if ties else confidence), correct


def test_ties_count_by_their_expectation():
    expected = all_orders(*TIED, lambda ranked: running_risk(ranked).mean())
    assert metrics.aurc(*TIED) == pytest.approx(expected, abs=1e-12)


def test_ties_count_by_their_expectation_in_augrc():
    expected = all_orders(*TIED, lambda ranked: (running_risk(ranked) * np.arange(1, 7) / 6).mean())
    assert metrics.augrc(*TIED) == pytest.approx(expected, abs=1e-12)


def test_without_ties_it_is_the_mean_running_risk():
    confidence, correct = example(ties=False)
    expected = running_risk(correct[np.argsort(-confidence)])
    coverage, risk = metrics.risk_coverage_curve(confidence, correct)
    assert risk == pytest.approx(expected)
    assert coverage[0] == 1 / 400 and coverage[-1] == 1
    assert metrics.aurc(confidence, correct) == pytest.approx(expected.mean())


@pytest.mark.parametrize("errors", [0, 1, 37, 100])
def test_constant_confidence_gives_the_error_rate(errors):
    correct = np.arange(100) >= errors
    for variant in ("rectangle", "trapezoid"):
        found = metrics.aurc(np.full(100, 0.7), correct, variant=variant)
        assert found == pytest.approx(errors / 100)


@pytest.mark.parametrize("ties", [False, True])
def test_augrc_follows_from_auroc_and_accuracy(ties):
    confidence, correct = example(ties)
    accuracy = correct.mean()
    area = metrics.auroc(confidence[correct], confidence[~correct])
    published = (1 - area) * accuracy * (1 - accuracy) + 0.5 * (1 - accuracy) ** 2
    expected = published + (1 - accuracy) / (2 * len(correct))
    assert metrics.augrc(confidence, correct) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("errors", [1, 5, 19])
def test_excess_of_a_perfect_ranking_is_exactly_zero(errors):
    correct = np.arange(20) >= errors
    assert metrics.eaurc(np.arange(20), correct) == 0
    assert metrics.eaurc(correct, correct) == 0  # ties within right and within wrong
    assert metrics.eaurc(-np.arange(20), correct) > 0


def test_the_closed_form_optimum_is_the_limit():
    confidence, correct = example(ties=False, n=20_000)
    rate = 1 - correct.mean()
    limit = metrics.eaurc(confidence, correct, optimum="limit")
    closed_form = rate + (1 - rate) * np.log(1 - rate)
    assert limit == pytest.approx(metrics.aurc(confidence, correct) - closed_form, abs=1e-12)
    assert limit == pytest.approx(metrics.eaurc(confidence, correct), abs=1e-4)
    assert metrics.eaurc([2, 1], [True, False], optimum="limit") > 0.05  # but not for small N
    assert metrics.eaurc([2, 1], [False, False], optimum="limit") == 0


def test_the_order_dependent_variant_depends_on_the_order():
    correct = np.arange(100) >= 10
    first = metrics.aurc(np.ones(100), correct, variant="order_dependent")
    last = metrics.aurc(np.ones(100), correct[::-1], variant="order_dependent")
    assert first > 0.3 and last < 0.01
    confidence, correct = example(ties=False)
    assert metrics.aurc(confidence, correct, variant="order_dependent") == pytest.approx(
        metrics.aurc(confidence, correct)
    )


def test_the_trapezoid_variant_by_hand():
    # Points (1/3, 0), (2/3, 1/2), (1, 1/3); flat from coverage 0.
    expected = (0 + (0 + 1 / 2) / 2 + (1 / 2 + 1 / 3) / 2) / 3
    assert metrics.aurc([3, 2, 1], [1, 0, 1], variant="trapezoid") == pytest.approx(expected)


FUNCTIONS = {
    "aurc": metrics.aurc,
    "aurc trapezoid": lambda c, r: metrics.aurc(c, r, variant="trapezoid"),
    "eaurc": metrics.eaurc,
    "augrc": metrics.augrc,
    "curve": lambda c, r: metrics.risk_coverage_curve(c, r)[1].sum(),
}


@pytest.mark.parametrize("name", FUNCTIONS)
class TestEach:
    def test_all_right_and_all_wrong(self, name):
        assert FUNCTIONS[name]([0.3, 0.2, 0.2], [True] * 3) == 0 == FUNCTIONS[name]([0.3], [True])
        expected = {"eaurc": 0, "augrc": 2 / 3, "curve": 3}.get(name, 1)
        assert FUNCTIONS[name]([0.3, 0.2, 0.2], [False] * 3) == pytest.approx(expected)
        assert FUNCTIONS[name]([0.3], [False]) == (name != "eaurc")


def test_unknown_options_are_refused():
    with pytest.raises(ValueError, match="did you mean 'trapezoid'"):
        metrics.aurc([1], [1], variant="trapezium")
    with pytest.raises(ValueError, match="unknown optimum"):
        metrics.eaurc([1], [1], optimum="best")


def test_scores_may_be_infinite():
    for variant, expected in {"rectangle": 1 / 9, "order_dependent": 1 / 9}.items():
        found = metrics.aurc([np.inf, 1.0, -np.inf], [True, True, False], variant=variant)
        assert found == pytest.approx(expected)
