"""Claims as lines of a file, and what a table says to them."""

import numpy as np
import pandas as pd
import pytest

from synthesis.claim_files import read_claims
from synthesis.effects import Claim, Effect, Term, Verdict, evaluate, verdicts
from tests.mistakes import beside

DIFFERENCE = Effect("a - b", (Term(1, "a", "ece"), Term(-1, "b", "ece")), ">", 0.0)
CLAIM = Claim("better", "a exceeds b", "Table I", "a - b > 0", (DIFFERENCE,))
EFFECTS, REFUSED, SIDES, COMBINED = beside(__file__, "effects.yaml").values()
NOISE = np.random.default_rng(0).standard_normal(200)


def read_effects(folder, effects):
    file = folder / "claims.yaml"
    head = "claims:\n- {id: x, text: X., source: T, check: A is best, about: [training], effects: "
    file.write_text(head + effects + "}\n", encoding="utf-8")
    (claim,) = read_claims(file, method={"a": "A", "b": "B", "c": "C"})
    assert (claim.id, claim.about, claim.names) == ("x", ("training",), ())
    return list(claim.effects)


@pytest.mark.parametrize("line", EFFECTS)
def test_a_line_is_an_effect(tmp_path, line):
    title, terms, *others = EFFECTS[line]
    effect = Effect(title, tuple(Term(*term) for term in terms), *others)
    assert read_effects(tmp_path, line) == [effect]


@pytest.mark.parametrize(("keys", "expected"), COMBINED)
def test_there_is_an_effect_for_each_combination(tmp_path, keys, expected):
    line = "'{method} on {sets}: auroc@{sets} of {method.id} > 0', over: {method: " + keys
    effects = read_effects(tmp_path, "[{effect: " + line + ", sets: [s, t]}}]")
    terms = [Term(1, key, "auroc", test_set=name) for key in expected for name in "st"]
    assert effects == [Effect(f"{t.method.upper()} on {t.test_set}", (t,), ">", 0.0) for t in terms]


@pytest.mark.parametrize(("line", "message"), REFUSED)
def test_other_lines_are_refused(tmp_path, line, message):
    with pytest.raises(ValueError, match=message):
        read_effects(tmp_path, line)


def numbers(a, b, a_replicates=(), b_replicates=(), **columns):
    """Rows of methods a and b; the values are one per run, the replicates shared by the runs."""
    rows = [(run, "a", value, a_replicates) for run, value in enumerate(a)]
    rows += [(run, "b", value, b_replicates) for run, value in enumerate(b)]
    shared = {"data_set": "d", "test_set": "test", "backbone": "m", "calibration": ""}
    table = pd.DataFrame(rows, columns=["run", "method", "value", "bootstrap"])
    return table.assign(**shared | {"metric": "ece"} | columns)


def pooled(table, **options):
    return evaluate([CLAIM], table, **options).iloc[-1]


def test_replicates_are_paired_and_centred_on_the_number():
    common = pooled(numbers([0.5], [0.4], 0.5 + NOISE, 0.4 + NOISE))
    assert common["low"] == pytest.approx(common["effect"]) == pytest.approx(common["high"])
    opposed = pooled(numbers([0.5], [0.4], 0.5 + NOISE, 0.4 - NOISE))
    assert opposed["high"] - opposed["low"] > 3 * np.std(NOISE)
    biased = pooled(numbers([0.5], [0.4], 0.9 + NOISE / 100, 0.4 + 0 * NOISE))
    assert biased["low"] < 0.1 < biased["high"] < 0.15


def test_replicates_are_paired_across_test_sets():
    """What one run shares between two test sets, its ID images, cancels in their difference."""
    near = numbers([0.7], [], 0.7 + NOISE, test_set="near")
    far = numbers([0.8], [], 0.8 + NOISE, test_set="far")
    terms = Term(1, "a", "ece", test_set="far"), Term(-1, "a", "ece", test_set="near")
    claim = Claim("easier", "", "", "", (Effect("far - near", terms, ">", 0.0),))
    row, absent = (evaluate([claim], t).iloc[-1] for t in (pd.concat([near, far]), near))
    assert row["low"] == pytest.approx(0.1) == row["high"]
    assert (absent["verdict"], absent["note"]) == (Verdict.NO_DATA, "no run has all of its numbers")


def test_the_spread_of_few_runs_is_not_understated():
    row = pooled(numbers([0.0, 1.0], [0.0, 0.0]))
    # both draws are the same run half of the time; without scaling the ends would be 0 and 1
    assert [row["low"], row["high"]] == pytest.approx([0.5 - np.sqrt(0.5), 0.5 + np.sqrt(0.5)])


