"""The score is chosen by what was wished, and by its area among those that are as good at that."""

import numpy as np
import pytest

from helpers import scores
from helpers.metrics import guarantees
from known_unknowns.auditing import audit
from known_unknowns.auditing.gates import judge
from known_unknowns.auditing.ranking import ID, Groups, ranked
from known_unknowns.auditing.wished import Wish, coverage_at_risk, risk_at_coverage

IMAGES = 1000


def made_up(seed=0):
    """Return right answers, and two scores: one good at the top, one good altogether.

    A fifth of the answers is wrong.  The first score puts all wrong ones into the lower half and
    mixes there; the second has one wrong among ten at the very top, and is perfect elsewhere.
    """
    generator = np.random.default_rng(seed)
    correct = np.arange(IMAGES) >= IMAGES // 5
    upper = np.where(correct, generator.integers(0, 2, IMAGES), 0) * 10 + generator.random(IMAGES)
    perfect = correct + generator.random(IMAGES) / 2
    perfect[generator.permutation(IMAGES // 5)[:30]] = 3 + generator.random(30)
    return correct, {"msp": upper, "energy": perfect}


def choose(correct, samples, wish, ood=None, replicates=100):
    usable = {name: scores.create(name) for name in samples}
    found = {name: {ID: own} | (ood or {}).get(name, {}) for name, own in samples.items()}
    sets = {} if ood is None else {"pets": len(ood["msp"]["pets"])}
    table, best = ranked(usable, found, Groups(correct, sets, replicates, 0, wish))
    return table, best


@pytest.mark.parametrize(
    ("wish", "chosen"),
    [
        (Wish("risk", 0.01), "msp"),
        (Wish("risk", 0.05), "energy"),
        (Wish("coverage", 0.4), "msp"),
        (Wish("coverage", 0.8), "energy"),
    ],
)
def test_the_wish_chooses_and_not_the_area(wish, chosen):
    """The area is the smaller one for the first score, whatever is wished."""
    table, best = choose(*made_up(), wish)
    area = table[table["metric"] == "aurc"].set_index("score")["value"]
    assert best == [chosen] and table["score"].iloc[0] == chosen and area.idxmin() == "msp"
    assert set(table["metric"]) == {wish.metric, "aurc"}


def test_of_scores_that_are_as_good_for_the_wish_the_area_decides():
    """Where all answers may be accepted, the wish says nothing."""
    table, best = choose(*made_up(), Wish("risk", 0.5))
    assert (table[table["metric"] == "coverage"]["value"] == 1).all() and best == ["msp"]


def test_a_stated_share_of_unknown_images_counts():
    """A score that lets unknown images through keeps little where they are reckoned with."""
    generator = np.random.default_rng(1)
    correct = generator.random(IMAGES) < 0.97
    own = generator.random(IMAGES) + correct
    samples = {"msp": own + 0.001, "energy": own}
    ood = {"msp": {"pets": np.full(200, 3.0)}, "energy": {"pets": np.full(200, -1.0)}}
    assert set(choose(correct, samples, Wish("risk", 0.05), ood)[0]["metric"]) >= {"coverage"}
    table, best = choose(correct, samples, Wish("risk", 0.05, 0.2), ood)
    kept = table[table["metric"] == "coverage"].set_index("score")["value"]
    assert best == ["energy"] and kept["energy"] == 1 and kept["msp"] == 0
    table, _ = choose(correct, samples, Wish("risk", 0.05), ood)
    assert (table[table["metric"] == "coverage"]["value"] == 1).all()


@pytest.mark.parametrize("decimals", [8, 1])
def test_weights_are_images_drawn_again(decimals):
    """Each row of weights gives what the images, repeated as often, give."""
    generator = np.random.default_rng(2)
    values, correct = generator.random(200).round(decimals), generator.random(200) < 0.8
    weights = generator.multinomial(200, np.full(200, 1 / 200), size=5).astype(np.uint16)
    for row in weights:
        again, right = np.repeat(values, row), np.repeat(correct, row)
        kept = [(again >= one).mean() for one in again if (~right[again >= one]).mean() <= 0.15]
        assert coverage_at_risk(values, correct, row[None], 0.15)[0] == max(kept, default=0)
        enough = max(one for one in again if (again >= one).mean() >= 0.7)
        risk = (~right[again >= enough]).mean()
        assert risk_at_coverage(values, correct, row[None], 0.7)[0] == pytest.approx(risk)
    every = coverage_at_risk(values, correct, weights, 0.15)
    assert np.array_equal(
        every, [coverage_at_risk(values, correct, w[None], 0.15)[0] for w in weights]
    )


def test_choosing_on_the_other_half_does_not_break_the_promise():
    """Of many scores by chance the best one is taken; searched and promised on one half it would
    be broken in more draws than it may."""
    generator, draws, broken = np.random.default_rng(3), 150, {"halves": 0, "one": 0}
    risk, confidence, tried = 0.2, 0.8, 40
    for _ in range(draws):
        correct = generator.random(400) < 0.78  # whatever is accepted by chance, 22 % are wrong
        found = generator.random((tried, 400))
        middle = slice(0, 200), slice(200, 400)
        for name, (first, second) in {"halves": middle, "one": (middle[1],) * 2}.items():
            once = np.ones((1, 200))
            kept = [coverage_at_risk(one[first], correct[first], once, risk)[0] for one in found]
            best = found[int(np.argmax(kept))][second]
            try:
                guarantees.risk_threshold(best, correct[second], risk=risk, confidence=confidence)
                broken[name] += 1
            except ValueError:
                pass
    assert broken["halves"] <= 0.2 * draws + 3 * np.sqrt(draws * 0.16)
    assert broken["one"] > broken["halves"]


def test_a_coverage_can_be_required_at_a_risk(inputs):
    """At any risk, or at the wished one; what cannot be promised does not hold."""
    found = audit(inputs, risk=0.2, replicates=5)
    texts = ["coverage_at_risk_0.2>=0.1", "coverage_at_risk>=0.1", "coverage_at_risk_0.001>=0"]
    at, wished, never = judge(found, texts)
    assert at[1:4] == wished[1:4] == found.thresholds["risk"].coverage and at.holds
    assert np.isnan(never.value) and not never.holds
    for wrong in ("coverage_at_risk_2>=0.5", "coverage_at_risk_low>=0.5"):
        with pytest.raises(ValueError, match="a risk between 0 and 1 expected"):
            judge(found, [wrong])
