"""Another mixture of the known classes: its interval, and the bound of what it does not explain."""

import numpy as np
import pytest

from known_unknowns.without_labels import class_mixture, share_bound

CLASSES = 5
#: Share of correct answers, and mean score, of each class.
RIGHT = np.array([0.6, 0.7, 0.8, 0.9, 0.95])


def drawn(shares, count, generator):
    """Return classes, answers and scores of images of a model; hard classes have low scores."""
    labels = generator.choice(CLASSES, p=shares, size=count)
    wrong = generator.integers(CLASSES, size=count)
    answers = np.where(generator.random(count) < RIGHT[labels], labels, wrong)
    return labels, answers, generator.normal(3 * RIGHT[labels])


@pytest.mark.parametrize("images", [200, 1000])
@pytest.mark.parametrize(
    "after", [(0.2, 0.2, 0.2, 0.2, 0.2), (0.6, 0.1, 0.1, 0.1, 0.1), (0, 0, 0.3, 0.3, 0.4)]
)
def test_the_interval_holds_and_a_mixture_is_no_evidence_of_unlike_images(images, after):
    """Both fail in at most 5 % of draws; without weights, the bound is false in most of them."""
    generator = np.random.default_rng(0)
    before = np.full(CLASSES, 1 / CLASSES)
    moved = np.abs(before - after).sum() / 2
    outside = 0
    alarms = 0
    plain = 0
    draws = 50
    for _ in range(draws):
        labels, answers, scores = drawn(before, images, generator)
        _, others, new_scores = drawn(after, images, generator)
        mixture = class_mixture(answers, labels, others, classes=CLASSES)
        outside += not mixture.low <= moved <= mixture.high
        alarms += share_bound(mixture.reweighted(scores), new_scores) > 0
        plain += share_bound(scores, new_scores) > 0
    assert outside <= 7  # 5 % and three standard deviations
    assert alarms <= 7
    if after[0] == 0.6 and images == 1000:
        assert plain > 35


def test_unlike_images_stay_evidence():
    """A mixture does not explain new images of a score below all others."""
    generator = np.random.default_rng(0)
    shares = np.full(CLASSES, 1 / CLASSES)
    labels, answers, scores = drawn(shares, 1000, generator)
    _, others, new_scores = drawn(shares, 1000, generator)
    new_scores[:200] = -9.0
    mixture = class_mixture(answers, labels, others, classes=CLASSES)
    assert 0.14 < share_bound(mixture.reweighted(scores), new_scores) < 0.2


def test_equal_mixtures_leave_the_scores_and_strange_answers_are_refused():
    labels = np.arange(100) % 2
    mixture = class_mixture(labels, labels, np.tile(labels, 1000), classes=3)
    assert mixture.moved < 0.01
    assert mixture.after[2] < 0.01  # a class without a validation image
    assert abs(len(mixture.reweighted(labels)) - 100) <= 1
    many = class_mixture(labels, labels, labels, classes=300)
    assert (many.low, many.high) == (0, 1)  # too few images of each class
    assert not class_mixture(labels, labels, [0, 0], classes=2).low  # equal by chance
    with pytest.raises(ValueError, match="others: 0 to 1 expected"):
        class_mixture(labels, labels, [2], classes=2)
