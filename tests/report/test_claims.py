import numpy as np
import pandas as pd
import pytest

from helpers.report.claims import Claim, Effect, Term, Verdict, evaluate, verdicts

DIFFERENCE = Effect("a - b", (Term(1, "a", "ece"), Term(-1, "b", "ece")), ">", 0.0)
CLAIM = Claim("better", "a exceeds b", "Table I", "a - b > 0", (DIFFERENCE,))


def numbers(a, b, a_replicates=(), b_replicates=(), *, data_set="d", backbone="m"):
    """Rows of methods a and b; the values are one per run, the replicates shared by the runs."""
    return pd.DataFrame(
        [
            {
                "data_set": data_set,
                "test_set": "test",
                "backbone": backbone,
                "run": run,
                "method": method,
                "calibration": "",
                "metric": "ece",
                "value": value,
                "bootstrap": replicates,
            }
            for method, values, replicates in (("a", a, a_replicates), ("b", b, b_replicates))
            for run, value in enumerate(values)
        ]
    )


def pooled(table, **options):
    return evaluate([CLAIM], table, **options).iloc[-1]


def test_replicates_are_paired():
    noise = np.random.default_rng(0).standard_normal(200)
    common = pooled(numbers([0.5], [0.4], 0.5 + noise, 0.4 + noise))
    assert common["low"] == pytest.approx(common["effect"]) == pytest.approx(common["high"])
    opposed = pooled(numbers([0.5], [0.4], 0.5 + noise, 0.4 - noise))
    assert opposed["high"] - opposed["low"] > 3 * np.std(noise)


def test_replicates_are_paired_across_test_sets():
    """What one run shares between two test sets, its ID images, cancels in their difference."""
    noise = np.random.default_rng(0).standard_normal(200)
    near, far = numbers([0.7], [], 0.7 + noise), numbers([0.8], [], 0.8 + noise)
    table = pd.concat([near.assign(test_set="near"), far.assign(test_set="far")])
    terms = Term(1, "a", "ece", test_set="far"), Term(-1, "a", "ece", test_set="near")
    claim = Claim("easier", "", "", "", (Effect("far - near", terms, ">", 0.0),))
    row = evaluate([claim], table).iloc[-1]
    assert row["low"] == pytest.approx(0.1) == row["high"]
    absent = evaluate([claim], table[table["test_set"] == "near"]).iloc[-1]
    assert absent["verdict"] == Verdict.NO_DATA
    assert absent["note"] == "no run has: a ece on far"


def test_replicates_are_centred_on_the_number():
    noise = np.random.default_rng(0).standard_normal(200) / 100
    biased = pooled(numbers([0.5], [0.4], 0.9 + noise, 0.4 + 0 * noise))
    assert biased["low"] < 0.1 < biased["high"]
    assert biased["high"] < 0.15


def test_the_spread_of_few_runs_is_not_understated():
    row = pooled(numbers([0.0, 1.0], [0.0, 0.0]))
    # both draws are the same run half of the time; without scaling the ends would be 0 and 1
    assert [row["low"], row["high"]] == pytest.approx([0.5 - np.sqrt(0.5), 0.5 + np.sqrt(0.5)])


def test_images_and_runs_add_up():
    generator = np.random.default_rng(0)
    a, noise = generator.standard_normal(12), 0.5 * generator.standard_normal(4000)
    row = pooled(numbers(a, np.zeros(12), noise, 0 * noise))
    # the replicates are the same for all runs: they do not average out over runs
    expected = 2 * 1.96 * np.sqrt(np.var(a, ddof=1) / 12 + 0.25)
    assert row["note"] == ""
    assert row["high"] - row["low"] == pytest.approx(expected, rel=0.1)


def test_nothing_to_resample_decides_nothing():
    row = pooled(numbers([0.5], [0.4]))
    assert row["verdict"] == Verdict.UNDECIDED and row["note"] == "one run, no replicates"
    assert np.isnan(row["low"])
    assert pooled(numbers([0.5], [0.4]), intervals=False)["verdict"] == Verdict.SUPPORTED
    assert pooled(numbers([0.4], [0.5]), intervals=False)["verdict"] == Verdict.CONTRADICTED


def test_an_incomplete_run_is_left_out_and_named():
    table = numbers([0.5, 0.6, 0.7], [0.4, 0.4])
    row = pooled(table)
    assert row["runs"] == 2 and row["effect"] == pytest.approx(0.15)
    assert "incomplete, left out: run 2" in row["note"]


