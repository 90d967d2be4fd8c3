"""Effects as functions of numbers, and their verdicts by a table."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from synthesis.effects import Claim, Effect, Verdict, as_table, combine, number
from synthesis.judging import evaluate, summarise
from synthesis.reasons import Kind, Reason
from tests.mistakes import beside

A, B = number("ece", "a"), number("ece", "b")
DIFFERENCE = Effect("a - b", A - B, ">", 0.0)
CLAIM = Claim("better", "a exceeds b", "Table I", "a - b > 0", (DIFFERENCE,))
SIDES = beside(__file__, "effects.yaml")["sides"]
NOISE = np.random.default_rng(0).standard_normal(200)


FIVE = [0.5, 0.52, 0.51, 0.52, 0.5]


def numbers(a, b, a_replicates=(), b_replicates=(), **columns):
    """Rows of methods a and b; the values are one per run, the replicates shared by the runs."""
    rows = [(run, "a", value, a_replicates) for run, value in enumerate(a)]
    rows += [(run, "b", value, b_replicates) for run, value in enumerate(b)]
    shared = {"data_set": "d", "test_set": "test", "backbone": "m", "calibration": ""}
    table = pd.DataFrame(rows, columns=["run", "method", "value", "bootstrap"])
    return table.assign(**shared | {"metric": "ece"} | columns)


def checks(claims, table, **options):
    return as_table(evaluate(claims, table, **options))


def pooled(table, **options):
    return checks([CLAIM], table, **options).iloc[-1]


def untestable(text):
    """Return the reasons of a number that is not testable."""
    return (Reason(Kind.UNTESTABLE, text),)


def test_a_function_of_numbers_is_computed_within_runs_and_replicates():
    """A number without replicates is the same in each; a result that is not finite is missing."""
    removed = combine(lambda a, b: 1 - b / np.where(a > 0, a, np.nan), A, B)
    claim = Claim("removed", "", "", "", (Effect("1 - b / a", removed - B, ">", 0.0),))
    table = numbers([0.5, 0.0], [0.1, 0.1], a_replicates=0.5 + 0 * NOISE)
    (alone, row) = evaluate([claim], table)
    assert (row.size, row.runs) == (pytest.approx(1 - 0.1 / 0.5 - 0.1), 1)
    assert "incomplete, left out: run 1" in str(alone.note)
    assert "without replicates, held fixed: ece" in str(row.note)
    assert row.verdict == Verdict.SUPPORTED


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
    difference = number("ece", "a", "far") - number("ece", "a", "near")
    claim = Claim("easier", "", "", "", (Effect("far - near", difference, ">", 0.0),))
    row, absent = (evaluate([claim], t)[-1] for t in (pd.concat([near, far]), near))
    assert row.low == pytest.approx(0.1) == row.high
    assert absent.verdict == Verdict.NO_DATA
    assert str(absent.note) == "no run has all of its numbers"


@pytest.mark.parametrize(("runs", "images"), [(2, 0), (3, 0), (5, 0), (12, 0.5)])
def test_an_interval_misses_in_one_of_twenty_cases(runs, images):
    """Trainings vary, and so may the images, which are the same for all runs.

    A bootstrap of two, three or five runs alone would miss in 38, 19 and 13 % of the cases.
    """
    generator, missed = np.random.default_rng(0), []
    for _ in range(150):
        noise = images * generator.standard_normal(200)
        values = generator.standard_normal(runs) + images * generator.standard_normal()
        row = pooled(numbers(values, 0 * values, noise, 0 * noise))
        missed.append(not row["low"] <= 0 <= row["high"])
    assert np.mean(missed) == pytest.approx(0.05, abs=0.04)


def test_what_backbones_share_does_not_average_out():
    a = np.random.default_rng(0).standard_normal(12)
    table = numbers(a, np.zeros(12))
    shared = pooled(pd.concat([table, table.assign(backbone="n")]))
    assert shared[["low", "high"]].tolist() == pooled(table)[["low", "high"]].tolist()
    opposed = pooled(pd.concat([table, numbers(-a, np.zeros(12), backbone="n")]))
    assert opposed["high"] == pytest.approx(0, abs=1e-12)
    images = numbers(a[:5], a[:5], NOISE, 0 * NOISE)
    fewer = images[images["run"] < 3].assign(backbone="n")
    both = pooled(pd.concat([images, fewer]))
    assert both["high"] == pytest.approx(pooled(images)["high"])


def test_nothing_to_resample_decides_nothing():
    table = numbers([0.5], [0.4])
    row = pooled(table)
    assert row["verdict"] == Verdict.UNDECIDED and str(row["note"]) == "one run, no replicates"
    assert np.isnan(row["low"])
    assert pooled(table, intervals=False)["verdict"] == Verdict.SUPPORTED
    assert pooled(numbers([0.4], [0.5]), intervals=False)["verdict"] == Verdict.CONTRADICTED


@pytest.mark.parametrize(("relation", "low", "high", "expected"), SIDES)
def test_sides_of_the_margin(relation, low, high, expected):
    assert Effect("", A, relation, 0.0).verdict(low, high) == expected


def test_an_effect_on_the_wrong_side_contradicts_a_claim():
    reverse = Effect("b - a", B - A, ">", 0.0)
    absent = Effect("c", number("ece", "c"), ">", 0.0)
    table = numbers([0.5, 0.51], [0.4, 0.41])
    pairs = [[DIFFERENCE], [DIFFERENCE, reverse], [DIFFERENCE, absent], [reverse, absent], [absent]]
    claims = [Claim(name, "", "", "", pair) for name, pair in zip("cdefg", pairs, strict=True)]
    summed = summarise(claims, checks(claims, table))
    expected = ["supported", "contradicted", "not testable", "contradicted", "no data"]
    assert [*summed["verdict"]] == expected
    sentence = "A - b is 10.0 points [10.0, 10.0]; the claim needs more than 0."
    assert summed["sentence"].iloc[0] == sentence


def test_what_is_not_testable_is_left_out_of_the_mean_and_judged_where_nothing_else_is_there():
    """Though its own interval lies on the other side; its number is there all the same."""
    good = numbers(FIVE, [0.4] * 5, reasons=[()] * 10)
    lower = [value - 0.4 for value in FIVE]
    bad = numbers(lower, [0.4] * 5, data_set="e", reasons=[untestable("not learned")] * 10)
    both = checks([CLAIM], pd.concat([good, bad]))
    assert both["verdict"].map(str).tolist() == ["supported", "not testable", "supported"]
    assert both["effect"].tolist() == pytest.approx([0.11, -0.29, 0.11])
    assert str(both["note"].iloc[-1]).endswith("left out since not testable, e, m")
    summed = summarise([CLAIM], checks([CLAIM], bad)).iloc[0]
    assert summed["verdict"] == Verdict.NOT_TESTABLE and "since not learned" in summed["sentence"]


def test_an_effect_that_contradicts_outweighs_one_that_cannot_be_tested():
    """And one that supports does not: the claim is about both."""
    effect = Effect("a", A, ">", 0.45)
    claim = Claim("both", "", "", "", (DIFFERENCE, effect))
    for level, verdict in ((0.5, Verdict.NOT_TESTABLE), (-0.5, Verdict.CONTRADICTED)):
        table = numbers([level, level], [0.4, 0.4])
        table["reasons"] = table["method"].map({"a": (), "b": untestable("no")})
        assert summarise([claim], checks([claim], table))["verdict"].item() == verdict


def test_a_data_set_that_contradicts_the_mean_leaves_it_undecided():
    good = numbers([value + 0.4 for value in FIVE], [0.4] * 5)
    bad = numbers([value - 0.2 for value in FIVE], [0.4] * 5, data_set="e")
    row = pooled(pd.concat([good, good.assign(backbone="n"), bad]))
    assert row["low"] > 0 and row["verdict"] == Verdict.UNDECIDED
    assert str(row["note"]).endswith("against: e, m")


@pytest.mark.parametrize(("gap", "expected"), [(0.3, "undecided"), (0.02, "supported")])
def test_a_claim_about_models_resamples_the_networks(gap, expected):
    """Though each network is certain: others may differ as much as these do."""
    cells = [
        numbers([0.5 + k * gap, 0.5 + k * gap], [0.4, 0.4], backbone=f"m{k}") for k in (0, 1, 2)
    ]
    (claim,) = [Claim("better", "", "", "", (DIFFERENCE,), about=("models",))]
    assert checks([claim], pd.concat(cells))["verdict"].iloc[-1] == expected
    assert pooled(pd.concat(cells))["verdict"] == Verdict.SUPPORTED


def test_an_interval_stays_within_the_range_of_its_number():
    limited = Effect("a", A, ">", 0.0, limits=(-1, 1))
    table = numbers([0.9, 0.8, 0.6, 0.5, 0.7], [], 0.7 + 0.3 * NOISE, ())
    rows = [
        checks([Claim("c", "", "", "", (effect,))], table).iloc[-1]
        for effect in (limited, Effect("a", A, ">", 0.0))
    ]
    assert rows[0]["high"] == 1 < rows[1]["high"] and rows[0]["low"] == rows[1]["low"] > -1


def test_the_interval_of_an_example_allows_for_the_choice_among_cells_of_few_runs():
    """With three runs, the factor for five cells is 2.3, and not 1.3 as for many runs."""
    claim = replace(CLAIM, existential=True)
    cells = [numbers(FIVE[:3], [0.4, 0.41, 0.4], data_set=name) for name in "defgh"]
    *alone, example = evaluate([claim], pd.concat(cells))
    (chosen,) = [each for each in alone if each.cell in example.cells]
    stretch = (example.high - example.low) / (chosen.high - chosen.low)
    assert stretch == pytest.approx(2.307, abs=0.001)
