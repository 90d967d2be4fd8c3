import numpy as np
import pytest

from helpers import metrics
from helpers.scores.calibration import softmax
from helpers.scores.openset import open_set_answer, unknown_probability


def example(n=200, classes=6):
    generator = np.random.default_rng(2)
    probabilities = softmax(2 * generator.normal(size=(n, classes)))
    labels = generator.integers(-1, classes, n)
    return probabilities, unknown_probability(probabilities), labels


def test_brier_by_hand():
    probabilities, unknown, labels = example()
    expected = 0.0
    for p, u, y in zip(probabilities, unknown, labels, strict=True):
        target = np.zeros(7)
        target[y if y >= 0 else 6] = 1
        expected += np.sum((np.append(p, u) - target) ** 2) / len(labels)
    assert metrics.open_set_brier(probabilities, unknown, labels) == pytest.approx(expected)


def test_normalised_brier_is_the_plain_one_over_all_answers():
    probabilities, unknown, labels = example()
    vector = np.column_stack([probabilities, unknown])
    vector /= vector.sum(axis=1, keepdims=True)
    expected = metrics.brier(vector, np.where(labels < 0, 6, labels))
    given = metrics.open_set_brier(probabilities, unknown, labels, normalised=True)
    assert given == pytest.approx(expected)
    assert given != pytest.approx(metrics.open_set_brier(probabilities, unknown, labels), rel=1e-3)


def test_a_proper_vector_need_not_be_normalised():
    vector = softmax(np.random.default_rng(0).normal(size=(50, 7)))
    labels = np.arange(50) % 7 - 1
    given = [
        metrics.open_set_brier(vector[:, :-1], vector[:, -1], labels, normalised=normalised)
        for normalised in (False, True)
    ]
    assert given[0] == pytest.approx(given[1]) == pytest.approx(metrics.brier(vector, labels % 7))


def test_closed_set_is_the_special_case_without_unknowns():
    probabilities, _, labels = example()
    labels = np.maximum(labels, 0)
    assert metrics.open_set_brier(probabilities, np.zeros(200), labels) == pytest.approx(
        metrics.brier(probabilities, labels)
    )
    answers = probabilities.argmax(axis=1)
    assert metrics.open_set_ece(probabilities, np.zeros(200), labels, answers) == pytest.approx(
        metrics.ece(probabilities, labels)
    )


def test_confidence_is_that_of_the_answer():
    probabilities, unknown, _ = example()
    answers = open_set_answer(probabilities, 0.6)
    assert 0 < (answers < 0).sum() < 200
    confidence = metrics.answer_confidence(probabilities, unknown, answers)
    accepted = answers >= 0
    assert (confidence[accepted] == probabilities.max(axis=1)[accepted]).all()
    assert (confidence[~accepted] == unknown[~accepted]).all()
    other = metrics.answer_confidence(probabilities, unknown, answers, rejected="known")
    assert (other == probabilities.max(axis=1)).all()


@pytest.mark.parametrize("rejected", ["unknown", "known"])
def test_ece_is_the_calibration_error_of_the_answers(rejected):
    probabilities, unknown, labels = example()
    answers = open_set_answer(probabilities, 0.6)
    confidence = metrics.answer_confidence(probabilities, unknown, answers, rejected=rejected)
    assert metrics.open_set_ece(
        probabilities, unknown, labels, answers, rejected=rejected
    ) == metrics.calibration_error(confidence, answers == labels)


@pytest.mark.parametrize(("labels", "expected"), [([0, -1], 0.0), ([1, 0], 1.0)])
def test_ece_of_certain_answers(labels, expected):
    probabilities, unknown, answers = [[1.0, 0.0], [0.0, 0.0]], [0.0, 1.0], [0, -1]
    assert metrics.open_set_ece(probabilities, unknown, labels, answers) == expected


FUNCTIONS = {
    "brier": metrics.open_set_brier,
    "ece": lambda p, u, y: metrics.open_set_ece(p, u, y, np.full(len(p), -1)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_one_image(name):
    assert FUNCTIONS[name]([[0.0, 0.0]], [1.0], [-1]) == 0


def test_another_confidence_of_rejected_images_is_refused():
    with pytest.raises(ValueError, match="rejected image 'knwon'; did you mean 'known'"):
        metrics.open_set_ece([[0.5, 0.5]], [0.1], [0], [0], rejected="knwon")


def test_a_row_of_nothing_cannot_be_normalised():
    with pytest.raises(ValueError, match="a row sums to 0 and cannot be normalised"):
        metrics.open_set_brier([[0.0, 0.0]], [0.0], [0], normalised=True)
