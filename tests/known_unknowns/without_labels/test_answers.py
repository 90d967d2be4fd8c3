"""Shares, lists and accuracies: definitions, bounds that are kept, and bad input."""

from functools import partial

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import betabinom, false_discovery_control

from known_unknowns import without_labels as labelfree
from known_unknowns.guarantees import coverage_threshold
from known_unknowns.without_labels import Answers

PLACES = np.array([0.0, 0.5, 1.0, 3.0])  # where the scores of each class lie
WORST = (0.5, 0.5, 0, 0)  # the two that score lowest, twice as frequent as they were


@pytest.mark.parametrize(("share", "weights"), [(0, WORST), (0.3, WORST), (0.3, (0.25,) * 4)])
def test_bounds_of_the_share_are_kept(share, weights):
    """If all unknown images score below all known images, which is the worst case."""
    generator, broken = np.random.default_rng(0), []
    for _ in range(200):
        classes, others = generator.integers(4, size=300), generator.choice(4, 400, p=weights)
        validation = generator.normal(PLACES[classes], 1)
        mixture = generator.normal(PLACES[others], 1)
        mixture[generator.random(400) < share] = -50.0
        broken.append([
            labelfree.label_shift_share_bound(validation, classes, mixture, level=0.8) > share,
            labelfree.share_bound(validation, mixture, level=0.8) > share,
        ])  # fmt: skip
    by_class, plain = np.mean(broken, axis=0)
    assert by_class <= 0.2
    assert plain > 0.5 if weights == WORST else plain <= 0.2


def test_shares_by_hand():
    """With a single validation image, or a single mixed one, the laws are simple."""
    mixture = np.r_[np.full(39, -1.0), 1.0]
    tail = betabinom.sf(38, 40, 1, 1)  # that 39 or more of 40 lie below: 2 / 41
    assert labelfree.share_bound([0.0], mixture, level=1 - tail * 1.01) > 0
    assert labelfree.share_bound([0.0], mixture, level=1 - tail * 0.99) == 0
    many = np.arange(1e6), np.zeros(1_000_000, int)
    bound = labelfree.label_shift_share_bound(*many, [-1.0], times=1, level=0.6)
    assert bound == pytest.approx(0.2, abs=1e-4)  # half of the 0.4 each
    generator = np.random.default_rng(5)
    for share in (0.05, 0.4, 0.9):
        unknown = 4 * (generator.random((10, 4000)) < share)
        scores = generator.normal(size=(10, 4000)), generator.normal(size=(10, 4000)) - unknown
        estimates = [labelfree.estimate_share(*pair) for pair in zip(*scores, strict=True)]
        assert np.mean(estimates) == pytest.approx(share, abs=0.02)


@pytest.mark.parametrize("adaptive", [False, True])
def test_the_rate_of_a_list_is_kept_and_not_wasted(adaptive):
    generator, outcomes = np.random.default_rng(3), []
    for _ in range(200):
        unknown = generator.random(400) < 0.4
        held, mixture = generator.normal(size=500), generator.normal(size=400) - 3 * unknown
        listed = labelfree.suspected_unknown(held, mixture, rate=0.2, adaptive=adaptive)
        outcomes.append(labelfree.selection_outcome(listed.chosen, unknown))
    rate, power = np.mean(outcomes, axis=0)
    # the rate of Benjamini and Hochberg is 0.6 times the requested one, Storey's is near it
    assert (0.15 if adaptive else 0.096) < rate <= 0.2 and power > 0.8
    threshold = coverage_threshold(held, coverage=0.95)
    p_values = labelfree.conformal_p_values(held, mixture)
    assert np.array_equal(p_values > 0.05, mixture >= threshold)
    if not adaptive:
        assert np.array_equal(listed.chosen, false_discovery_control(p_values) <= 0.2)
    for count, listed in ((9, False), (10, True)):  # 1 / 100 of 100 images, at 0.1
        mixture = np.r_[np.full(100 - count, 200.0), np.full(count, -1.0)]
        selection = labelfree.suspected_unknown(np.arange(99.0), mixture, adaptive=adaptive)
        assert selection.fewest == 10 and selection.chosen.any() == listed


def draw(generator, images, scale=2.0):
    """Return calibrated answers, and whether they are correct; a larger scale is easier."""
    probabilities = softmax(scale * generator.normal(size=(images, 4)), axis=1)
    labels = (generator.random((images, 1)) > probabilities.cumsum(axis=1)).sum(axis=1)
    return Answers(probabilities), probabilities.argmax(axis=1) == labels


