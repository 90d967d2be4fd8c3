"""Estimators of AUROC and FPR95: definitions, intervals that cover, and mixtures."""

import numpy as np
import pytest

from helpers.labelfree import METRICS, PREDICTED, fit_regression
from helpers.metrics import RankedGroups, auroc, fpr_at_tpr
from known_unknowns import without_labels
from known_unknowns.without_labels import ESTIMATORS, MetaSets, curve_regression, estimates
from known_unknowns.without_labels.prior_corrected import fit_prior_corrected

LEARNING = ["constant", "gscore", "curve_regression"]


class World:
    """Known images score normally, each set of unknown images lower, by a random amount."""

    def __init__(self, seed: int):
        self.generator = np.random.default_rng(seed)

    def known(self, count):
        return self.generator.normal(size=count)

    def unknown(self, count):
        place, width = self.generator.uniform(0, 4), self.generator.uniform(0.5, 1.5)
        return self.generator.normal(-place, width, count)

    def sets(self, count, images=150, known=600):
        return MetaSets(self.known(known), {str(i): self.unknown(images) for i in range(count)})


@pytest.mark.parametrize("share", [0.4, None])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_an_interval_holds_the_value_and_grows_with_the_level(name, share):
    world = World(1)
    fitted = ESTIMATORS[name](world.known(300), world.sets(12, 80, 300), share=share)
    mixture = np.concatenate([world.known(60), world.unknown(40)])
    wide, narrow = fitted.estimate(mixture), fitted.estimate(mixture, level=0.5)
    assert tuple(wide) == PREDICTED and narrow != wide
    for metric in PREDICTED:
        ends = wide[metric].low, narrow[metric].low, narrow[metric].value
        assert 0 <= ends[0] <= ends[1] <= ends[2] <= narrow[metric].high <= wide[metric].high <= 1
        again = fitted.estimate(np.sort(mixture))[metric]  # the bootstrap draws other images
        assert again == pytest.approx(wide[metric], abs=0.1)
        assert again.value == pytest.approx(wide[metric].value)


@pytest.mark.parametrize("name", LEARNING)
def test_intervals_cover_the_metric_of_these_images_and_of_more_like_them(name):
    covered = []
    for seed in range(3):
        world = World(40 + seed)
        fitted = ESTIMATORS[name](world.known(400), world.sets(25))
        for _ in range(40):
            count = round(50 * world.generator.uniform(0.05, 0.95))
            known, unknown = world.known(600), world.unknown(150)
            pair = known[: 50 - count], unknown[:count]
            low, high = fitted.estimate(np.concatenate(pair), level=0.8)["fpr95"][1:]
            covered.append([low <= fpr_at_tpr(*each) <= high for each in (pair, (known, unknown))])
    of_these, of_more = np.mean(covered, axis=0)
    assert 0.72 <= of_these <= 0.92 and of_more >= 0.72
    few = ESTIMATORS[name](world.known(100), world.sets(8))  # a level of 0.9 needs nine sets
    assert few.estimate(world.known(60))["auroc"][1:] == (0, 1)


def test_the_regression_beats_the_constant_and_the_gscore_at_an_unknown_share():
    world, errors, covered = World(3), [], []
    validation, meta = world.known(800), world.sets(60)
    fits = [ESTIMATORS[name](validation, meta) for name in LEARNING]
    for _ in range(60):
        known, unknown, share = world.known(600), world.unknown(150), world.generator.uniform()
        total = min(150 / share, 600 / (1 - share))
        mixture = np.r_[known[: int((1 - share) * total)], unknown[: int(share * total)]]
        truth = auroc(known, unknown)
        errors.append([fit.estimate(mixture)["auroc"].value - truth for fit in fits])
        low, high = fits[2].estimate(mixture, level=0.8)["auroc"][1:]
        covered.append(low <= truth <= high)
    constant, gscore, curve = np.sqrt((np.array(errors) ** 2).mean(axis=0))
    assert curve < 0.85 * gscore and curve < 0.7 * constant
    assert np.mean(covered) == pytest.approx(0.8, abs=0.1)
    for estimate in fits[2].estimate(world.known(200) + 5).values():  # unlike all that it learned
        assert estimate[1:] == (0, 1)


def test_mixtures_have_the_share_and_are_as_large_as_possible():
    meta = World(6).sets(3, images=100, known=150)
    for share, counts in ((0.5, (100, 100)), (0.1, (150, 17)), (0.99, (1, 100)), (1, (1, 100))):
        drawn = list(meta.mix(share, times=2))
        assert [(len(a), len(b)) for a, b in drawn] == [counts] * 6
        assert all(len(set(unknown)) == len(unknown) for _, unknown in drawn)
    fewer = list(meta.mix(0.25, images=40))
    assert [(len(a), len(b)) for a, b in fewer] == [(30, 10)] * 3
    truths = meta.own_truths(fewer)["auroc"]
    first = meta.known[fewer[0][0]], meta.unknown["0"][fewer[0][1]]
    assert truths[0] == auroc(*first) and len(truths) == 3
    for known, _ in meta.mix(0.1):
        assert len(known) == 150 and len(set(known)) < 100
    shares = [len(b) / (len(a) + len(b)) for a, b in meta.mix(times=50)]
    assert min(shares) < 0.08 and max(shares) > 0.92 and abs(np.mean(shares) - 0.5) < 0.05


