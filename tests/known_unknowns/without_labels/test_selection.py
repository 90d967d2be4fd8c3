import numpy as np
import pytest
from scipy.stats import false_discovery_control

from known_unknowns.guarantees import coverage_threshold
from known_unknowns.without_labels import conformal_p_values, selection_outcome, suspected_unknown


def draw(generator, share=0.3, known=500, images=400, shift=3):
    unknown = generator.random(images) < share
    return generator.normal(size=known), generator.normal(size=images) - shift * unknown, unknown


def test_p_values_are_those_of_the_coverage_threshold():
    validation, mixture, _ = draw(np.random.default_rng(0))
    threshold = coverage_threshold(validation, coverage=0.95)
    assert np.array_equal(conformal_p_values(validation, mixture) > 0.05, mixture >= threshold)


def test_the_list_is_that_of_benjamini_and_hochberg():
    validation, mixture, _ = draw(np.random.default_rng(2))
    found = suspected_unknown(validation, mixture, rate=0.2)
    adjusted = false_discovery_control(found.p_values)
    assert np.array_equal(found.chosen, adjusted <= 0.2) and 0 < found.chosen.sum() < 400


@pytest.mark.parametrize("adaptive", [False, True])
def test_the_rate_is_kept_and_not_wasted(adaptive):
    generator, outcomes = np.random.default_rng(3), []
    for _ in range(200):
        validation, mixture, unknown = draw(generator, share=0.4)
        chosen = suspected_unknown(validation, mixture, rate=0.2, adaptive=adaptive).chosen
        outcomes.append(selection_outcome(chosen, unknown))
    rate, power = np.mean(outcomes, axis=0)
    # Benjamini and Hochberg's is at 0.6 times what was asked for, Storey's near it
    assert 0.8 * (0.2 if adaptive else 0.12) < rate <= 0.2 and power > 0.8
    assert rate > 0.15 or not adaptive


@pytest.mark.parametrize("adaptive", [False, True])
def test_fewer_than_the_fewest_are_never_listed_and_as_many_are(adaptive):
    known = np.arange(99.0)
    for count, listed in ((9, False), (10, True)):  # 1 / 100 of 100 images, at 0.1
        mixture = np.r_[np.full(100 - count, 200.0), np.full(count, -1.0)]
        found = suspected_unknown(known, mixture, rate=0.1, adaptive=adaptive)
        assert found.fewest == 10 and found.chosen.any() == listed


@pytest.mark.parametrize(
    ("validation", "mixture", "rate", "named"),
    [([], [1.0], 0.1, "validation: empty"), ([1.0], [np.nan], 0.1, "mixture: contains NaN"),
     ([1.0], [], 0.1, "mixture: empty"), ([1.0], [1.0], 0, "rate"), ([1.0], [1.0], 10, "rate")],
)  # fmt: skip
def test_bad_input_is_refused(validation, mixture, rate, named):
    with pytest.raises(ValueError, match=named):
        suspected_unknown(validation, mixture, rate=rate)
