"""Five sentences that a newcomer can act on, whatever was found."""

from dataclasses import replace

import numpy as np
import pytest

from helpers.outputs import Outputs
from known_unknowns.auditing import audit, words
from known_unknowns.auditing.summary import bars, findings, measure_sureness, summary


@pytest.fixture
def found(inputs):
    return audit(inputs, risk=0.2, replicates=20)


def scaled(inputs, factor):
    """Return inputs with larger logits, and nothing else that would have to fit to them."""
    part = inputs.validation
    louder = Outputs(factor * part.logits, part.features[:, :0], part.labels)
    return replace(inputs, validation=louder, train=None, head=None, ood={}, production=None)


def test_there_are_five_and_each_says_its_part(found):
    right, sure, accept, promise, now = summary(found)
    value, low, high = (100 * one for one in found.accuracy)
    assert f"right on {value:.1f} % of 300 images" in right and f"{low:.1f} to {high:.1f}" in right
    assert "on average it claims" in sure
    kept = found.thresholds["risk"]
    assert f"at least {kept.value:.6g}" in accept and f"{100 * kept.coverage[0]:.1f} %" in accept
    assert "at most 20 % are wrong" in promise and "(pets_and_toys)" in promise
    assert now.endswith(".")


@pytest.mark.parametrize(
    ("factor", "words"), [(6, "too sure"), (0.1, "not sure enough"), (1, "can be believed")]
)
def test_it_knows_who_is_too_sure(inputs, factor, words):
    found = audit(scaled(inputs, factor), risk=0.2, replicates=5)
    if factor == 1:  # what is fitted to all of them is calibrated
        found = audit(scaled(inputs, 1 / found.temperature), risk=0.2, replicates=5)
    assert words in summary(found)[1]
    sure = measure_sureness(found)
    assert (sure.low <= sure.claimed <= sure.high) == (factor == 1)


def test_who_accepts_nearly_everything_is_told_so(inputs):
    """And what to wish for is something that can be had, with which some are rejected."""
    pets = inputs.validation.subset(slice(0, 100))
    pets = Outputs(pets.logits, pets.features, np.full(100, -1))
    inputs = replace(inputs, ood={"pets_and_toys": pets})
    found = audit(inputs, risk=0.6, replicates=5)
    assert found.thresholds["risk"].coverage[0] > 0.98
    now = summary(found)[4]
    assert now.startswith("Do not rely on it yet, as it accepts nearly everything:")
    smaller = float(now.split("`--risk ")[1].split("`")[0])
    again = audit(inputs, risk=smaller, replicates=5)
    assert again.deployed == "risk" and again.thresholds["risk"].coverage[0] <= 0.98
    part = 100 * found.thresholds["coverage"].ood_accepted["pets_and_toys"]
    assert f"`--coverage 0.9`, with which it accepts {part:.1f} % of pets_and_toys" in now


def test_without_unknown_images_it_asks_for_some(inputs):
    found = audit(replace(inputs, ood={}), risk=0.6, replicates=5)
    now = summary(found)[4]
    assert now.startswith("It accepts nearly everything, as the model alone is right often enough")
    assert "`--risk " in now and "(`--coverage 0.9`)" in now and "bring images of unknown" in now


def test_who_accepts_most_of_a_set_is_told_so(inputs):
    same = inputs.validation.subset(slice(0, 100))
    same = Outputs(same.logits, same.features, np.full(100, -1))
    found = audit(replace(inputs, ood={"twins": same}), risk=0.05, replicates=5)
    assert found.thresholds["risk"].coverage[0] < 0.98
    assert found.thresholds["risk"].ood_accepted["twins"] > 0.5
    assert "where images like twins turn up" in summary(found)[4]


