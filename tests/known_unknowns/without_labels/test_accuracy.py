from itertools import combinations

import numpy as np
import pytest
from scipy.special import softmax

from known_unknowns.without_labels import (
    ACCURACY_ESTIMATORS,
    Answers,
    accuracy_of_accepted,
    assumptions,
    estimate_accuracy,
)


def draw(generator, images, scale=2.0, members=True):
    """Calibrated answers and whether they are right; the larger the scale, the easier."""
    logits = scale * generator.normal(size=(images, 4))
    probabilities = softmax(logits, axis=1)
    labels = (generator.random((images, 1)) > probabilities.cumsum(axis=1)).sum(axis=1)
    # members whose answers are drawn like labels agree as often as these are right
    said = (generator.random((3, images, 1)) > probabilities.cumsum(axis=1)).sum(axis=2)
    every = np.eye(4)[np.minimum(said, 3)] if members else None
    return Answers(probabilities, every), probabilities.argmax(axis=1) == labels


@pytest.fixture(scope="module")
def repeated():
    """Estimates and standard errors of 150 draws where all assumptions hold, and the accuracy."""
    generator, found = np.random.default_rng(0), []
    for _ in range(150):
        (validation, correct), (mixture, _) = draw(generator, 200), draw(generator, 300)
        found.append(list(estimate_accuracy(validation, correct, mixture, level=0.8).values()))
    return np.array(found), draw(generator, 300_000)[0].probabilities.max(axis=1).mean()


@pytest.mark.parametrize("name", ACCURACY_ESTIMATORS)
def test_where_assumptions_hold_intervals_cover_as_often_as_they_say(repeated, name):
    found, truth = repeated
    value, low, high = found[:, list(ACCURACY_ESTIMATORS).index(name)].T
    if name == "agreement":  # of members that err more often than their mean does
        truth = value.mean()
    assert value.mean() == pytest.approx(truth, abs=0.01)
    assert ((low <= truth) & (truth <= high)).mean() == pytest.approx(0.8, abs=0.1)


def test_the_estimates_are_their_definitions():
    generator = np.random.default_rng(1)
    (validation, correct), (mixture, _) = draw(generator, 100), draw(generator, 80, 1.0)
    found = {
        name: one.value for name, one in estimate_accuracy(validation, correct, mixture).items()
    }
    ours, theirs = validation.probabilities, mixture.probabilities
    right = correct.mean()
    assert found["validation"] == pytest.approx(right)
    assert found["average_confidence"] == pytest.approx(theirs.max(1).mean())
    assert found["difference"] == pytest.approx(right + theirs.max(1).mean() - ours.max(1).mean())
    for name, order in (
        ("atc_probability", lambda p: p.max(1)),
        ("atc_entropy", lambda p: (p * np.log(p)).sum(1)),
    ):
        threshold = np.sort(order(ours))[(~correct).sum()]
        assert found[name] == pytest.approx((order(theirs) >= threshold).mean())
    norms = [np.linalg.norm(one, "nuc") / np.sqrt(4 * len(one)) for one in (ours, theirs)]
    assert found["nuclear_norm"] == pytest.approx(right + norms[1] - norms[0])
    said = mixture.members.argmax(2)
    agree = np.mean([said[i] == said[j] for i, j in combinations(range(3), 2)])
    assert found["agreement"] == pytest.approx(agree)


@pytest.fixture(scope="module")
def mixed():
    """Validation answers, and a mixture of which 40 % are unknown images, less sure than others."""
    generator = np.random.default_rng(3)
    (validation, correct), (known, right) = draw(generator, 2000, 3), draw(generator, 1200, 3)
    unknown, _ = draw(generator, 800, 1.0)
    mixture = Answers(np.vstack([known.probabilities, unknown.probabilities]))
    return Answers(validation.probabilities), correct, mixture, np.r_[right, np.zeros(800, bool)]


def test_unknown_images_make_all_of_them_too_high_and_this_is_said(mixed):
    validation, correct, mixture, right = mixed
    for name, one in estimate_accuracy(validation, correct, mixture).items():
        assert one.value > right.mean() + (0 if name.startswith("atc") else 0.15)
    assert any("unlike the validation images" in one for one in assumptions(*mixed[:3]))


def test_after_rejection_the_share_of_unknown_images_mends_them(mixed):
    validation, correct, mixture, right = mixed
    accepted = [one.probabilities.max(1) >= 0.7 for one in (validation, mixture)]
    truth = right[accepted[1]].mean()
    plain = estimate_accuracy(
        validation.of(accepted[0]), correct[accepted[0]], mixture.of(accepted[1])
    )
    mended = accuracy_of_accepted(validation, correct, mixture, accepted, share=0.4, least=0.2)
    for name, one in mended.items():
        assert one.high >= truth
        if not name.startswith("atc"):  # which has counted the less sure ones as wrong already
            assert abs(one.value - truth) < 0.04 < plain[name].value - truth
    none = accuracy_of_accepted(validation, correct, mixture, accepted, share=1, least=0)
    assert none["validation"].value == 0 and none["validation"].high > 0.8


def test_what_is_wrong_on_the_validation_images_is_said():
    generator = np.random.default_rng(5)
    validation, correct = draw(generator, 1000)
    sure = Answers(
        validation.probabilities**3 / (validation.probabilities**3).sum(1, keepdims=True)
    )
    constant = Answers(np.tile([0.9, 0.1], (100, 1)))
    wide = Answers(np.full((60, 100), 0.01))
    assert any("the mean confidence is" in one for one in assumptions(sure, correct, sure))
    assert any("the agreement is" in one for one in assumptions(validation, correct, validation))
    half = np.arange(100) < 50
    assert sum("Tied values" in one for one in assumptions(constant, half, constant)) == 2
    assert any("fewer images than classes" in one for one in assumptions(wide, half[:60], wide))


fine = Answers(np.full((60, 2), 0.5))


@pytest.mark.parametrize(
    ("validation", "correct", "mixture", "named"),
    [
        (fine, np.ones(60), fine.of(range(49)), "mixture: at least 50 images"),
        (fine, np.ones(59), fine, "correct"),
        (fine, np.ones(60), Answers(np.full((60, 2), np.nan)), "mixture: contains NaN"),
        (Answers(np.empty((0, 2))), [], fine, "validation: empty"),
        (Answers(np.full((60, 2), 3.0)), np.ones(60), fine, "validation"),
        (Answers(np.full((60, 4), 0.25)), np.ones(60), fine, "4 classes expected"),
        (fine, np.ones(60), Answers(fine.probabilities, np.ones((1, 60, 2))), "members"),
    ],
)
def test_bad_input_is_refused(validation, correct, mixture, named):
    for function in (estimate_accuracy, assumptions):
        with pytest.raises(ValueError, match=named):
            function(validation, correct, mixture)


@pytest.mark.parametrize(
    ("accepted", "share", "least", "named"),
    [(60, 0.5, 0.6, "least"), (60, 1.5, 0, "share"), (49, 0.5, 0, "accepted"),
     (0, 0.5, 0, "accepted")],
)  # fmt: skip
def test_what_cannot_be_accepted_is_refused(accepted, share, least, named):
    mask = np.arange(60) < accepted
    with pytest.raises(ValueError, match=named):
        accuracy_of_accepted(fine, np.ones(60), fine, (mask, mask), share=share, least=least)
