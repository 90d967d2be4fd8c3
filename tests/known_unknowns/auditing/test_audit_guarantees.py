"""Guarantees hold in the stated share of draws, and not only by caution."""

import numpy as np
import pytest
from scipy.stats import beta, binom

from helpers.metrics import auroc
from helpers.outputs import Outputs
from known_unknowns import without_labels
from known_unknowns.auditing.command import main
from known_unknowns.auditing.ranking import Groups, Half, Target
from known_unknowns.auditing.thresholds import (
    Sample,
    by_class,
    draw_mixture,
    guarantee_cost,
    guarantee_risk,
)
from known_unknowns.auditing.unlabelled_images import (
    DRIFT_LEVEL,
    Part,
    find_drift,
    look_at_unlabelled,
)

RISK = 0.2
LEVEL = 0.1
SHARE = 0.1


def grown(generator, known, unknown):
    """Return scores in [0, 1]: half of the known images are sure, and unknown ones are not."""
    scores = generator.random(known)
    # a quarter of those below 0.5 is wrong, and none above
    correct = (scores > 0.5) | (generator.random(known) > 0.25)
    ood = {name: top * generator.random(unknown) for name, top in (("a", 0.6), ("b", 0.5))}
    return scores, correct, ood


def true_risk(t):
    """Return the share of wrong answers among those accepted, by the law of `grown`."""
    below = max(0.5 - t, 0)
    known = 1 - t
    wrong = 0.25 * below
    unknown = (max(0.6 - t, 0) / 0.6 + below / 0.5) / 2
    return ((1 - SHARE) * wrong + SHARE * unknown) / ((1 - SHARE) * known + SHARE * unknown)


def test_the_guarantee_holds_with_a_stated_share_of_unknown_images_only():
    """The guarantee is broken at most as often as allowed, and the coverage is not too small."""
    generator = np.random.default_rng(0)
    draws = 300
    assert true_risk(0.0) > RISK  # who accepts everything breaks it
    broken = {0.0: 0, SHARE: 0}
    kept = []
    for seed in range(draws):
        drawn = Sample(*grown(generator, 900, 200))
        for unknown in broken:
            mixture = draw_mixture(drawn, unknown, seed=seed)
            rule = guarantee_risk(drawn, mixture, RISK, 1 - LEVEL)
            assert not rule.problem
            broken[unknown] += true_risk(rule.value) > RISK
        kept.append(rule.coverage[0])
    allowed = LEVEL * draws + 3 * np.sqrt(LEVEL * (1 - LEVEL) * draws)
    assert broken[0.0] > 0.9 * draws
    assert broken[SHARE] <= allowed
    best = min(t for t in np.linspace(0, 0.99, 1000) if true_risk(t) <= RISK)
    assert 1 - best - 0.15 < np.mean(kept) <= 1 - best  # hardly more is given away than must be


