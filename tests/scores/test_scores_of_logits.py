"""Scores that read the logits alone: max_logit, energy, entropy, gap, gen, kl_matching."""

import numpy as np
import pytest
import scipy.stats

import helpers.scores
from helpers.outputs import Outputs


def outputs(logits):
    logits = np.asarray(logits, float)
    return Outputs(logits, np.zeros((len(logits), 1)), np.full(len(logits), -1))


def scores(name, logits, **arguments):
    return helpers.scores.create(name, **arguments).score_samples(outputs(logits))


EIGHTHS = np.log([[4, 2, 1, 1], [1, 1, 1, 1], [1, 1, 6, 0.5]])  # the last one of no round sum


def test_entropy_by_hand():
    """Halves, quarters, eighths: 1/2 + 2/4 + 3/8 + 3/8 bits; uniform: 2 bits; certain: none."""
    assert scores("entropy", EIGHTHS[:2]) == pytest.approx(-np.log(2) * np.array([1.75, 2]))
    assert scores("entropy", [[0, -2000, -2000]]).tolist() == [0]


def test_gap_by_hand():
    """1/2 − 1/4, none, 6/8.5 − 1/8.5."""
    assert scores("gap", EIGHTHS) == pytest.approx([0.25, 0, 5 / 8.5], abs=1e-7)
    with pytest.raises(ValueError, match="at least 2 classes expected, got 1"):
        scores("gap", [[1.0]])


def test_members_are_averaged_first():
    """Two members that are certain of different classes: the entropy of (1/2, 1/2), no gap."""
    members = np.array([[[1.0, 0.0]], [[0.0, 1.0]]])
    test = Outputs(np.zeros((1, 2)), np.zeros((1, 1)), np.array([-1]), members=members)
    for name, expected in (("entropy", -np.log(2)), ("gap", 0), ("gen", -2 * 0.25**0.1)):
        assert helpers.scores.create(name).score_samples(test) == pytest.approx([expected])


def test_gen_by_hand():
    """The two largest of (1/2, 1/4, 1/8, 1/8), with an exponent of 1: 1/4 + 3/16."""
    assert scores("gen", EIGHTHS[:1], gamma=1, top=2) == pytest.approx([-0.4375])
    p = np.array([4, 2, 1, 1]) / 8
    assert scores("gen", EIGHTHS[:1]) == pytest.approx([-((p * (1 - p)) ** 0.1).sum()])


def test_gen_keeps_the_digits_of_a_probability_near_one():
    """1 − p = 2 exp(−40) here, which is 0 once p is rounded to 1."""
    small = np.exp(-40)
    expected = -(np.sqrt(2 * small) + 2 * np.sqrt(small))
    assert scores("gen", [[0, -40, -40]], gamma=0.5) == pytest.approx([expected], rel=1e-9)


def test_kl_matching_is_the_smallest_divergence_from_means_by_prediction():
    """Against loops over images and classes; class 3 is never predicted and has no template."""
    generator = np.random.default_rng(0)
    train, test = generator.normal(size=(300, 5)) * 3, generator.normal(size=(20, 5)) * 3
    train[:, 3] = -20
    score = helpers.scores.create("kl_matching").fit(outputs(train), None)
    p = outputs(train).probabilities
    templates = [p[p.argmax(axis=1) == k].mean(axis=0) for k in (0, 1, 2, 4)]
    expected = [
        -min(scipy.stats.entropy(row, template) for template in templates)
        for row in outputs(test).probabilities
    ]
    assert score.score_samples(outputs(test)) == pytest.approx(expected)


def test_kl_matching_stays_finite_where_probabilities_underflow():
    """A template of (1, 0) and the images (1, 0) and (0, 1)."""
    score = helpers.scores.create("kl_matching").fit(outputs([[0, -3000]]), None)
    found = score.score_samples(outputs([[0, -3000], [-3000, 0]]))
    assert found == pytest.approx([0, np.log(np.finfo(float).tiny)])
