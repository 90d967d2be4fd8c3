import numpy as np
import pytest

from helpers.labelfree import choose_to_label, labelled_accuracy, labelled_risk
from known_unknowns.guarantees import clopper_pearson


def draw(generator, images=2000, unknown=0.0, sure=2.0):
    """Confidences, and whether answers are right: calibrated but for the unknown images."""
    confidence = generator.beta(sure, 0.6, images)
    right = (generator.random(images) < confidence) & (generator.random(images) >= unknown)
    return confidence, right


@pytest.mark.parametrize(("unknown", "sure"), [(0, 2.0), (0.3, 2.0), (0, 60.0)])
def test_intervals_cover_as_often_as_they_say(unknown, sure):
    """Also with a share of unknown images among the surest, and with hardly an error at all."""
    generator, covered = np.random.default_rng(0), []
    for seed in range(120):
        confidence, right = draw(generator, 1500, unknown, sure)
        accepted = confidence > 0.8
        plan = choose_to_label(confidence, 120, seed=seed)
        labels = right[plan.places]
        for found, truth in (
            (labelled_accuracy(plan, confidence, labels, level=0.8), right.mean()),
            (
                labelled_risk(plan, confidence, labels, accepted, level=0.8),
                1 - right[accepted].mean(),
            ),
        ):
            covered.append(found.low <= truth <= found.high)
    rate = np.mean(covered)
    assert 0.78 <= rate <= (0.92 if sure == 2 else 1)


def test_it_is_unbiased_and_takes_fewer_labels_than_drawing_at_random():
    generator, errors, equivalent, budget = np.random.default_rng(1), [], [], 150
    for seed in range(200):
        confidence, right = draw(generator)
        plan = choose_to_label(confidence, budget, seed=seed)
        found = labelled_accuracy(plan, confidence, right[plan.places])
        at_random = right[generator.permutation(len(right))[:budget]].mean()
        errors.append([found.value - right.mean(), at_random - right.mean()])
        equivalent.append(found.equivalent)
    chosen, plain = np.var(errors, axis=0)
    assert abs(np.mean(errors, axis=0)[0]) < 0.005
    assert chosen < 0.8 * plain
    # variances of 200 draws are known to within a tenth
    assert np.mean(equivalent) / budget == pytest.approx(plain / chosen, rel=0.35)


def test_wrong_confidences_cost_little():
    """Nothing rests on them: with confidences that are chance it is a sample like any."""
    generator, errors = np.random.default_rng(2), []
    for seed in range(200):
        _, right = draw(generator, 1000)
        chance = generator.random(1000)
        plan = choose_to_label(chance, 100, seed=seed)
        at_random = right[generator.permutation(1000)[:100]].mean()
        errors.append([labelled_accuracy(plan, chance, right[plan.places]).value, at_random])
        errors[-1] -= right.mean()
    chosen, plain = np.mean(np.square(errors), axis=0)
    assert chosen < 1.4 * plain


def test_labels_are_drawn_where_most_is_undecided_and_as_many_as_there_are():
    confidence = np.r_[np.full(500, 0.5), np.full(500, 1.0)]
    plan = choose_to_label(confidence, 100)
    counts = np.bincount(plan.strata[plan.places])
    assert counts.sum() == 100 == len(set(plan.places)) and counts[0] > 1.5 * counts[-1] > 0
    for budget in (10, 39, 200, 997, 1000):
        plan = choose_to_label(confidence, budget)
        assert (
            len(set(plan.places)) == budget and (np.bincount(plan.strata[plan.places]) >= 2).all()
        )
    same = choose_to_label(confidence, 50, seed=3)
    assert np.array_equal(same.places, choose_to_label(confidence, 50, seed=3).places)
    assert not np.array_equal(same.places, choose_to_label(confidence, 50, seed=4).places)


def test_all_labels_leave_nothing_open():
    confidence, right = draw(np.random.default_rng(3), 100)
    plan = choose_to_label(confidence, 100)
    found = labelled_accuracy(plan, confidence, right[plan.places])
    assert found == pytest.approx((right.mean(),) * 3 + (100,))
    accepted = confidence > 0.7
    risk = labelled_risk(plan, confidence, right[plan.places], accepted)
    assert risk.value == risk.low == pytest.approx(1 - right[accepted].mean())


def test_without_an_error_the_interval_is_that_of_clopper_and_pearson_or_wider():
    for confidence in (np.ones(5000), np.linspace(0.9, 1, 5000)):
        plan = choose_to_label(confidence, 30)
        found = labelled_accuracy(plan, confidence, np.ones(30))
        assert found.high == 1 and found.low <= clopper_pearson(30, 30).low + 0.02


def test_it_is_the_formula():
    confidence, right = draw(np.random.default_rng(4), 400)
    plan = choose_to_label(confidence, 60)
    labels, said, strata = right[plan.places], confidence[plan.places], plan.strata[plan.places]

    def estimate(ratio):
        parts = [
            (plan.strata == h).mean() * (labels - ratio * said)[strata == h].mean()
            for h in range(3)
        ]
        return ratio * confidence.mean() + sum(parts)

    found = labelled_accuracy(plan, confidence, labels).value
    assert min(estimate(0), estimate(1)) <= found <= max(estimate(0), estimate(1))


@pytest.mark.parametrize(
    ("confidence", "budget", "named"),
    [([], 10, "confidence: empty"), ([np.nan] * 60, 10, "NaN"), ([2.0] * 60, 10, "confidence"),
     ([0.5] * 60, 9, "budget"), ([0.5] * 60, 61, "budget")],
)  # fmt: skip
def test_bad_input_is_refused(confidence, budget, named):
    with pytest.raises(ValueError, match=named):
        choose_to_label(confidence, budget)


def test_labels_belong_to_the_plan():
    confidence = np.linspace(0.5, 1, 60)
    plan = choose_to_label(confidence, 20)
    for arguments, named in (
        ((confidence[1:], np.ones(20)), "confidence"),
        ((confidence, np.ones(19)), "correct"),
        ((confidence, np.full(20, 2)), "correct"),
    ):
        with pytest.raises(ValueError, match=named):
            labelled_accuracy(plan, *arguments)
    with pytest.raises(ValueError, match="no labelled image"):
        labelled_risk(plan, confidence, np.ones(20), np.zeros(60, bool))
    with pytest.raises(ValueError, match="level"):
        labelled_accuracy(plan, confidence, np.ones(20), level=95)
