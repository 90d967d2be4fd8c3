"""Groups of similar images: all images count, and intervals and guarantees are for groups."""

from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

from known_unknowns.auditing import audit, findings
from known_unknowns.auditing.thresholds import Sample, guarantee_coverage
from known_unknowns.guarantees import (
    clopper_pearson,
    clustered_interval,
    coverage_threshold,
    risk_threshold,
)

RISK = 0.05


def similar(groups, size, share, generator):
    """Return scores, correctness and groups; `share` of the difficulty belongs to the group."""
    which = np.repeat(np.arange(groups), size)
    shared = generator.normal(size=groups)[which]
    hard = np.sqrt(share) * shared + np.sqrt(1 - share) * generator.normal(size=len(which))
    scores = -hard + 0.7 * generator.normal(size=len(which))
    return scores, hard + 0.5 * generator.normal(size=len(which)) < 1.2, which


@pytest.mark.parametrize("share", [0.0, 0.5, 0.95])
def test_a_guarantee_holds_for_groups_and_keeps_more_than_one_image_of_each(share):
    """Groups as independent images break the guarantee in many draws."""
    generator = np.random.default_rng(0)
    scores, correct, _ = similar(100_000, 4, share, generator)
    order = np.argsort(-scores)
    risks = np.cumsum(~correct[order]) / np.arange(1, len(order) + 1)
    ranked = -scores[order]
    broken, kept = np.zeros((2, 2))
    for _ in range(60):
        drawn, right, which = similar(300, 20, share, generator)
        first = np.unique(which, return_index=True)[1]
        for number, rows in enumerate((np.arange(len(drawn)), first)):
            with suppress(ValueError):  # no threshold
                rule = risk_threshold(drawn[rows], right[rows], risk=RISK, groups=which[rows])
                count = np.searchsorted(ranked, -rule.threshold, side="right")
                broken[number] += risks[count - 1] > RISK
                kept[number] += count / len(ranked) / 60
    assert (broken <= 8).all()  # 5 % and three standard deviations
    assert kept[0] > kept[1] + 0.1


def test_copies_are_no_evidence():
    """With twenty copies of each image, the interval is that of single images."""
    generator = np.random.default_rng(0)
    right = generator.random(300) < 0.9
    plain = clopper_pearson(int(right.sum()), 300)
    copies = clustered_interval(np.repeat(right, 20), np.repeat(np.arange(300), 20))
    assert copies == pytest.approx(plain, abs=0.003)
    apart = clustered_interval(np.repeat(right, 20), np.arange(6000))
    assert apart[1] - apart[0] < 0.3 * (plain[1] - plain[0])
    assert clustered_interval(np.ones(600, bool), np.arange(600) // 2) == clopper_pearson(300, 300)
    scores = generator.normal(size=300)
    threshold = coverage_threshold(np.repeat(scores, 7), coverage=0.9, groups=np.arange(2100) // 7)
    assert threshold == coverage_threshold(scores, coverage=0.9)
    with pytest.raises(ValueError, match="at least 60 groups expected"):
        risk_threshold(np.arange(600), np.ones(600, bool), risk=0.05, groups=np.arange(600) // 20)


def test_the_coverage_of_a_new_group_holds_for_groups_of_unequal_sizes():
    """All images of a group have the same score; some groups have many times more images."""
    generator = np.random.default_rng(0)
    kept = []
    for _ in range(400):
        sizes = 1 + generator.lognormal(3, 1, 100).astype(int)
        groups = np.repeat(np.arange(100), sizes)
        scores = generator.random(100)[groups]
        kept.append(1 - coverage_threshold(scores, coverage=0.9, groups=groups))
    assert 0.896 < np.mean(kept) < 0.908


@pytest.mark.parametrize(("single", "large", "size"), [(100, 5, 40), (900, 10, 100)])
def test_errors_of_single_images_do_not_show_how_similar_large_groups_are(single, large, size):
    """Whole groups are wrong.  As independent images, 42 and 64 % of the intervals held."""
    generator = np.random.default_rng(0)
    groups = np.repeat(np.arange(single + large), [1] * single + [size] * large)
    held = broken = 0
    for _ in range(200):
        wrong = (generator.random(single + large) < 0.1)[groups]
        low, high = clustered_interval(wrong, groups)
        held += low <= 0.1 <= high
        with suppress(ValueError):  # no threshold
            risk_threshold(generator.random(len(groups)), ~wrong, risk=0.08, groups=groups)
            broken += 1
    assert held >= 190  # 95 %
    assert broken <= 10  # 5 %


def unequal(rates, generator, images=5, deviation=2.0):
    """Return errors with the rate of each group, whose sizes are lognormal, and the groups."""
    sizes = np.ceil(images * generator.lognormal(0, deviation, len(rates))).astype(int)
    groups = np.repeat(np.arange(len(sizes)), sizes)
    return generator.random(groups.shape) < rates[groups], groups


def test_an_interval_holds_for_groups_of_very_unequal_sizes():
    """With the noise between groups alone, it holds in 91 % of these draws."""
    generator = np.random.default_rng(0)
    intervals = [
        clustered_interval(*unequal(generator.beta(0.05, 0.95, 50), generator, 20, 1.5))
        for _ in range(500)
    ]
    assert sum(low <= 0.05 <= high for low, high in intervals) >= 475


def test_an_interval_and_guarantees_hold_for_errors_of_whole_groups():
    """Without the similarity, 19 % of intervals hold; 58 and 60 % of guarantees fail."""
    generator = np.random.default_rng(0)
    held = broken = fewer = 0
    for _ in range(300):
        low, high = clustered_interval(*unequal(generator.random(400) < 0.02, generator))
        held += low <= 0.02 <= high
        wrong, groups = unequal(generator.random(400) < 1.02 * RISK, generator)
        with suppress(ValueError):  # no threshold
            risk_threshold(generator.random(wrong.shape), ~wrong, risk=RISK, groups=groups)
            broken += 1
        scores = generator.random(400)[groups]
        coverage = guarantee_coverage(Sample(scores, ~wrong, groups=groups), 0.8)
        fewer += 1 - coverage.value < coverage.conditional
    assert held >= 285  # 95 %
    assert max(broken, fewer) <= 15  # 5 %


def test_all_images_of_a_group_are_in_the_same_half_and_count(inputs):
    groups = np.arange(300) // 3
    audited = audit(replace(inputs, groups=groups), risk=0.2, replicates=5)
    assert len(audited.inputs.validation) == 300
    assert not {*groups[audited.choosing]} & {*groups[audited.held_out]}
    assert audited.accuracy[0] == inputs.validation.correct.mean()
    assert audited.sentences("right")[0].endswith("was not trained on, in 100 groups.")
    independent = groups[audited.measuring[audited.independent]]
    assert len(np.unique(independent)) == len(independent) == 50
    assert len(audited.rejector.known) == 50  # `watch` counts them as independent
    assert findings.facts(audited)["largest_coverage"] == 99.0  # 100 / 101
    limits = audited.sentences("limits")
    assert any("100 independent groups" in text for text in limits)
    assert not any("are worth" in text for text in limits)
    one_large = np.minimum(np.arange(300), 99)
    warned = audit(replace(inputs, groups=one_large), risk=0.2, replicates=5).sentences("limits")
    assert any("100 groups are worth 2 groups of one size" in text for text in warned)
    largest = audit(replace(inputs, groups=one_large), target="coverage", replicates=5)
    assert "target coverage" in largest.sentences("rejector")[0]
    alone = audit(inputs, risk=0.2, replicates=5)
    assert any("frames of one video" in text for text in alone.sentences("limits"))
