"""Estimates without labels: definitions, bounds and intervals that are kept, and bad input."""

from functools import partial

import numpy as np
import pytest
from scipy.stats import betabinom

from helpers.labelfree import PREDICTED, counts_at_share
from helpers.metrics import auroc
from known_unknowns import without_labels
from known_unknowns.guarantees import coverage_threshold
from known_unknowns.without_labels import BINS, DetectionEstimator, MetaSets
from known_unknowns.without_labels import accuracy_bracket as bracket
from known_unknowns.without_labels.detection import curve_features
from tests.mistakes import refusals


def test_bounds_of_the_share_are_kept():
    """If all unknown images score below all known images, which is the worst case."""
    generator = np.random.default_rng(0)
    for share in (0, 0.3):
        bounds = []
        for _ in range(200):
            validation = generator.normal(size=300)
            mixture = generator.normal(size=400)
            mixture[generator.random(400) < share] = -50.0
            bounds.append(without_labels.share_bound(validation, mixture, level=0.8))
        assert np.mean(np.array(bounds) > share) <= 0.2
        assert np.mean(bounds) >= 0.8 * share


def test_shares_by_hand():
    """The law is simple for a single validation image."""
    mixture = np.r_[np.full(39, -1.0), 1.0]
    tail = betabinom.sf(38, 40, 1, 1)  # that 39 or more of 40 lie below: 2 / 41
    for factor, positive in ((1.01, True), (0.99, False)):
        bound = without_labels.share_bound([0.0], mixture, level=1 - tail * factor)
        assert (bound > 0) == positive
    generator = np.random.default_rng(5)
    for share in (0.05, 0.4, 0.9):
        unknown = 4 * (generator.random((10, 4000)) < share)
        scores = generator.normal(size=(10, 4000)), generator.normal(size=(10, 4000)) - unknown
        estimates = [without_labels.estimate_share(*pair) for pair in zip(*scores, strict=True)]
        assert np.mean(estimates) == pytest.approx(share, abs=0.02)


def test_the_rate_of_a_list_is_kept_and_not_wasted():
    generator = np.random.default_rng(3)
    outcomes = []
    for _ in range(200):
        unknown = generator.random(400) < 0.4
        held = generator.normal(size=500)
        mixture = generator.normal(size=400) - 3 * unknown
        listed = without_labels.suspected_unknown(held, mixture, rate=0.2)
        outcomes.append(((~unknown)[listed.chosen].mean(), listed.chosen[unknown].mean()))
    rate, power = np.mean(outcomes, axis=0)
    assert 0.096 < rate <= 0.2
    assert power > 0.8  # 0.6 times the requested rate
    p_values = without_labels.conformal_p_values(held, mixture)
    assert np.array_equal(p_values > 0.05, mixture >= coverage_threshold(held, coverage=0.95))
    ranked = np.sort(p_values)  # the definition of Benjamini and Hochberg
    last = np.flatnonzero(ranked <= 0.2 * np.arange(1, 401) / 400)[-1]
    assert np.array_equal(listed.chosen, p_values <= ranked[last])
    for count, some in ((9, False), (10, True)):  # 1 / 100 of 100 images, at 0.1
        mixture = np.r_[np.full(100 - count, 200.0), np.full(count, -1.0)]
        selection = without_labels.suspected_unknown(np.arange(99.0), mixture)
        assert selection.fewest == 10
        assert selection.chosen.any() == some


def confident(right, share=0.0, images=4000, seed=0):
    """Return probabilities and correctness of calibrated answers; unknown images are like them."""
    generator = np.random.default_rng(seed)
    high = generator.uniform(2 * right - 1, 1, images)
    correct = (generator.random(images) < high) & (np.arange(images) >= share * images)
    return np.stack([high, 1 - high], axis=1), correct


@pytest.mark.parametrize("share", [0, 0.2, 0.6])
def test_the_bracket_contains_the_accuracy_of_all_and_of_accepted_images(share):
    (ours, correct) = confident(0.8)
    (mixture, right) = confident(0.8, share, seed=1)
    low, high = bracket(ours, correct, mixture, share=share)
    assert low < right.mean() < high
    assert low == pytest.approx(0.8 * (1 - share) - 0.05, abs=0.01)
    assert high == pytest.approx(0.85, abs=0.01)
    # the rejector sees half of the unknown images
    kept = np.arange(4000) >= share * 4000 / 2
    low, high = bracket(ours, correct, mixture, share=share, accepted=(np.ones(4000), kept))
    assert low < right[kept].mean() < high
    assert low == pytest.approx(right[kept].mean() - 0.05, abs=0.02)


class World:
    """Known images score normally, each set of unknown images lower, by a random amount."""

    def __init__(self, seed: int):
        self.generator = np.random.default_rng(seed)

    def known(self, count):
        return self.generator.normal(size=count)

    def unknown(self, count):
        distance = self.generator.uniform(0, 4)
        width = self.generator.uniform(0.5, 1.5)
        return self.generator.normal(-distance, width, count)

    def sets(self, count, images=200, known=600):
        return MetaSets(self.known(known), {str(i): self.unknown(images) for i in range(count)})


