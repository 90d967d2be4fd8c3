"""Predictions without labels are near the truth, and say when they are not to be used."""

import numpy as np
import pytest

from helpers.labelfree import fit_regression
from helpers.metrics import auroc
from known_unknowns.auditing.prediction import _left_out_skill, predict


@pytest.fixture
def groups():
    """ID scores, and sets of unknown images from hard to easy."""
    generator = np.random.default_rng(0)
    sets = {f"set {i}": generator.normal(-0.25 * i, 1, 300) for i in range(12)}
    return generator.normal(0, 1, 400), generator.normal(0, 1, 400), sets


def test_the_prediction_is_near_the_truth(groups):
    """For a mixture like those that the line has learnt from."""
    validation, known, sets = groups
    generator = np.random.default_rng(1)
    pair = generator.normal(0, 1, 300), generator.normal(-1.4, 1, 300)
    found = predict(validation, known, sets, np.concatenate(pair))
    value, low, high = found.values["auroc"]
    assert abs(value - auroc(*pair)) < 0.1 and low <= value <= high
    assert found.not_for.startswith("Do not use this where unknown images are of a kind")
    assert found.correlations["auroc"] > 0.7 > -0.7 > found.correlations["fpr95"]
    assert found.sets == 12 and found.images == 600
    by, *curve = found.told["auroc"]
    assert by == "a regression on the P–P curve" and curve[1] <= auroc(*pair) <= curve[2]
    least, most = found.estimates["prior_corrected"]["auroc"][1:]
    assert least <= auroc(*pair) <= most
    assert not any("guessing" in one for one in found.limits)


def test_few_sets_give_no_interval_and_fewer_no_line(groups):
    validation, known, sets = groups
    few = {name: sets[name] for name in list(sets)[:5]}
    found = predict(validation, known, few, known - 1)
    assert np.isnan(found.values["auroc"][1]) and "at least nine sets" in found.limits[-1]
    fewer = {name: sets[name] for name in list(sets)[:2]}
    found = predict(validation, known, fewer, known - 1)
    assert found.values == {} and "No prediction" in found.limits[0] and found.gscore > 0
    assert found.not_for.startswith("Do not use the value without its interval")
    assert found.told["fpr95"][0] == "the prior-corrected ROC at an estimated share"
    short = predict(validation, known, few, known[:30] - 1)
    assert short.told["fpr95"][0] == "the Gscore's line" and short.estimates == {}


def test_fewer_than_fifty_images_have_no_interval(groups):
    """Which the line, whose mixtures are larger, would draw too narrow."""
    validation, known, sets = groups
    few, enough = (predict(validation, known, sets, known[:n] - 1) for n in (49, 50))
    for metric in ("auroc", "fpr95"):
        assert np.isnan(few.values[metric][1:]).all() and few.told[metric][0] == "the Gscore's line"
        assert not np.isnan(enough.values[metric]).any()
    assert "49 images say too little" in few.limits[-1] and "too little" not in enough.limits[-1]


def test_a_line_that_is_no_better_than_guessing_is_called_so():
    """By what it misses of sets that are left out in turn."""
    generator = np.random.default_rng(3)
    x, noise = np.arange(20.0), generator.normal(size=20)
    for slope, said in ((0.0, False), (0.03, True)):
        truths = 0.3 + slope * x + 0.02 * noise
        line = fit_regression(x[:, None], truths, [0.5])
        assert (_left_out_skill(line, truths) == "better than guessing") == said


def test_one_unlabelled_image_is_refused(groups):
    with pytest.raises(ValueError, match="at least 2 images"):
        predict(*groups, np.ones(1))