@pytest.mark.parametrize(("sets", "images"), [(12, 400), (8, 400), (12, 49)])
def test_unlabelled_images_get_answers_where_there_are_enough(sets, images):
    """A third of the unlabelled images is unlike the validation images, and never right."""
    draw = np.random.default_rng(1).normal
    known = draw(size=400)
    chosen = draw(size=400)
    production = draw(size=images)
    production[: images // 3] -= 3
    labels = (np.arange(400) < 40).astype(int)  # all answers are 0
    unknown = {f"set {i}": draw(-1 - i / 4, 1, 300) for i in range(sets)}

    def look(scores, sure):
        parts = [
            Part(values, np.tile([p, 1 - p], (len(values), 1)), np.zeros(len(values), int))
            for values, p in ((known, 0.9), (scores, sure))
        ]
        return look_at_unlabelled(
            parts[0],
            labels,
            parts[1],
            chosen=chosen,
            unknown=unknown,
            threshold=-1.5,
            class_names=("no", "yes"),
        )

    told = look(production, 0.8)
    assert 0.15 < told.least < 1 / 3
    assert abs(told.share - 1 / 3) < 0.1
    listed = np.array(told.listed)
    assert (listed < images // 3).mean() > 0.8
    assert len(listed) > images // 6
    assert (np.diff(production[listed]) >= 0).all()
    assert bool(told.detection) == (sets >= 9 and images >= 50)
    assert (told.accuracy is None) == (told.accepted is None) == (images < 50)
    if images >= 50:
        low, high = told.accuracy
        assert low < 0.6 < high == pytest.approx(0.85 + 1.64 * np.sqrt(0.09 * 2 / 400))
        assert told.accepted[0] > low
    for count in (199, 200):  # without evidence of unlike images
        alike = look(known[:count], 0.9)
        assert not alike.least
        assert (alike.accuracy is None) == (count == 199)
    if told.detection:
        assert told.detection["auroc"][1] < auroc(draw(size=400), draw(-3, 1, 400))


def groups(generator, images, others, *, score=0.0, features=0.0):
    values = generator.normal(size=(images, 6))
    other_values = generator.normal(size=(others, 6))
    other_values[:, 4] += features
    scores = generator.normal(size=images), generator.normal(size=others) - score
    return *scores, values, other_values


@pytest.mark.parametrize(("images", "others"), [(100, 1), (40, 60), (300, 150), (500, 2000)])
@pytest.mark.parametrize("decimals", [8, 1])
def test_a_drift_is_rarely_reported_for_equal_distributions(images, others, decimals):
    """With ties, too, which make it rarer; a real drift is seen."""
    for change in ({"score": 1}, {"features": 1}):
        drift = find_drift(*groups(np.random.default_rng(7), 400, 400, **change))
        assert drift.found == tuple(change)
    generator = np.random.default_rng(images)
    draws = 300
    named = 0
    for number in range(draws):
        alike = [part.round(decimals) for part in groups(generator, images, others)]
        # the scores may be for twice as many images as the features
        alike[2] = alike[2][: images // (1 + number % 2)]
        named += bool(find_drift(*alike).found)
    assert named <= binom.ppf(0.999, draws, DRIFT_LEVEL)
    if decimals == 8 and images >= 300:  # the test has power
        assert named >= binom.ppf(0.001, draws, 0.4 * DRIFT_LEVEL)


def test_the_lowest_cost_is_found_and_its_bound_holds():
    """An error costs 20 and a review 2: accept if the probability of an error is below 10 %."""
    generator = np.random.default_rng(0)
    held = []
    values = []
    for _ in range(400):
        halves = []
        for _ in range(2):
            scores = generator.random(1000)
            halves.append(Sample(scores, generator.random(1000) >= 0.2 * (1 - scores)))
        rule = guarantee_cost(*halves, (20, 2), 0.95)
        if rule.problem:
            continue
        left = 1 - rule.value
        held.append(20 * 0.2 * left**2 / 2 + 2 * (1 - left) <= rule.target_value)
        values.append(rule.value)
    assert len(held) > 300
    assert np.mean(held) >= 0.95
    assert abs(np.median(values) - 0.5) < 0.08
    wrong = np.zeros(100, bool)
    assert guarantee_cost(Sample(scores[:100], wrong), halves[1], (50, 2), 0.95).problem


def test_costs_and_reviews_are_targets_of_an_audit(here, monkeypatch, capsys, without_figures):
    generator = np.random.default_rng(0)
    labels = np.arange(1200) % 3
    logits = 2 * np.eye(3)[labels] + generator.normal(size=(1200, 3))
    np.savez("o.npz", logits=logits, labels=labels)
    monkeypatch.setenv("HOME", str(here))
    assert main("audit o.npz --costs 50 2 --out=~/a --require risk<=0.9".split()) == 1
    printed = capsys.readouterr().out
    assert "risk<=0.9: DOES NOT HOLD" in printed  # it is not guaranteed
    assert "Guarantee: the mean cost of an image like the validation images is at most" in printed
    assert "and 2 if people see all images" in printed
    assert main("accept a/rejector.safetensors o.npz --by-answer".split()) == 2
    assert "--by-answer: this rejector has no threshold" in capsys.readouterr().err
    assert main("watch a/rejector.safetensors o.npz".split()) == 0
    assert "The labels are not used" in capsys.readouterr().out
    assert main("audit o.npz --reviews 300/1200 --out b".split()) == 0
    assert "at least 75 % of images like these are accepted" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main("audit o.npz --reviews 300 --out c".split())
    assert main("audit o.npz --costs 1 900 --out d".split()) == 2
    assert "a cheaper review expected" in capsys.readouterr().err
    assert main("audit o.npz --costs 9e5 1 --out e".split()) == 0
    printed = capsys.readouterr().out
    assert "No rejector is written: no threshold certainly costs less than 1" in printed


def test_the_interval_of_the_aurc_holds_for_few_images():
    """With the percentiles of the bootstrap, it is false in 17 % of the draws."""
    generator = np.random.default_rng(0)
    truth = 0.03  # any answer is wrong with this probability
    outside = 0
    for _ in range(300):
        scores = generator.random(200)
        correct = generator.random(200) > truth
        outputs = Outputs(np.c_[1 - correct, correct], np.empty((200, 0)), np.ones(200, int))
        groups = Groups({"": Half(outputs, np.arange(200))}, 200, 0, Target())
        rows, _ = groups.measure({"": scores})
        outside += not rows[1]["low"] <= truth <= rows[1]["high"]
    assert outside <= binom.ppf(0.999, 300, 0.05)


def test_the_bound_of_a_cost_by_hand():
    """50 of 100 images are accepted, 5 of these wrong; two bounds share the error of 5 %."""
    correct = np.append(np.arange(50) >= 5, np.zeros(50, bool))
    sample = Sample(np.repeat([1.0, 0.0], 50), correct)
    rule = guarantee_cost(sample, sample, (5, 2), 0.95)
    expected = 5 * beta.ppf(0.975, 6, 95) + 2 * beta.ppf(0.975, 51, 50)
    assert rule.value == 1 and rule.target_value == pytest.approx(expected)


@pytest.mark.parametrize(("wrong", "beyond"), [(7, False), (12, True)])
def test_ten_answers_share_the_error_of_being_worse_than_guaranteed(wrong, beyond):
    labels = np.repeat([1, 0], [wrong, 60 - wrong])
    part = Outputs(np.tile(np.eye(10)[0], (60, 1)), np.empty((60, 0)), labels)
    alone, together = beta.ppf([0.05, 0.005], wrong, 61 - wrong)
    assert alone > 0.05 and (together > 0.05) == beyond
    assert by_class(part, [*"abcdefghij"], np.arange(60), 0.05)[0].beyond == beyond


def test_the_bracket_of_accepted_images_has_their_number_in_its_margin():
    normal = np.random.default_rng(1).normal
    known, new = normal(size=400), normal(size=400)
    correct = np.arange(400) >= 40
    validation, unlabelled = (
        Part(scores, np.tile([share, 1 - share], (400, 1)), np.zeros(400, int))
        for scores, share in ((known, 0.9), (new, 0.8))
    )
    options = {"chosen": known, "unknown": {}, "threshold": 0.5, "class_names": ("no", "yes")}
    seen = look_at_unlabelled(validation, (~correct).astype(int), unlabelled, **options)
    accepted = known >= 0.5, new >= 0.5
    share = without_labels.cautious_share(known, new)
    probabilities = validation.probabilities, correct, unlabelled.probabilities
    low, high = without_labels.accuracy_bracket(*probabilities, share=share, accepted=accepted)
    accuracy = correct[accepted[0]].mean()
    variance = accuracy * (1 - accuracy) * sum(1 / which.sum() for which in accepted)
    margin = 1.64 * np.sqrt(variance)
    assert seen.accepted == pytest.approx((max(0, low - margin), min(1, high + margin)))
