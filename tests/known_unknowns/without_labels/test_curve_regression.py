import numpy as np
import pytest

from helpers.metrics import auroc
from known_unknowns.without_labels import (
    curve_features,
    fit_constant,
    fit_curve_regression,
    fit_gscore_line,
)
from known_unknowns.without_labels import curve_regression as module


def test_the_curve_is_its_definition():
    generator = np.random.default_rng(0)
    validation, scores = generator.normal(size=2399), generator.normal(-1, 1, 500)
    found = curve_features(validation, scores)
    quantiles = np.sort(validation)[99::100][:23]  # 100 of 2,400 gaps below the first
    expected = [(scores < one).mean() for one in quantiles]
    assert found[:23] == pytest.approx(expected, abs=0.005)
    assert found[23] == pytest.approx(auroc(validation, scores))


def test_leaving_out_a_set_is_fitting_without_it():
    generator = np.random.default_rng(2)
    curves, truths, sets = generator.normal(size=(12, 24)), generator.uniform(size=12), 4
    kernel = module._kernel(curves, curves)
    weights, misses = module._ridge(*np.linalg.eigh(kernel), truths, sets)
    errors = {}
    for penalty in module._PENALTIES:
        missed = []
        for left_out in range(sets):
            kept = np.arange(12) // 3 != left_out
            own = kernel[np.ix_(kept, kept)] + penalty * np.eye(9)
            alpha = np.linalg.solve(own, truths[kept])
            missed.append((truths - kernel[:, kept] @ alpha)[~kept])
        errors[penalty] = np.ravel(missed)
    best = min(errors.values(), key=lambda one: (one**2).sum())
    assert misses == pytest.approx(best, abs=1e-8)
    said = (kernel @ weights)[:, 1:]
    own = np.repeat(np.arange(sets), 3)
    assert truths - said[np.arange(12), own] == pytest.approx(misses, abs=1e-8)


def mixtures(world, count):
    """Scores of mixtures of new sets and new known images in drawn shares, and their AUROC."""
    for _ in range(count):
        share, known, unknown = (
            world.generator.uniform(0.05, 0.95),
            world.known(600),
            world.unknown(150),
        )
        total = min(150 / share, 600 / (1 - share))
        yield (
            np.r_[known[: int((1 - share) * total)], unknown[: int(share * total)]],
            auroc(known, unknown),
        )


def test_at_an_unknown_share_it_beats_the_constant_and_the_gscore(world):
    world = world(3)
    validation, meta = world.known(800), world.sets(60)
    fits = [fit(validation, meta) for fit in (fit_curve_regression, fit_gscore_line, fit_constant)]
    errors = np.array([
        [fit.estimate(mixture)["auroc"].value - truth for fit in fits]
        for mixture, truth in mixtures(world, 60)
    ])  # fmt: skip
    curve, gscore, constant = np.sqrt((errors**2).mean(axis=0))
    assert curve < 0.85 * gscore and curve < 0.7 * constant


def test_intervals_cover_new_sets_as_often_as_they_say(world):
    covered = []
    for seed in range(5):
        here = world(10 + seed)
        fit = fit_curve_regression(here.known(600), here.sets(30))
        for mixture, truth in mixtures(here, 40):
            low, high = fit.estimate(mixture, level=0.8)["auroc"][1:]
            covered.append(low <= truth <= high)
    assert np.mean(covered) == pytest.approx(0.8, abs=0.1)


def test_far_from_all_that_it_has_learnt_the_interval_is_all_there_is(world):
    here = world(30)
    fit = fit_curve_regression(here.known(300), here.sets(20))
    for one in fit.estimate(here.known(200) + 5).values():  # all surer than the validation images
        assert one[1:] == (0, 1)