def test_intervals_hold_in_every_bin_of_shares_and_the_regression_beats_the_constant():
    covered = {}
    errors = []
    for seed in range(4):
        world = World(40 + seed)
        given = world.known(400), world.sets(36)
        constant, curve = (DetectionEstimator(*given, k) for k in ("constant", "curve_regression"))
        for number in range(40):
            share = (0.02, 0.1, 0.3, 0.7)[number % 4]
            known = world.known(600)
            unknown = world.unknown(200)
            ours, others = counts_at_share(600, 200, share)
            mixture = np.concatenate([known[:ours], unknown[:others]])
            estimate = curve.estimate(mixture, level=0.8)["auroc"]
            if np.isnan(estimate.value):
                continue
            for truth in (auroc(known[:ours], unknown[:others]), auroc(known, unknown)):
                held = covered.setdefault(np.digitize(share, BINS), [])
                held.append(estimate.low <= truth <= estimate.high)
            if share > 0.2:
                guess = constant.estimate(mixture)["auroc"].value
                areas = [auroc(given[1].known, each) for each in given[1].unknown.values()]
                assert guess == pytest.approx(np.mean(areas))
                errors.append([guess - truth, estimate.value - truth])
    assert len(covered) == 4
    assert all(np.mean(held) >= 0.72 for held in covered.values())
    guessed, learned = np.sqrt(np.mean(np.square(errors), axis=0))
    assert learned < 0.75 * guessed


def test_without_unknown_images_or_far_from_all_sets_there_is_no_answer():
    world = World(3)
    fitted = DetectionEstimator(world.known(400), world.sets(12))
    for mixture in (world.known(300), world.known(300) + 5):
        assert all(np.isnan(number) for number in fitted.estimate(mixture)["auroc"])
    mixture = np.r_[world.known(60), world.unknown(60)]
    wide = fitted.estimate(mixture)
    narrow = fitted.estimate(mixture, level=0.5)
    for metric in PREDICTED:
        ends = wide[metric].low, narrow[metric].low, narrow[metric].value
        assert 0 <= ends[0] <= ends[1] <= ends[2] <= narrow[metric].high <= wide[metric].high <= 1


def test_mixtures_have_the_share_and_are_as_large_as_possible():
    meta = World(6).sets(3, images=100, known=150)
    pairs = [*meta.mix(np.inf, 50)]
    shares = np.array([len(b) / (len(a) + len(b)) for a, b in pairs])
    assert 0.009 < shares.min() < 0.02
    assert 0.85 < shares.max() < 0.96
    assert all(len(a) == 150 or len(b) == 100 for a, b in pairs)
    assert abs(np.median(shares) - np.sqrt(0.01 * 0.95)) < 0.03
    assert all(abs(len(a) + len(b) - 40) <= 1 for a, b in meta.mix(40, 1))


def test_the_curve_is_its_definition():
    generator = np.random.default_rng(2)
    validation = generator.normal(size=2399)
    scores = generator.normal(-1, 1, 500)
    curve = curve_features(validation, scores)
    quantiles = np.sort(validation)[99::100][:23]  # 100 of 2,400 gaps below the first
    assert curve[:23] == pytest.approx([(scores < each).mean() for each in quantiles], abs=0.005)
    assert curve[23] == pytest.approx(auroc(validation, scores))


def estimated(held, mixture, kind="curve_regression"):
    estimates = DetectionEstimator(held, World(0).sets(12, 80, 200), kind).estimate(mixture)
    return np.nan_to_num([number for each in estimates.values() for number in each])


EVERY = {
    "curve_regression": estimated,
    "constant": partial(estimated, kind="constant"),
    "share_bound": without_labels.share_bound,
    "estimate_share": without_labels.estimate_share,
    "suspected_unknown": lambda *scores: without_labels.suspected_unknown(*scores)[1],
}


@pytest.mark.parametrize("name", EVERY)
def test_strange_images_give_a_number_in_its_range_or_a_refusal(name):
    """Images are tied, constant, few, all known or all unknown, or scores are NaN."""
    ask = EVERY[name]
    generator = np.random.default_rng(1)
    held = generator.normal(size=200)
    mixture = generator.normal(size=120)
    pairs = [(held, mixture - 2 * (np.arange(120) < u * 120)) for u in (0, 0.3, 1)]
    pairs += [(np.round(held), np.round(mixture)), (np.zeros(200), np.zeros(120))]
    numbers = [np.asarray(ask(*pair)) for pair in pairs]
    assert all(0 <= each.min() <= each.max() <= 1 for each in numbers)
    assert "share" not in name or numbers[-1] == 0  # no image is below the others
    bad = [(held, [np.nan, *mixture], "NaN"), ([], mixture, "validation")]
    if name in ("curve_regression", "constant"):
        bad.append((held, mixture[:49], "at least 50"))
    for first, second, message in bad:
        with pytest.raises(ValueError, match=message):
            ask(first, second)


HELD = np.arange(60.0)
META = MetaSets(HELD, dict.fromkeys("abc", HELD))
OBJECTS = {
    "halves": np.full((60, 2), 0.5),
    "49 halves": np.full((49, 2), 0.5),
    "ones": np.ones((60, 2)),
    "quarters": np.full((60, 4), 0.25),
    "scores": HELD,
    "one set": MetaSets(HELD, {"a": HELD}),
    "an estimator": DetectionEstimator(HELD, META),
    "right": HELD >= 0,
    "wrong": HELD < 0,
    "59 right": HELD[1:] > 0,
    "49 of 60": HELD < 49,
}


test_bad_input_is_refused = refusals(__file__, OBJECTS)
