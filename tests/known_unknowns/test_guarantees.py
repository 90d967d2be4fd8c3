"""Guarantees hold: over many draws of the calibration images, and in cases done by hand."""

import numpy as np
import pytest
from scipy.stats import binom

from known_unknowns import guarantees
from known_unknowns.guarantees import (
    average_threshold,
    clopper_pearson,
    coverage_threshold,
    risk_threshold,
    smallest_risk,
)

# The probability that an image with a score in [0, 1] is classified wrongly.
WORLDS = {
    "honest": lambda s: 0.5 * (1 - s),
    "surely wrong at the top": lambda s: np.where(s > 0.97, 0.9, 0.2 * (1 - s)),
    "in waves": lambda s: np.where(np.floor(s * 12) % 2 == 0, 0.25, 0.01),
    "in few values": lambda s: 0.5 * (1 - s),
}


def drawn(world, count, generator):
    """Return scores and correctness; "in few values" has eleven, all others no ties."""
    scores = generator.random(count)
    if world == "in few values":
        scores = scores.round(1)
    return scores, generator.random(count) >= WORLDS[world](scores)


def true_risk(world, threshold):
    """Return the selective risk, from the law itself."""
    if world == "in few values":
        scores = np.arange(round(10 * threshold), 11) / 10
        return np.average(WORLDS[world](scores), weights=np.where(scores % 1 == 0, 0.5, 1.0))
    return WORLDS[world](np.linspace(threshold, 1, 2001)).mean()


def ask(scores, correct):
    """Return the threshold of a risk of 12 %, kept 80 times of 100; NaN if there is none."""
    try:
        return risk_threshold(scores, correct, risk=0.12, confidence=0.8).threshold
    except ValueError:
        return np.nan


@pytest.mark.parametrize("world", WORLDS)
def test_the_risk_is_kept_with_the_stated_confidence(world):
    """In 400 draws, up to what chance allows; the plug-in threshold fails in most of them."""
    generator = np.random.default_rng(0)
    failures = thresholds = plug_in = 0
    for _ in range(400):
        scores, correct = drawn(world, 500, generator)
        order = np.argsort(-scores)
        low_enough = np.flatnonzero(np.cumsum(~correct[order]) <= 0.12 * np.arange(1, 501))
        plug_in += true_risk(world, scores[order][low_enough[-1:]].min(initial=2)) > 0.12
        threshold = ask(scores, correct)
        if not np.isnan(threshold):
            thresholds += 1
            failures += true_risk(world, threshold) > 0.12
    assert failures <= binom.ppf(0.999, 400, 0.2)
    if world != "surely wrong at the top":
        assert thresholds > 300
        assert plug_in > binom.ppf(0.999, 400, 0.2)


def test_the_guarantee_is_broken_almost_as_often_as_allowed():
    """Every threshold is just too risky, and there is one walk: near the 20 % of all draws."""
    draws = np.random.default_rng(4).random((2000, 30)) >= 0.121
    failures = np.isfinite([ask(-np.arange(30), correct) for correct in draws]).sum()
    assert binom.ppf(0.001, 2000, 0.14) <= failures <= binom.ppf(0.999, 2000, 0.2)


def test_little_coverage_is_given_away():
    """With 20,000 images, the coverage is at most a tenth below the best coverage."""
    rule = risk_threshold(*drawn("honest", 20_000, np.random.default_rng(1)), risk=0.1)
    assert true_risk("honest", rule.threshold) <= 0.1
    assert 0.36 < rule.coverage < 0.4  # the risk is (1 - t) / 4


def test_risk_by_hand():
    """60 right, then every fourth wrong: the walk ends where Bin(m, 0.05) ≤ e gets likely."""
    correct = np.ones(100, bool)
    correct[60::4] = False
    rule = risk_threshold(-np.arange(100), correct, risk=0.05, confidence=0.9)
    errors = np.cumsum(~correct)
    accepted = next(m - 1 for m in range(45, 101) if binom.cdf(errors[m - 1], m, 0.05) > 0.1)
    wrong = errors[accepted - 1]
    upper = clopper_pearson(wrong, accepted, confidence=0.8)[1]
    assert rule == pytest.approx((1 - accepted, accepted / 100, upper))
    assert upper <= 0.05


# Of 20 images, walks start at ranks 3 and 6, each with a level of 1/8.
STARTS = {
    # P(Bin(5, 1/2) <= 1) = 6/32 ends the first walk: (1 - bound) ** 4 = 1/8
    4: (17.0, 0.2, 1 - 0.125**0.25),
    # the first walk reaches the second start, so 2/8: P(Bin(8, 1/2) <= 2) = 37/256 still passes,
    # and P(Bin(8, bound) <= 2) = 1/4
    6: (13.0, 0.4, 0.433205),
}


