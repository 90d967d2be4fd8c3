"""Sets of classes: by hand, and the promised coverage by simulation, on both sides."""

import numpy as np
import pytest
from scipy.stats import beta

from helpers.metrics.guarantees import conditional_coverage, coverage_threshold
from helpers.metrics.prediction_sets import (
    PENALTIES,
    choose_penalty,
    class_masses,
    prediction_sets,
    set_rule,
)

CLASSES = 6


def world(generator, n, *, sharp=0.4, tilt=1.0):
    """Return probabilities and labels; with `tilt` above 1 the model is too sure."""
    true = generator.dirichlet(np.full(CLASSES, sharp), size=n)
    labels = (generator.random(n)[:, None] > true.cumsum(axis=1)[:, :-1]).sum(axis=1)
    told = true**tilt + 1e-12
    return told / told.sum(axis=1, keepdims=True), labels


def test_masses_by_hand():
    """Penalties begin behind the free classes; equal probabilities in the order of the classes."""
    row = [[0.1, 0.4, 0.2, 0.3]]
    assert class_masses(row)[0] == pytest.approx([0.9, 0, 0.7, 0.4])
    assert class_masses(row, penalty=1, free=1)[0] == pytest.approx([2.9, 0, 1.7, 0.4])
    assert class_masses(row, penalty=1, free=3)[0] == pytest.approx([0.9, 0, 0.7, 0.4])
    assert class_masses([[0.5, 0.5]])[0] == pytest.approx([0, 0.5])


def test_a_rule_by_hand():
    """Of nine images, eight with nothing before the true class: 80 % take one class each."""
    probabilities = np.tile([0.6, 0.3, 0.1], (9, 1))
    labels = np.array([0] * 8 + [2])
    one, all_ = (set_rule(probabilities, labels, coverage=c) for c in (0.8, 0.9))
    assert one.most == 0 and all_.most == pytest.approx(0.9)
    assert prediction_sets(probabilities[:1], one).tolist() == [[True, False, False]]
    assert prediction_sets(probabilities[:1], all_).all()


@pytest.mark.parametrize("coverage", [0.8, 0.9])
@pytest.mark.parametrize("tilt", [0.5, 2.0])
@pytest.mark.parametrize("penalty", [0.0, 0.1])
def test_the_coverage_is_what_was_promised(penalty, tilt, coverage):
    """Over 600 draws of 59 images, of a model that is too sure or too unsure; on both sides."""
    generator, draws, images = np.random.default_rng(1), 600, 59
    kept = []
    for _ in range(draws):
        probabilities, labels = world(generator, images + 5, tilt=tilt)
        rule = set_rule(
            probabilities[:images], labels[:images], coverage=coverage, penalty=penalty, free=2
        )
        named = prediction_sets(probabilities[images:], rule)
        kept += named[np.arange(5), labels[images:]].tolist()
        assert named.any(axis=1).all()
    # five images of one draw share its rule
    spread = 3.5 * np.sqrt(coverage * (1 - coverage) * (1 / (5 * draws) + 1 / (images * draws)))
    assert coverage - spread <= np.mean(kept) <= coverage + 1 / (images + 1) + spread


def test_a_rule_of_other_images_breaks_the_promise():
    """The simulation above can fail: calibrated where the model is right, used where it is not."""
    generator = np.random.default_rng(2)
    easy, hard = (world(generator, 1000, sharp=sharp) for sharp in (0.02, 1.0))
    rule = set_rule(*easy, coverage=0.9)
    assert prediction_sets(hard[0], rule)[np.arange(1000), hard[1]].mean() < 0.8


def test_what_one_draw_promises_holds_in_as_many_draws_as_it_says():
    """The true coverage of a threshold on uniform scores is known: nine of ten draws reach it."""
    generator, draws, images = np.random.default_rng(3), 4000, 50
    least = conditional_coverage(images, coverage=0.8, confidence=0.9)
    scores = generator.random((draws, images))
    true = np.array([1 - coverage_threshold(row, coverage=0.8) for row in scores])
    assert abs((true >= least).mean() - 0.9) < 3.5 * np.sqrt(0.09 / draws)
    assert (true >= 0.8).mean() < 0.7  # the average promises less of a single draw
    assert least == pytest.approx(beta(images + 1 - 10, 10).ppf(0.1))


def test_a_penalty_makes_sets_smaller_and_leaves_the_coverage():
    """Chosen on other images; a model that is too sure here and knows nothing there needs one."""
    generator, n = np.random.default_rng(4), 4000
    told = generator.dirichlet(np.full(100, 50.0), size=n)
    sure = generator.random(n) < 0.5
    told[sure, 0] += generator.uniform(20, 40, size=sure.sum())
    told /= told.sum(axis=1, keepdims=True)
    ranked = np.argsort(-told, axis=1)
    labels = ranked[np.arange(n), (generator.random(n) < np.where(sure, 0.25, 0.5)).astype(int)]
    first, second, third = np.array_split(np.arange(n), 3)
    penalty, free = choose_penalty(told[first], labels[first], coverage=0.9)
    assert penalty in PENALTIES[1:] and free == 2
    sizes = []
    for one in (0.0, penalty):
        rule = set_rule(told[second], labels[second], coverage=0.9, penalty=one, free=free)
        named = prediction_sets(told[third], rule)
        assert 0.86 < named[np.arange(len(third)), labels[third]].mean() < 0.97
        sizes.append(named.sum(axis=1).mean())
    assert sizes[1] < 0.2 * sizes[0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"penalty": -1.0}, "penalty: a number, at least 0"),
        ({"free": 0}, "free: at least 1 class"),
        ({"coverage": 1.0}, "coverage: between 0 and 1"),
        ({"coverage": 0.99}, "at least 99 images expected"),
    ],
)
def test_what_cannot_be_is_refused(change, message):
    probabilities, labels = world(np.random.default_rng(0), 20)
    with pytest.raises(ValueError, match=message):
        set_rule(probabilities, labels, **{"coverage": 0.9} | change)
