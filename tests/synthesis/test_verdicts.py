"""A claim in ten lines, and the records of reasons."""

import json
from dataclasses import asdict

import pytest

from synthesis.effects import Effect, Wording, combine, number
from synthesis.reasons import Kind, Note, Reason, remark
from synthesis.verdicts import Claims
from tests.synthesis.claim_tables import named, noisy

TOY = Claims("toy")


@TOY.add(source="Table 1", check="AUROC of each rival is lower by > 0.02", about="training")
def best():
    """A detects unknown images better than all rivals."""
    for rival in ("b", "c"):
        gain = number("auroc", "a") - number("auroc", rival)
        yield Effect(f"AUROC, a minus {rival}", gain, ">", 0.02)


@pytest.mark.parametrize(("rival", "verdict"), [(0.7, "supported"), (0.79, "contradicted")])
def test_a_claim_is_ten_lines(rival, verdict):
    """A made-up table with three runs supports the claim, and another one contradicts it."""
    values = {("a", "auroc"): 0.8, ("b", "auroc"): rival, ("c", "auroc"): 0.7}
    values["network", "accuracy"] = 0.9
    table = noisy("toy", named(values, "method", "metric"), runs=3, spread=0.001, tier="toy")
    summed = TOY.verdicts(TOY.check(table)).iloc[0]
    text = "A detects unknown images better than all rivals."
    assert (summed["claim"], summed["text"], str(summed["verdict"])) == ("best", text, verdict)


def claim_of(*effects):
    """Return a function for a claim with these effects."""

    def best():
        """A sentence."""
        return effects

    return best


def toy_of(effect):
    """Return the claims of a toy paper: one, with this effect."""
    toy = Claims("toy")
    toy.add(source="", check="")(claim_of(effect))
    return toy


GAIN = Effect("gain", number("auroc", "a"), ">", 0)


@pytest.mark.parametrize(("function", "about", "message"), [
    (claim_of(), "", "claim best: effects with different names expected, got none"),
    (claim_of(GAIN, GAIN), "", r"different names expected, got \['gain', 'gain'\]"),
    (claim_of(GAIN), "trainings", "unknown about 'trainings'; did you mean 'training'"),
    (lambda: [GAIN], "", "a docstring with the sentence of the paper expected"),
])  # fmt: skip
def test_a_claim_that_could_not_be_tested_is_refused(function, about, message):
    with pytest.raises(ValueError, match=message):
        Claims("toy").add(source="", check="", about=about)(function)


def test_two_claims_of_one_name_and_an_unknown_relation_are_refused():
    toy = toy_of(GAIN)
    with pytest.raises(ValueError, match="claim best: a new name"):
        toy.add(source="", check="")(claim_of(GAIN))
    with pytest.raises(ValueError, match="unknown relation '=>'"):
        Effect("gain", number("auroc", "a"), "=>", 0)


def test_a_function_that_returns_no_array_is_refused_and_zero_divisors_are_no_numbers():
    values = {("a", "auroc"): 0.8, ("network", "accuracy"): 0.9}
    table = noisy("toy", named(values, "method", "metric"), runs=3, spread=0.001, tier="toy")
    area = number("auroc", "a")
    scalar = Effect("scalar", combine(lambda a: 1.0, area), ">", 0)
    with pytest.raises(ValueError, match=r"'scalar': its function must return an array"):
        toy_of(scalar).check(table)
    ratio = Effect("ratio", combine(lambda a: 1 / (a - a), area), ">", 0)
    assert str(toy_of(ratio).check(table)["note"].iloc[-1]) == "no run has all of its numbers"


def test_a_sentence_without_the_size_and_a_difference_to_a_float_are_refused():
    with pytest.raises(ValueError, match=r"wording: a sentence with .size. expected"):
        Effect("gain", number("auroc", "a"), ">", 0, wording=Wording("more", "less {size}"))
    with pytest.raises(TypeError, match="unsupported operand"):
        number("auroc", "a") - 0.5


def test_an_effect_is_found_by_its_name():
    assert TOY.effect("best", "AUROC, a minus b").margin == 0.02
    with pytest.raises(KeyError, match="AUROC, a minus d"):
        TOY.effect("best", "AUROC, a minus d")


def test_a_note_is_printed_last_and_survives_json():
    cells = (("d", "m"), ("e", "m"))
    note = Note((
        remark("no data for", *cells),
        Reason(Kind.DOUBT, "short (ten epochs; the paper has 90)"),
        Reason(Kind.WEAKNESS, "there is one run"),
        Reason(Kind.UNTESTABLE, "x"),
    ))  # fmt: skip
    prevented = "short (ten epochs; the paper has 90); there is one run"
    assert str(note) == f"no data for d, m; e, m; doubted: {prevented}; not testable: x"
    assert note.prevented == f"{prevented}; x"
    assert Note.of_dict(json.loads(json.dumps(asdict(note)))) == note
    assert not Note() and str(Note()) == ""