def test_what_cannot_be_paired_is_refused():
    with pytest.raises(ValueError, match="run 0 have different numbers of bootstrap"):
        pooled(numbers([0.5], [0.4], [0.1, 0.2], [0.1, 0.2, 0.3]))
    once = numbers([0.5], [0.4])
    with pytest.raises(ValueError, match="run 0 is there twice"):
        pooled(pd.concat([once, once]))


@pytest.mark.parametrize(
    ("relation", "low", "high", "expected"),
    [
        (">", 0.0, 0.0, "contradicted"),  # no difference is no gain
        (">=", 0.0, 0.0, "supported"),
        (">=", -0.1, 0.0, "undecided"),
        (">=", -0.2, -0.1, "contradicted"),
        ("<", -0.1, 0.0, "undecided"),
        ("<", 0.0, 0.1, "contradicted"),
        ("<", -0.2, -0.1, "supported"),
    ],
)
def test_sides_of_the_margin(relation, low, high, expected):
    assert Effect("", (), relation, 0.0).verdict(low, high) == expected


def test_one_effect_on_the_wrong_side_contradicts_the_claim():
    reverse = Effect("b - a", (Term(1, "b", "ece"), Term(-1, "a", "ece")), ">", 0.0)
    absent = Effect("c", (Term(1, "c", "ece"),), ">", 0.0)
    table = numbers([0.5, 0.51], [0.4, 0.41])
    for effects, expected in (
        ((DIFFERENCE,), Verdict.SUPPORTED),
        ((DIFFERENCE, reverse), Verdict.CONTRADICTED),
        ((DIFFERENCE, absent), Verdict.NO_DATA),
        ((reverse, absent), Verdict.CONTRADICTED),
    ):
        claim = Claim("c", "", "", "", effects)
        summed = verdicts([claim], evaluate([claim], table))
        assert summed["verdict"].tolist() == [expected]
    assert "a - b: +0.100 [+0.100, +0.100], expected > 0, supported" in (
        verdicts([CLAIM], evaluate([CLAIM], table))["sentence"].item()
    )


def test_what_is_not_testable_is_left_out_of_the_mean_and_judged_where_nothing_else_is_there():
    """Though its own interval lies on the other side; its number is there all the same."""
    good = numbers([0.5, 0.52], [0.4, 0.4]).assign(untestable="")
    bad = numbers([0.1, 0.12], [0.4, 0.4], data_set="e").assign(untestable="has not learnt")
    both = evaluate([CLAIM], pd.concat([good, bad]))
    assert [str(one) for one in both["verdict"]] == ["supported", "not testable", "supported"]
    assert both["effect"].tolist() == pytest.approx([0.11, -0.29, 0.11])
    assert both["note"].iloc[-1].endswith("left out since not testable, e, m")
    alone = evaluate([CLAIM], bad)
    assert set(alone["verdict"]) == {Verdict.NOT_TESTABLE}
    assert alone["note"].iloc[-1].endswith("not testable: has not learnt")
    summed = verdicts([CLAIM], alone).iloc[0]
    assert summed["verdict"] == Verdict.NOT_TESTABLE and "(has not learnt)" in summed["sentence"]


def test_an_effect_that_contradicts_outweighs_one_that_cannot_be_tested():
    """And one that supports does not: the claim is about both."""
    effect = Effect("a", (Term(1, "a", "ece"),), ">", 0.45)
    both = Claim("both", "", "", "", (DIFFERENCE, effect))
    table = numbers([0.5, 0.52], [0.4, 0.4])
    for level, verdict in ((0.5, Verdict.NOT_TESTABLE), (-0.5, Verdict.CONTRADICTED)):
        own = table.assign(value=table["value"].where(table["method"] == "b", level))
        own = own.assign(untestable=["no" if name == "b" else "" for name in own["method"]])
        found = verdicts([both], evaluate([both], own))
        assert found["verdict"].item() == verdict


def test_what_backbones_share_does_not_average_out():
    a = np.random.default_rng(0).standard_normal(12)
    one = numbers(a, np.zeros(12))
    shared = pd.concat([one, one.assign(backbone="n")])
    opposed = pd.concat([one, numbers(-a, np.zeros(12), backbone="n")])
    alone = pooled(one)
    assert pooled(shared)[["low", "high"]].tolist() == alone[["low", "high"]].tolist()
    assert pooled(opposed)["high"] == pytest.approx(0, abs=1e-12)