@pytest.mark.parametrize(("right", "expected"), STARTS.items())
def test_several_starts_by_hand(right, expected):
    """The most confident images are right, all others wrong; the bound has the walk's level."""
    correct = np.arange(20, 0, -1) > 20 - right
    rule = risk_threshold(np.arange(20, 0, -1), correct, risk=0.5, confidence=0.75)
    assert rule == pytest.approx(expected, abs=1e-5)
    if right == 6:
        assert binom.cdf(2, 8, rule.bound) == pytest.approx(0.25)


def test_early_errors_and_a_constant_score():
    """A later walk survives an early error; a constant score accepts all images or none."""
    correct = np.ones(2000, bool)
    correct[[3, 1500, 1600]] = False
    assert risk_threshold(-np.arange(2000), correct, risk=0.05).coverage == 1
    correct = np.arange(1000) % 50 > 0
    assert risk_threshold(np.zeros(1000), correct, risk=0.1)[:2] == (0, 1)
    with pytest.raises(ValueError, match=r"^risk: no threshold .* a larger risk"):
        risk_threshold(np.zeros(1000), correct, risk=0.015)


def test_a_risk_that_the_images_choose_is_kept_with_the_whole_confidence():
    """And the risk on average is kept on average; the risk above t is 0.2 (1 - t)."""
    generator = np.random.default_rng(0)
    broken = []
    realised = []
    for _ in range(1000):
        scores = generator.random(100)
        correct = generator.random(100) >= 0.4 * (1 - scores)
        with pytest.raises(ValueError, match=r"^(risk: no threshold|scores)"):
            risk_threshold(scores, correct, risk=0.02)
        smallest = smallest_risk(scores, correct, risk=0.02)
        if smallest:
            larger, rule = smallest
            broken.append(0.2 * (1 - rule.threshold) > larger)
        average = average_threshold(scores, correct, risk=0.05)
        realised.append(0 if average is None else 0.2 * (1 - average))
    assert len(broken) > 800
    assert np.mean(broken) <= 0.05
    assert 0.02 < np.mean(realised) <= 0.05
    assert smallest_risk(scores, np.zeros(100), risk=0.05) is None
    assert average_threshold(scores, np.zeros(100), risk=0.05) is None


@pytest.mark.parametrize("decimals", [15, 1])
@pytest.mark.parametrize("coverage", [0.5, 0.9, 0.95])
def test_the_coverage_is_kept_on_average(coverage, decimals):
    """Over 2,000 draws of 30 images; without ties also by no more than one rank."""
    scores = np.random.default_rng(3).random((2000, 31)).round(decimals)
    kept = [row[-1] >= coverage_threshold(row[:-1], coverage=coverage) for row in scores]
    deviation = 3.3 * np.sqrt(coverage * (1 - coverage) / 2000)
    assert np.mean(kept) >= coverage - deviation
    if decimals == 15:
        assert np.mean(kept) <= coverage + 1 / 31 + deviation


@pytest.mark.parametrize(("coverage", "needed"), [(0.9, 9), (0.95, 19), (0.99, 99)])
def test_coverage_by_hand(coverage, needed):
    """The smallest score of the fewest images that suffice; one less is refused."""
    scores = np.random.default_rng(0).permutation(needed)
    assert coverage_threshold(scores, coverage=coverage) == 0
    with pytest.raises(ValueError, match=f"^scores: at least {needed} independent images"):
        coverage_threshold(scores[1:], coverage=coverage)


def similarity(wrong, groups):
    """Return 1 minus the variance within groups of several images, divided by the whole one."""
    several = np.flatnonzero(np.bincount(groups) > 1)
    parts = [wrong[groups == group] for group in several]
    images = np.concatenate(parts or [[0]])
    within = sum(len(part) * part.var(ddof=1) for part in parts) / len(images)
    return max(0, 1 - within / images.var()) if images.var() else 0


def test_p_values_of_groups_by_definition():
    """At each rank, images count as often as the similarity within groups allows."""
    generator = np.random.default_rng(1)
    groups = generator.permutation(48) % 12
    wrong = generator.random(48) < 0.6 * generator.random(12)[groups]
    whole = similarity(wrong, groups)
    for rank, p_value in enumerate(guarantees._p_values(wrong, groups, 0.4), 1):
        rho = max(whole, similarity(wrong[:rank], groups[:rank]))
        size = np.square(np.bincount(groups[:rank])).sum() / rank
        images = rank / (1 + (size - 1) * rho)
        events = wrong[:rank].mean() * images
        assert p_value == pytest.approx(guarantees._binomial(events, images, 0.4))
    assert guarantees._binomial(2, 10, 0.3) == pytest.approx(binom.cdf(2, 10, 0.3))


def test_copies_do_not_change_the_average_threshold():
    """Without copies, 1 + 3 are at most 5 % of 83."""
    scores = np.arange(100).repeat(5)
    assert average_threshold(scores, scores >= 20, risk=0.05, groups=scores) == 17