def test_intervals_leave_out_zero_in_one_of_twenty_cases_where_nothing_differs():
    """Trainings vary, and so do the images, which are the same for all runs."""
    generator, decided = np.random.default_rng(0), []
    for _ in range(150):
        noise = 0.5 * generator.standard_normal(200)
        values = generator.standard_normal(12) + 0.5 * generator.standard_normal()
        row = pooled(numbers(values, np.zeros(12), noise, 0 * noise))
        decided.append(not row["low"] <= 0 <= row["high"])
    assert np.mean(decided) == pytest.approx(0.05, abs=0.03)


def test_what_backbones_share_does_not_average_out():
    a = np.random.default_rng(0).standard_normal(12)
    table = numbers(a, np.zeros(12))
    shared = pooled(pd.concat([table, table.assign(backbone="n")]))
    assert shared[["low", "high"]].tolist() == pooled(table)[["low", "high"]].tolist()
    opposed = pooled(pd.concat([table, numbers(-a, np.zeros(12), backbone="n")]))
    assert opposed["high"] == pytest.approx(0, abs=1e-12)


def test_nothing_to_resample_decides_nothing():
    table = numbers([0.5], [0.4])
    row = pooled(table)
    assert row["verdict"] == Verdict.UNDECIDED and row["note"] == "one run, no replicates"
    assert np.isnan(row["low"])
    assert pooled(table, intervals=False)["verdict"] == Verdict.SUPPORTED
    assert pooled(numbers([0.4], [0.5]), intervals=False)["verdict"] == Verdict.CONTRADICTED


def test_an_incomplete_run_is_left_out_and_named():
    row = pooled(numbers([0.5, 0.6, 0.7], [0.4, 0.4]))
    assert row["runs"] == 2 and row["effect"] == pytest.approx(0.15)
    assert "incomplete, left out: run 2" in row["note"]


@pytest.mark.parametrize(("relation", "low", "high", "expected"), SIDES)
def test_sides_of_the_margin(relation, low, high, expected):
    assert Effect("", (), relation, 0.0).verdict(low, high) == expected


def test_an_effect_on_the_wrong_side_contradicts_a_claim():
    reverse = Effect("b - a", (Term(1, "b", "ece"), Term(-1, "a", "ece")), ">", 0.0)
    absent = Effect("c", (Term(1, "c", "ece"),), ">", 0.0)
    table = numbers([0.5, 0.51], [0.4, 0.41])
    pairs = [[DIFFERENCE], [DIFFERENCE, reverse], [DIFFERENCE, absent], [reverse, absent], [absent]]
    claims = [Claim(name, "", "", "", pair) for name, pair in zip("cdefg", pairs, strict=True)]
    summed = verdicts(claims, evaluate(claims, table))
    expected = ["supported", "contradicted", "not testable", "contradicted", "no data"]
    assert [*summed["verdict"]] == expected
    sentence = "a - b: +0.100 [+0.100, +0.100], expected > 0, supported."
    assert summed["sentence"].iloc[0] == sentence


def test_what_is_not_testable_is_left_out_of_the_mean_and_judged_where_nothing_else_is_there():
    """Though its own interval lies on the other side; its number is there all the same."""
    good = numbers([0.5, 0.52], [0.4, 0.4], untestable="")
    bad = numbers([0.1, 0.12], [0.4, 0.4], data_set="e", untestable="has not learnt")
    both = evaluate([CLAIM], pd.concat([good, bad]))
    assert both["verdict"].map(str).tolist() == ["supported", "not testable", "supported"]
    assert both["effect"].tolist() == pytest.approx([0.11, -0.29, 0.11])
    assert both["note"].iloc[-1].endswith("left out since not testable, e, m")
    summed = verdicts([CLAIM], evaluate([CLAIM], bad)).iloc[0]
    assert summed["verdict"] == Verdict.NOT_TESTABLE and "(has not learnt)" in summed["sentence"]


def test_an_effect_that_contradicts_outweighs_one_that_cannot_be_tested():
    """And one that supports does not: the claim is about both."""
    effect = Effect("a", (Term(1, "a", "ece"),), ">", 0.45)
    claim = Claim("both", "", "", "", (DIFFERENCE, effect))
    for level, verdict in ((0.5, Verdict.NOT_TESTABLE), (-0.5, Verdict.CONTRADICTED)):
        table = numbers([level, level], [0.4, 0.4])
        table["untestable"] = table["method"].map({"a": "", "b": "no"})
        assert verdicts([claim], evaluate([claim], table))["verdict"].item() == verdict


def test_a_data_set_that_contradicts_the_mean_leaves_it_undecided():
    good = numbers([0.9, 0.92], [0.4, 0.4])
    bad = numbers([0.3, 0.32], [0.4, 0.4], data_set="e")
    row = pooled(pd.concat([good, good.assign(backbone="n"), bad]))
    assert row["low"] > 0 and row["verdict"] == Verdict.UNDECIDED
    assert row["note"].endswith("against: e, m")
