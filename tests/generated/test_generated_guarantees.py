"""Guarantees and shares keep their properties for any images."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.stats import binom

from known_unknowns.guarantees import clopper_pearson, images_needed, risk_threshold, smallest_risk

SEED = st.integers(0, 2**32 - 1)


@given(st.integers(1, 2000), st.data(), st.floats(0.01, 0.99))
def test_each_end_of_the_exact_interval_leaves_its_half(total, data, confidence):
    successes = data.draw(st.integers(0, total))
    low, high = clopper_pearson(successes, total, confidence=confidence)
    assert 0 <= low <= successes / total <= high <= 1
    half = (1 - confidence) / 2
    if successes:
        assert binom.sf(successes - 1, total, low) == pytest.approx(half, rel=1e-6)
    if successes < total:
        assert binom.cdf(successes, total, high) == pytest.approx(half, rel=1e-6)


@given(st.floats(0.01, 0.9), st.floats(0.05, 0.99))
@example(0.5, 0.5)
def test_the_needed_number_of_images_is_the_smallest_that_suffices(risk, confidence):
    needed = images_needed(risk, confidence)
    target = {"risk": risk, "confidence": confidence}
    assert (1 - risk) ** (needed - 1) <= 1 - confidence + 1e-9
    rule = risk_threshold(np.arange(needed), np.ones(needed), **target)
    assert rule[:2] == (0, 1)
    assert rule.bound <= risk + 1e-7
    if needed > 1:
        with pytest.raises(ValueError, match=f"^scores: at least {needed} .* got {needed - 1};"):
            risk_threshold(np.zeros(needed - 1), np.ones(needed - 1), **target)


TARGET = st.fixed_dictionaries({"risk": st.floats(0.02, 0.6), "confidence": st.floats(0.5, 0.99)})


@given(SEED, st.integers(1, 400), TARGET, st.integers(0, 3))
def test_a_threshold_has_the_coverage_and_risk_of_its_images(seed, images, target, digits):
    generator = np.random.default_rng(seed)
    scores = generator.random(images).round(digits)
    correct = generator.random(images) < scores
    risk = target["risk"]
    try:
        chosen = risk_threshold(scores, correct, **target)
    except ValueError as error:
        assert str(error).startswith(("scores: at least", "risk: no threshold"))
        larger = smallest_risk(scores, correct, **target)
        assert larger is None or risk < larger[0] < 1
        return
    accepted = scores >= chosen.threshold
    assert chosen.threshold in scores
    assert chosen.coverage == accepted.mean()
    assert (~correct[accepted]).mean() <= chosen.bound <= risk + 1e-7
    order = generator.permutation(images)
    assert risk_threshold(scores[order], correct[order], **target) == chosen
    doubled = risk_threshold(2 * scores + 1, correct, **target)
    assert doubled.coverage == chosen.coverage  # a change of units changes nothing