def test_accuracies_are_their_definitions_and_cover_if_assumptions_hold():
    generator, estimates = np.random.default_rng(0), []
    for _ in range(150):
        (validation, correct), (mixture, _) = draw(generator, 200), draw(generator, 300)
        found = labelfree.estimate_accuracy(validation, correct, mixture, level=0.8)
        assert list(found) == list(labelfree.ACCURACY_ESTIMATORS)
        estimates.append(list(found.values()))
    truth = draw(generator, 300_000)[0].probabilities.max(axis=1).mean()
    value, low, high = np.moveaxis(estimates, 2, 0)
    assert value.mean(axis=0) == pytest.approx(np.full(6, truth), abs=0.01)
    assert ((low <= truth) & (truth <= high)).mean(axis=0) == pytest.approx(0.8, abs=0.1)
    ours, theirs, right = validation.probabilities, mixture.probabilities, correct.mean()
    value = {name: each.value for name, each in found.items()}
    assert value["validation"] == pytest.approx(right)
    assert value["average_confidence"] == pytest.approx(theirs.max(1).mean())
    assert value["difference"] == pytest.approx(right + theirs.max(1).mean() - ours.max(1).mean())
    for name, order in (
        ("atc_probability", lambda p: p.max(1)), ("atc_entropy", lambda p: (p * np.log(p)).sum(1)),
    ):  # fmt: skip
        threshold = np.sort(order(ours))[(~correct).sum()]
        assert value[name] == pytest.approx((order(theirs) >= threshold).mean())
    norms = [np.linalg.norm(each, "nuc") / np.sqrt(4 * len(each)) for each in (ours, theirs)]
    assert value["nuclear_norm"] == pytest.approx(right + norms[1] - norms[0])


def test_the_share_of_unknown_images_corrects_the_accuracy_of_accepted_images():
    generator = np.random.default_rng(3)
    (validation, correct), (known, right) = draw(generator, 2000, 3), draw(generator, 1200, 3)
    unknown, _ = draw(generator, 800, 1.0)  # with less confidence
    mixture = Answers(np.vstack([known.probabilities, unknown.probabilities]))
    right = np.r_[right, np.zeros(800, bool)]
    for name, each in labelfree.estimate_accuracy(validation, correct, mixture).items():
        assert each.value > right.mean() + (0 if name.startswith("atc") else 0.15)
    evidence = labelfree.assumptions(validation, correct, mixture)
    assert any("unlike the validation images" in sentence for sentence in evidence)
    accepted = [each.probabilities.max(1) >= 0.7 for each in (validation, mixture)]
    truth, inner = right[accepted[1]].mean(), (validation.of(accepted[0]), correct[accepted[0]])
    plain = labelfree.estimate_accuracy(*inner, mixture.of(accepted[1]))
    ask = partial(labelfree.accuracy_of_accepted, validation, correct, mixture, accepted)
    for name, each in ask(share=0.4, least=0.2).items():
        assert each.high >= truth
        if not name.startswith("atc"):  # these count images with less confidence as incorrect
            assert abs(each.value - truth) < 0.04 < plain[name].value - truth
    nothing = ask(share=1, least=0)["validation"]
    assert nothing.value == 0 and nothing.high > 0.8


def test_evidence_against_the_assumptions():
    generator = np.random.default_rng(5)
    validation, correct = draw(generator, 1000)
    sharp = validation.probabilities**3 / (validation.probabilities**3).sum(1, keepdims=True)
    constant, half = Answers(np.tile([0.9, 0.1], (100, 1))), np.arange(100) < 50
    wide = Answers(np.full((60, 100), 0.01))
    assert labelfree.assumptions(validation, correct, validation) == ()
    for phrase, count, answers, right in (
        ("the mean confidence is", 1, Answers(sharp), correct),
        ("Tied values", 2, constant, half), ("fewer images than classes", 1, wide, half[:60]),
    ):  # fmt: skip
        evidence = labelfree.assumptions(answers, right, answers)
        assert sum(phrase in sentence for sentence in evidence) == count


def sure(scores):
    """Return answers with more confidence for a higher score, and which are correct."""
    high = 0.5 + 0.5 / (1 + np.exp(-np.asarray(scores, float)))
    return Answers(np.stack([high, 1 - high], axis=1)), np.arange(len(scores)) % 4 > 0


def estimator(name):
    def ask(held, mixture):
        generator = np.random.default_rng(0)
        sets = {str(i): generator.normal(-i / 3, 1, 80) for i in range(12)}
        meta = labelfree.MetaSets(generator.normal(size=200), sets)
        fitted = labelfree.ESTIMATORS[name](held, meta)
        return [number for each in fitted.estimate(mixture).values() for number in each]

    return ask


def accuracy(held, mixture):
    return [*labelfree.estimate_accuracy(*sure(held), sure(mixture)[0]).values()]


def accepted(held, mixture):
    keep = np.ones(len(held), bool), np.ones(len(mixture), bool)
    pair = *sure(held), sure(mixture)[0]
    return [*labelfree.accuracy_of_accepted(*pair, keep, share=0.2).values()]