@pytest.mark.parametrize(("images", "learnt"), [(50, 50), (70, 50), (71, 70), (10_000, 9050)])
def test_an_estimator_learns_from_mixtures_that_are_just_smaller(images, learnt):
    kind = type("Kind", (tuple,), {"fewest": 0, "__new__": lambda _, *given: given[-1]})
    assert estimates.BySize(kind, [0.0]).of(images) == learnt


def test_the_jackknife_of_one_mixture_a_set_is_that_of_the_line():
    generator = np.random.default_rng(7)
    x, y = generator.normal(size=14), generator.uniform(0.3, 0.7, 14)
    line = fit_regression(x[:, None], y, [0.5])
    lines = [np.polyfit(np.delete(x, i), np.delete(y, i), 1) for i in range(14)]
    without = [np.polyval(lines[i], [x[i], 0.4]) for i in range(14)]
    there, new = np.transpose(without)
    low, high = line.interval([0.4], level=0.8)
    assert estimates.jackknife_ends(new, y - there, 14, 0.8) == pytest.approx((low[0], high[0]))


def test_the_curve_is_its_definition_and_leaving_out_a_set_is_fitting_without_it():
    generator = np.random.default_rng(2)
    validation, scores = generator.normal(size=2399), generator.normal(-1, 1, 500)
    curve = without_labels.curve_features(validation, scores)
    quantiles = np.sort(validation)[99::100][:23]  # 100 of 2,400 gaps below the first
    assert curve[:23] == pytest.approx([(scores < one).mean() for one in quantiles], abs=0.005)
    assert curve[23] == pytest.approx(auroc(validation, scores))
    curves, truths, sets = generator.normal(size=(12, 24)), generator.uniform(size=12), 4
    kernel = curve_regression._kernel(curves, curves)
    weights, misses = curve_regression._ridge(*np.linalg.eigh(kernel), truths, sets)
    errors = []
    for penalty in curve_regression._PENALTIES:
        missed = []
        for left_out in range(sets):
            kept = np.arange(12) // 3 != left_out
            inner = kernel[np.ix_(kept, kept)] + penalty * np.eye(9)
            alpha = np.linalg.solve(inner, truths[kept])
            missed.append((truths - kernel[:, kept] @ alpha)[~kept])
        errors.append(np.ravel(missed))
    best = min(errors, key=lambda error: (error**2).sum())
    assert misses == pytest.approx(best, abs=1e-8)
    predicted = (kernel @ weights)[:, 1:][np.arange(12), np.repeat(np.arange(sets), 3)]
    assert truths - predicted == pytest.approx(misses, abs=1e-8)


@pytest.mark.parametrize("digits", [8, 1, 0])  # without ties, with some, with few values alone
def test_with_the_mixtures_own_known_images_the_inverse_is_exact(digits):
    generator = np.random.default_rng(0)
    known = generator.normal(size=300).round(digits)
    unknown = generator.normal(-1, 1, 200).round(digits)
    estimate = fit_prior_corrected(known, share=0.4).estimate(np.concatenate([known, unknown]))
    groups = RankedGroups.of(known, unknown)
    for metric in PREDICTED:
        assert estimate[metric].value == pytest.approx(METRICS[metric](groups), abs=1e-12)
    nothing = fit_prior_corrected(known).estimate(known)  # no image is unlike the others
    assert nothing["auroc"].value == pytest.approx(0.5) and nothing["auroc"].high == 1
    assert nothing["fpr95"].low == 0


TRUTHS = {"auroc": 0.8556, "fpr95": 0.5576}  # Φ(1.5 / √2), and 1 - Φ(1.5 - 1.6449)


@pytest.mark.parametrize(("share", "known"), [(0.2, True), (1, True), (0.5, False)])
def test_intervals_of_the_prior_corrected_cover_and_still_say_something(share, known):
    generator, covered, of_these, widths = np.random.default_rng(2), [], [], []
    for _ in range(80):
        validation, pair = generator.normal(size=150), generator.normal(size=(2, 200))
        pair = pair[0, : round(200 * (1 - share))], pair[1, : round(200 * share)] - 1.5
        fitted = fit_prior_corrected(validation, share=share if known else None)
        estimate = fitted.estimate(np.concatenate(pair), level=0.8)
        ends = np.array([estimate[name][1:] for name in TRUTHS])
        widths.append(np.ptp(ends, axis=1))
        exact = [auroc(*pair), fpr_at_tpr(*pair)] if share < 1 else [*TRUTHS.values()]
        for truths, kept in (([*TRUTHS.values()], covered), (exact, of_these)):
            kept.append((ends[:, 0] <= truths) & (truths <= ends[:, 1]))
    for kept in (covered, of_these):
        assert (np.mean(kept, axis=0) >= 0.7).all()
        assert not known or (np.mean(kept, axis=0) <= 0.97).all()
    assert (np.mean(widths, axis=0) < (0.5, 0.8)).all()
