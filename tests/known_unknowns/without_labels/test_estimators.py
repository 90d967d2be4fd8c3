import numpy as np
import pytest

from helpers.labelfree import PREDICTED, Estimate
from helpers.labelfree.regression import fit_regression
from helpers.metrics import auroc, fpr_at_tpr
from known_unknowns.without_labels import ESTIMATORS, MetaSets
from known_unknowns.without_labels.estimates import BySize, jackknife_ends


@pytest.fixture(scope="module")
def fitted():
    """Every estimator, of the same scores, at a share of 0.4 and without one."""
    generator = np.random.default_rng(0)
    sets = {str(i): generator.normal(-i / 4, 1, 80) for i in range(12)}
    validation, meta = generator.normal(size=300), MetaSets(generator.normal(size=300), sets)
    return {
        (name, share): fit(validation, meta, share=share)
        for name, fit in ESTIMATORS.items()
        for share in (0.4, None)
    }


@pytest.mark.parametrize("share", [0.4, None])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_each_gives_an_estimate_with_an_interval(fitted, name, share, world):
    mixture = np.concatenate([world(1).known(60), world(2).unknown(40)])
    found = fitted[name, share].estimate(mixture)
    assert tuple(found) == PREDICTED
    for one in found.values():
        assert isinstance(one, Estimate) and all(0 <= end <= 1 for end in one)
        assert one.low <= one.value <= one.high
    narrow = fitted[name, share].estimate(mixture, level=0.5)
    assert narrow != found
    for metric, one in narrow.items():
        assert found[metric].low <= one.low and one.high <= found[metric].high
    turned = fitted[name, share].estimate(np.sort(mixture))
    for metric, one in found.items():
        # the bootstrap draws other images by the same places
        assert turned[metric].value == pytest.approx(one.value)
        assert turned[metric] == pytest.approx(one, abs=0.1)


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize(
    ("mixture", "level", "named"),
    [(np.arange(49.0), 0.9, "at least 50 images"), (np.full(60, np.nan), 0.9, "NaN"),
     (np.full(60, np.inf), 0.9, "infinite"), ([], 0.9, "empty"), (np.arange(60.0), 90, "level")],
)  # fmt: skip
def test_what_is_no_mixture_is_refused(fitted, name, mixture, level, named):
    with pytest.raises(ValueError, match=named):
        fitted[name, None].estimate(mixture, level=level)


@pytest.mark.parametrize("name", ["constant", "gscore", "curve_regression"])
def test_meta_sets_are_needed_but_by_the_prior_corrected(name, world):
    for meta in (None, world(0).sets(1)):
        with pytest.raises(ValueError, match=r"meta: at least . sets of unknown images expected"):
            ESTIMATORS[name](np.arange(60.0), meta)


def test_of_constant_scores_nothing_is_said_that_is_not_so(fitted):
    """A score that is the same for all images has an AUROC of 0.5, and accepts all of them."""
    same = np.full(60, 0.1)
    found = ESTIMATORS["prior_corrected"](same).estimate(same)
    assert found == {"auroc": (0.5, 0.5, 0.5), "fpr95": (1, 1, 1)}
    for name in ("constant", "curve_regression"):
        for one in fitted[name, None].estimate(same).values():
            assert one.high - one.low > 0.1
    with pytest.raises(ValueError, match="constant scores"):
        fitted["gscore", None].estimate(same)


@pytest.mark.parametrize("name", ["constant", "gscore", "curve_regression"])
def test_with_few_sets_the_interval_is_all_there_is(name, world):
    world = world(4)
    fit = ESTIMATORS[name](world.known(100), world.sets(8))
    assert fit.estimate(world.known(60))["auroc"][1:] == (0, 1)


def test_mixtures_have_the_share_and_are_as_large_as_can_be(world):
    meta = world(6).sets(3, images=100, known=150)
    for share, counts in ((0.5, (100, 100)), (0.1, (150, 17)), (0.99, (1, 100)), (1, (1, 100))):
        drawn = list(meta.mix(share, times=2))
        assert [(len(a), len(b)) for a, b in drawn] == [counts] * 6
        assert all(len(set(unknown)) == len(unknown) for _, unknown in drawn)
    fewer = list(meta.mix(0.25, images=40))
    assert [(len(a), len(b)) for a, b in fewer] == [(30, 10)] * 3
    own = meta.own_truths(fewer)["auroc"]
    first = meta.known[fewer[0][0]], meta.unknown["0"][fewer[0][1]]
    assert own[0] == auroc(*first) and len(own) == 3
    for known, _ in meta.mix(0.1):
        assert len(known) == 150 and len(set(known)) < 100
    shares = [len(b) / (len(a) + len(b)) for a, b in meta.mix(times=50)]
    assert min(shares) < 0.08 and max(shares) > 0.92 and abs(np.mean(shares) - 0.5) < 0.05


def test_the_jackknife_of_one_mixture_a_set_is_that_of_the_line():
    generator = np.random.default_rng(7)
    x, y = generator.normal(size=14), generator.uniform(0.3, 0.7, 14)
    line = fit_regression(x[:, None], y, [0.5])
    without = [
        np.polyval(np.polyfit(np.delete(x, i), np.delete(y, i), 1), [x[i], 0.4]) for i in range(14)
    ]
    own, new = np.transpose(without)
    low, high = line.interval([0.4], level=0.8)
    assert jackknife_ends(new, y - own, 14, 0.8) == pytest.approx((low[0], high[0]))


@pytest.mark.parametrize("name", ["constant", "gscore", "curve_regression"])
def test_intervals_cover_mixtures_of_fewer_images_than_the_meta_sets_have(name, world):
    """Both the metric of these very images and that of more like them."""
    covered = []
    for seed in range(3):
        here = world(40 + seed)
        fit = ESTIMATORS[name](here.known(400), here.sets(25))
        for _ in range(40):
            count = round(50 * here.generator.uniform(0.05, 0.95))
            known, unknown = here.known(600), here.unknown(150)
            pair = known[: 50 - count], unknown[:count]
            low, high = fit.estimate(np.concatenate(pair), level=0.8)["fpr95"][1:]
            covered.append([low <= fpr_at_tpr(*one) <= high for one in (pair, (known, unknown))])
    own, of_more = np.mean(covered, axis=0)
    assert 0.72 <= own <= 0.92 and of_more >= 0.72


@pytest.mark.parametrize(("images", "learnt"), [(50, 50), (70, 50), (71, 70), (10_000, 9050)])
def test_the_size_of_what_is_learnt_from_is_just_below(images, learnt):
    asked = []
    BySize(asked.append).of(images)
    assert asked == [learnt]