EVERY = {name: estimator(name) for name in labelfree.ESTIMATORS} | {
    "accuracy": accuracy,
    "accepted": accepted,
    "share_bound": labelfree.share_bound,
    "estimate_share": labelfree.estimate_share,
    "label_shift_share_bound": lambda held, mixture: labelfree.label_shift_share_bound(
        held, np.arange(len(held)) % 2, mixture
    ),
    "suspected_unknown": lambda *scores: labelfree.suspected_unknown(*scores, adaptive=True)[1],
}
BOUNDS = ("share_bound", "estimate_share", "label_shift_share_bound", "suspected_unknown")


@pytest.mark.parametrize("name", EVERY)
def test_strange_images_give_a_number_in_its_range_or_a_refusal(name):
    """Tied, constant, few, all known or all unknown images; NaN; no validation images."""
    ask, generator = EVERY[name], np.random.default_rng(1)
    held = generator.normal(size=200)
    for unknown in (0, 0.3, 1):
        mixture = generator.normal(size=120) - 2 * (np.arange(120) < unknown * 120)
        for rounded in (held, mixture), (np.round(held), np.round(mixture)):
            numbers = np.asarray(ask(*rounded))
            assert numbers.size and 0 <= numbers.min() <= numbers.max() <= 1
    if name == "gscore":
        with pytest.raises(ValueError, match="constant scores"):
            ask(np.zeros(200), np.zeros(120))
    else:
        numbers = np.asarray(ask(np.zeros(200), np.zeros(120)))
        assert 0 <= numbers.min() <= numbers.max() <= 1
        assert "share" not in name or numbers == 0  # no image is below the others
    if name == "prior_corrected":  # a constant score has an AUROC of 0.5, and accepts all images
        assert numbers.tolist()[:1] == [0.5] and numbers.max() == 1
    if name in BOUNDS:
        assert 0 <= np.max(ask(held, mixture[:20])) <= 1
    else:
        with pytest.raises(ValueError, match=r"at least 50|50 of the mixture"):
            ask(held, mixture[:49])
    for strange, named in ((np.nan, "NaN"), (np.inf, "infinite|confidence|NaN")):
        mixture[3] = strange
        if np.isnan(strange) or name not in ("accuracy", "accepted"):
            with pytest.raises(ValueError, match=f"mixture.*({named})|{named}"):
                ask(held, mixture)
    if name != "constant":
        with pytest.raises(ValueError, match="validation"):
            ask(np.empty(0), held)


HALF, HELD = Answers(np.full((60, 2), 0.5)), np.arange(60.0)
META = labelfree.MetaSets(HELD, {"a": HELD})
MASK = np.arange(60) < 49
BAD = [
    (partial(labelfree.ESTIMATORS["constant"], HELD, META), "meta: at least 2 sets"),
    (partial(labelfree.ESTIMATORS["gscore"], HELD, META), "meta: at least 3 sets"),
    (partial(labelfree.ESTIMATORS["curve_regression"], HELD), "meta: at least 3 sets"),
    *((partial(labelfree.fit_prior_corrected, HELD, share=share), "share") for share in (0, 1.1)),
    (partial(labelfree.fit_prior_corrected(HELD).estimate, HELD, level=90), "level"),
    (partial(labelfree.MetaSets, [np.nan], {}), "known: contains NaN"),
    (partial(labelfree.MetaSets, HELD, {"a": []}), r"unknown\['a'\]: empty"),
    (partial(labelfree.share_bound, HELD, HELD, level=1), "level"),
    *((partial(labelfree.suspected_unknown, HELD, HELD, rate=rate), "rate") for rate in (0, 10)),
    (partial(labelfree.selection_outcome, MASK, MASK & False), "unknown: no image is"),
    *((partial(labelfree.label_shift_share_bound, HELD, classes, HELD), "classes: 60 numbers")
      for classes in (MASK[1:] * 1, MASK - 1, MASK / 2)),
    *((partial(labelfree.label_shift_share_bound, HELD, MASK * 1, HELD, times=times), "times: at")
      for times in (0.5, np.nan)),
    *((partial(function, *pair), named)
      for function in (labelfree.estimate_accuracy, labelfree.assumptions)
      for *pair, named in [
          (HALF, np.ones(60), HALF.of(range(49)), "mixture: at least 50 images"),
          (HALF, np.ones(59), HALF, "correct"),
          (Answers(np.full((60, 2), 3.0)), np.ones(60), HALF, "validation"),
          (Answers(np.full((60, 4), 0.25)), np.ones(60), HALF, "4 classes expected"),
      ]),
    *((partial(labelfree.accuracy_of_accepted, HALF, np.ones(60), HALF, (mask, mask), **shares),
       named)
      for mask, shares, named in [
          (MASK | True, {"share": 0.5, "least": 0.6}, "least"),
          (MASK | True, {"share": 1.5}, "share"), (MASK, {"share": 0.5}, "accepted"),
          (MASK & False, {"share": 0.5}, "accepted"),
      ]),
]  # fmt: skip


@pytest.mark.parametrize(("call", "named"), BAD)
def test_bad_input_is_refused(call, named):
    with pytest.raises(ValueError, match=named):
        call()