def test_without_a_threshold_it_says_what_would_help(inputs):
    said = summary(audit(inputs, risk=0.001, replicates=5))
    assert said[2].startswith("No rejector is written") and "nothing is promised" in said[3]
    assert said[4] == "Bring more validation images, 5992 at the least, and audit again."
    part = inputs.validation
    wrong = Outputs(part.logits, part.features, np.random.default_rng(0).permutation(part.labels))
    said = summary(audit(replace(inputs, validation=wrong, head=None), replicates=5))
    assert said[4].startswith("Wish for a larger risk")


def twins(inputs):
    """Return inputs whose unknown images nothing can tell from known ones."""
    same = replace(inputs.validation, labels=np.full(len(inputs.validation), -1))
    return replace(inputs, ood={"twins": same}, production=None)


def test_a_coverage_that_lets_too_much_through_is_to_be_smaller(inputs):
    found = audit(twins(inputs), wish="coverage", coverage=0.9, replicates=5)
    assert summary(found)[4] == (
        "Do not rely on it where images like twins turn up, most of which it accepts: wish for a "
        "smaller coverage."
    )
    found = audit(inputs, wish="coverage", coverage=0.999, replicates=5)
    assert summary(found)[4].startswith("Wish for a smaller coverage, or bring more")


def test_where_no_wish_helps_other_arrays_may(inputs):
    """A model that makes no error rejects nothing at any risk."""
    part = inputs.validation
    right = replace(inputs, validation=replace(part, labels=part.predictions))
    found = audit(twins(right), risk=0.1, coverage=0.999, replicates=5)
    assert summary(found)[4].endswith("bring features or training images.")


def test_of_a_mixture_both_kinds_may_be_too_few(inputs):
    found = audit(inputs, risk=0.01, unknown_share=0.05, replicates=5)
    assert (
        summary(found)[4] == "Bring more validation images and more unknown ones, and audit again."
    )
    said = " ".join(words.threshold(found))
    assert "It takes 300 images in a mixture with 5 % of unknown ones" in said


def test_what_to_do_about_the_confidence_depends_on_whether_a_temperature_helps(inputs):
    """Which depends on the halves; where it makes things worse, it is not advised."""
    temperature = audit(scaled(inputs, 1), risk=0.2, replicates=5).temperature
    for factor, seed, believed, helps, advised in (
        (0.98, 1, True, False, "Nothing: use the confidence as it is."),
        (0.98, 2, True, True, "Divide the logits by"),
        (1.05, 1, False, False, "Do not show the confidence as a probability"),
    ):
        found = audit(scaled(inputs, factor / temperature), risk=0.2, replicates=5, seed=seed)
        sure, ece = measure_sureness(found), found.calibration["ece"]
        assert (sure.low <= sure.claimed <= sure.high) == believed
        assert (ece["after"] < ece["before"]) == helps
        (advice,) = (one.advice for one in findings(found) if one.name == "sure")
        assert advice.startswith(advised)


def test_the_bars_are_what_the_rejector_does(found, inputs):
    deployed = found.thresholds[found.deployed]
    own, pets, unlabelled = bars(found)
    assert own.right + own.wrong == pytest.approx(deployed.coverage[0])
    assert own.wrong / (own.right + own.wrong) == pytest.approx(deployed.risk[0])
    assert pets.wrong == deployed.ood_accepted["pets_and_toys"] and pets.right == 0
    assert unlabelled.unsure == found.rejector.accepts(inputs.production).mean()
    for bar in (own, pets, unlabelled):
        assert bar.right + bar.wrong + bar.unsure + bar.left == pytest.approx(1)
    (alone,) = bars(audit(inputs, risk=0.001, replicates=5))
    assert alone.left == 0 and alone.right + alone.wrong == 1


def test_every_finding_ends_with_what_to_do(found, inputs):
    assert all(one.advice.endswith(".") and one.sentence for one in findings(found))
    names = [one.name for one in findings(found)]
    assert names == ["right", "sure", "weak", "score", "accept", "unlabelled", "drift", "limits"]
    least = audit(scaled(inputs, 1), risk=0.2, replicates=5)
    assert "unlabelled" not in [one.name for one in findings(least)]
