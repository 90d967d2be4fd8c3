import numpy as np
import pytest

from helpers.labelfree import Estimate, describe_skill, skill, skill_of_errors


def test_skill_is_its_definition():
    generator = np.random.default_rng(0)
    truths, predicted, learnt = generator.uniform(size=(3, 20))
    expected = 1 - ((predicted - truths) ** 2).mean() / ((learnt.mean() - truths) ** 2).mean()
    found = skill(predicted, truths, learnt)
    assert found.value == pytest.approx(expected) and found.low < expected < found.high
    assert skill(truths, truths, learnt) == (1, 1, 1)
    assert skill(np.full(20, learnt.mean()), truths, learnt) == (0, 0, 0)


def test_the_interval_covers_about_as_often_as_it_says():
    """Predictions that halve the squared error of the constant, on 40 test sets."""
    generator, covered = np.random.default_rng(1), []
    for _ in range(100):
        truths = generator.normal(size=40)
        predicted = truths + generator.normal(0, np.sqrt(0.5), 40)
        low, high = skill(predicted, truths, [0.0], level=0.8)[1:]
        covered.append(low <= 0.5 <= high)
    assert np.mean(covered) == pytest.approx(0.8, abs=0.12)


@pytest.mark.parametrize(
    ("found", "words"),
    [((0.4, 0.1, 0.6), "better than"), ((0.4, -0.1, 0.6), "no better than"), ((0.0, 0, 0), "no"),
     ((-0.4, -0.6, -0.1), "worse than")],
)  # fmt: skip
def test_it_is_said_in_words(found, words):
    assert describe_skill(Estimate(*found)).startswith(words)


@pytest.mark.parametrize(
    ("predicted", "truths", "learnt", "level", "named"),
    [([0.1] * 3, [0.2] * 3, [0.2], 0.9, "nothing to be"), ([0.1], [0.2], [0.2], 0.9, "3 test"),
     ([0.1] * 2, [0.2] * 3, [0.2], 0.9, "predicted"), ([np.nan] * 3, [0.2] * 3, [0.3], 0.9, "NaN"),
     ([0.1] * 3, [0.2] * 3, [], 0.9, "learnt"), ([0.1] * 3, [0.2] * 3, [0.3], 95, "level")],
)  # fmt: skip
def test_bad_input_is_refused(predicted, truths, learnt, level, named):
    with pytest.raises(ValueError, match=named):
        skill(predicted, truths, learnt, level=level)


def test_errors_added_up_by_set_have_the_skill_of_the_predictions():
    """And what cannot be judged is refused."""
    truths = np.linspace(0.2, 0.9, 12)
    predicted, guess = truths + 0.1 * np.cos(np.arange(12)), 0.4
    whole = skill(predicted, truths, [guess])
    assert skill_of_errors((predicted - truths) ** 2, (guess - truths) ** 2) == whole
    assert skill_of_errors((guess - truths) ** 2, (guess - truths) ** 2)[:2] == (0, 0)
    with pytest.raises(ValueError, match="errors: those of at least 3 sets expected, got 2"):
        skill_of_errors([0.1, 0.2], [0.1, 0.2])
    with pytest.raises(ValueError, match="guessed: the constant has no error"):
        skill_of_errors([0.1, 0.2, 0.3], [0, 0, 0])
