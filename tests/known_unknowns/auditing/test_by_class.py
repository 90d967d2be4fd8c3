"""What a promise about all images hides in a class, and what is promised of single answers."""

import numpy as np

from helpers.outputs import Outputs
from known_unknowns.auditing import Inputs, audit
from known_unknowns.auditing.by_class import by_answer, by_class
from known_unknowns.auditing.page import page
from known_unknowns.auditing.summary import findings, summary

NAMES = ("ant", "bee", "cow")


def outputs(answers, right):
    """Return outputs with these answers, whose labels are another class where they are wrong."""
    labels = np.where(right, answers, (answers + 1) % len(NAMES))
    logits = 3.0 * np.eye(len(NAMES))[answers]
    return Outputs(logits, np.empty((len(answers), 0)), labels)


def test_a_small_class_that_a_promise_hides_is_named():
    """At 96 to 4 most of the small class is taken for the large one, and surely."""
    generator, n = np.random.default_rng(0), 4000
    labels = (generator.random(n) < 0.04).astype(int)
    logits = generator.normal(size=(n, 2)) * 0.5
    logits[:, 0] += 3
    found_out = (labels == 1) & (generator.random(n) < 0.35)
    logits[found_out, 1] += 6
    part = Outputs(logits, np.empty((n, 0)), labels)
    found = audit(Inputs("a toy", part, ("many", "few")), risk=0.05, replicates=5)
    assert found.deployed == "risk"
    many, few = found.by_class
    assert few.beyond and not many.beyond and few.wrong[0] > 0.4 > 0.05 > many.wrong[0]
    said = summary(found)[3]
    assert f"images of class “few”, {100 * few.wrong[0]:.1f} % are wrong." in said
    html = page(found, found.as_dict())
    assert "By class" in html and "few" in html.partition("<h2>In detail")[0]


def test_of_classes_that_are_alike_nothing_is_said():
    """In hardly more draws than the stated 5 %, over all classes together."""
    generator, draws, said = np.random.default_rng(1), 300, 0
    places = np.arange(600)
    for _ in range(draws):
        part = outputs(generator.integers(3, size=600), generator.random(600) > 0.05)
        rows = by_class(part, NAMES, places, np.ones(600, bool), 0.05)
        said += any(one.beyond for one in rows)
    assert said <= 0.05 * draws + 3 * np.sqrt(0.05 * 0.95 * draws)
    rows = by_class(part, NAMES, places, np.ones(600, bool), 0.0)
    assert all(one.beyond for one in rows)  # it can be said
    none = by_class(part, (*NAMES, "dog"), places, np.zeros(600, bool), 0.0)
    assert none[3].images == none[3].accepted == 0 and np.isnan(none[3].right[0])


STEEP = np.array([0.15, 0.5, 1.0])
"""By answer, how often the least sure image is wrong; the surest never is."""


def test_what_is_promised_of_each_answer_holds_for_all_of_them_together():
    """Over 200 draws, on both sides: as often as allowed, and hardly anything is given away."""
    generator, draws, risk, level = np.random.default_rng(2), 200, 0.1, 0.4
    broken, kept = 0, []
    for _ in range(draws):
        answers, scores = generator.integers(3, size=6000), generator.random(6000)
        right = generator.random(6000) > STEEP[answers] * (1 - scores)
        needed, rows = by_answer(scores, answers, right, NAMES, risk, 1 - level)
        assert all(one.images > needed for one in rows)
        true = STEEP * (1 - np.array([one.value for one in rows])) / 2
        broken += bool((true > risk).any())
        kept.append([one.coverage for one in rows])
    assert 0 < broken <= level * draws + 3 * np.sqrt(level * (1 - level) * draws)
    best = np.minimum(2 * risk / STEEP, 1)
    assert (np.nanmean(kept, axis=0) > 0.5 * best).all()


def test_of_a_rare_answer_nothing_is_promised():
    generator = np.random.default_rng(3)
    answers = np.r_[np.zeros(900, int), np.ones(20, int)]
    sure = generator.random(920)
    needed, rows = by_answer(sure, answers, np.ones(920, bool), NAMES, 0.05, 0.95)
    assert rows[1].images == 20 < needed <= 900
    assert rows[0].coverage > 0.9 and np.isnan([rows[1].value, rows[2].value]).all()


def test_the_report_says_of_how_many_answers(inputs):
    found = audit(inputs, risk=0.2, replicates=5)
    details = next(one for one in findings(found) if one.name == "accept").details
    assert any("of the 4 answers a risk of 20 %" in one for one in details)
    said = found.as_dict()
    assert [one["name"] for one in said["classes"]] == list(inputs.class_names)
    assert sum(one["images"] for one in said["answers"]) == len(found.measuring)
    assert said["thresholds"]["coverage"]["conditional"] < said["thresholds"]["coverage"]["wished"]


def test_without_a_promised_risk_no_class_is_worse_than_promised(inputs):
    found = audit(inputs, wish="coverage", coverage=0.8, replicates=5)
    assert not any(one.beyond for one in found.by_class)
