"""Means over trainings: what one run, few runs and an ensemble can decide."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from helpers.files import project_root
from helpers.papers.human_centric.parameters import FRESH
from helpers.papers.unknown_detection.parameters import METHODS
from helpers.tables import results
from synthesis.claims import load_claims
from synthesis.effects import Claim, Effect, Verdict, number
from synthesis.judging import evaluate
from synthesis.spread import WITHOUT_RUN, Trainings, jackknife, leave_out
from tests.synthesis.claim_tables import MODELS
from tests.synthesis.claim_tables import gscore as of_sets
from tests.synthesis.claim_tables import human_centric as models
from tests.synthesis.claim_tables import uimnet as of_algorithms
from tests.synthesis.claim_tables import unknown_detection as made_up
from tests.synthesis.test_effects import numbers

TRAININGS = Trainings("b", lambda name: name)
EFFECT = Effect("a - b", number("ece", "a") - number("ece", "b"), ">", 0.0)
CLAIM = Claim("better", "a exceeds b", "", "", (EFFECT,), about=("training",))
FIVE = [0.40, 0.41, 0.42, 0.43, 0.44]  # their standard deviation is 0.016


def judged(table, trainings=TRAININGS):
    return evaluate([CLAIM], table, trainings=trainings)[-1]


def main_verdict(claims, table):
    verdicts = claims.verdicts(claims.check(table)).set_index("claim")["verdict"]
    return verdicts[claims.main]


@pytest.mark.parametrize(("value", "expected"), [(0.45, Verdict.UNDECIDED), (0.50, "supported")])
def test_one_run_borrows_the_spread_of_the_baseline(value, expected):
    """By Student's t of four degrees of freedom: the interval is 2.78 standard errors long."""
    row = judged(numbers([value], FIVE))
    error = np.std(FIVE, ddof=1) * np.sqrt(1 + 1 / 5)
    assert row.size == pytest.approx(value - 0.42) and row.verdict == expected
    assert row.high - row.size == pytest.approx(2.776 * error, rel=0.05)
    assert "a method with few runs is given the spread of the others' runs" in str(row.note)


def test_one_run_of_both_decides_nothing():
    row = judged(numbers([0.9], [0.4], 0.9 + np.zeros(3), 0.4 + np.zeros(3)))
    assert not row.varied and "no training resampled" in str(row.note)
    assert judged(numbers([np.nan], FIVE)).verdict == Verdict.NO_DATA


def test_more_runs_of_a_method_never_cost_certainty():
    widths = []
    for count in range(1, 6):
        row = judged(numbers(np.add(FIVE, 0.1)[:count], FIVE))
        widths.append(row.high - row.low)
    assert widths[0] > widths[1] > widths[2] > widths[4]


def test_methods_on_the_same_networks_are_paired_by_run():
    """Their difference is the same in each run, however much the networks vary."""
    table = numbers(np.add(FIVE, 0.001), FIVE)
    same = Trainings("b", lambda name: "b")
    assert judged(table, same).verdict == Verdict.SUPPORTED
    assert judged(table).verdict == Verdict.UNDECIDED


def test_images_and_runs_are_both_sources_of_variation():
    noise = np.random.default_rng(0).standard_normal(400) * 0.02
    a, b = [0.46], FIVE
    alone = judged(numbers(a, b))
    both = judged(numbers(a, b, 0.46 + noise, 0.42 + 0 * noise))
    shared = judged(numbers(a, b, 0.46 + noise, 0.42 + noise))  # the same images in both
    assert both.high - both.low > 1.2 * (alone.high - alone.low)
    assert shared.high - shared.low == pytest.approx(alone.high - alone.low, rel=1e-6)


def test_intervals_leave_out_zero_in_one_of_twenty_cases_where_nothing_differs():
    generator, decided = np.random.default_rng(0), []
    for _ in range(300):
        row = judged(numbers(generator.standard_normal(3), generator.standard_normal(5)))
        decided.append(not row.low <= 0 <= row.high)
    assert np.mean(decided) == pytest.approx(0.05, abs=0.025)


def test_a_second_run_after_an_undecided_first_one_rarely_supports_by_chance():
    """Nothing differs; a claim that the first run leaves open is judged again with the second."""
    generator, supported = np.random.default_rng(0), []
    for _ in range(300):
        a, b = generator.standard_normal(2), generator.standard_normal(5)
        looks = (judged(numbers(a[:runs], b)).verdict for runs in (1, 2))
        supported.append(Verdict.SUPPORTED in looks)
    assert np.mean(supported) == pytest.approx(0.024, abs=0.02)


def ensemble(members, without):
    """Rows of an ensemble a of the runs of b, and of a without each run."""
    table = numbers([members], FIVE)
    left_out = numbers(without, [], calibration=WITHOUT_RUN)
    return pd.concat([table, left_out])


@pytest.mark.parametrize(("share", "expected"), [(1, "supported"), (-1, "undecided")])
def test_an_ensemble_moves_with_its_members(share, expected):
    """It is as far ahead in both cases; but it varies as the members do, or against them."""
    without = 0.45 + share * (leave_out(np.array(FIVE)) - 0.42)
    row = judged(ensemble(0.45, without))
    assert row.verdict == expected
    error = np.sqrt(jackknife(without - leave_out(np.array(FIVE))))
    assert row.high - row.size == pytest.approx(2.776 * error, rel=0.05, abs=1e-9)


def test_a_method_with_few_runs_is_given_the_spread_of_the_baseline_and_not_of_another_score():
    """Score c on the baseline's networks varies little."""
    of = Trainings("b", {"a": "a", "b": "b", "c": "b"}.get)
    constant = numbers(np.full(5, 0.42), [], method="c")
    table = pd.concat([numbers([0.5], FIVE), constant], ignore_index=True)
    effect = Effect("a - c", number("ece", "a") - number("ece", "c"), ">", 0.0)
    row = evaluate([replace(CLAIM, effects=(effect,))], table, trainings=of)[-1]
    assert row.high - row.size == pytest.approx(2.776 * np.std(FIVE, ddof=1), rel=0.05)


@pytest.mark.parametrize(
    ("ahead", "expected"), [(0.03, "supported"), (-0.03, "contradicted"), (0.0, "undecided")]
)
def test_five_runs_of_each_training_settle_the_main_claim(ahead, expected):
    """As the paper has them: one ensemble, which is ahead of, behind or like the best method."""
    claims = load_claims("unknown_detection")
    aurc = {("ensemble", "aurc", "union"): 0.44 - ahead}
    aurc |= {(name, "aurc", "union"): 0.44 for name in METHODS if name != "ensemble"}
    table = made_up(aurc, runs=5, spread=0.004)
    table = table[(table["method"] != "ensemble") | (table["run"] == 0)]
    assert claims.settled_by == "five runs of each training"
    assert main_verdict(claims, table) == expected


@pytest.mark.parametrize("like", ["resnet20", "vit", ""])
def test_a_fourth_family_settles_that_scaling_leaves_a_gap(like):
    """If it is like the ResNet, or the transformer; if scaling does not help it, no verdict."""
    claims = load_claims("openset_calibration")
    table = results.read(project_root() / "results/small/openset_calibration.parquet")
    fourth = table[table["backbone"] == (like or "resnet20")].assign(backbone="vgg16")
    if not like:
        fourth = fourth.query("calibration != 'after'")
        fourth = pd.concat([fourth, fourth.assign(calibration="after")])
    assert claims.settled_by == "five splits of a network of a fourth family"
    three = table.query("backbone != 'vit'")
    assert main_verdict(claims, three) == "undecided"
    four = pd.concat([three, fourth], ignore_index=True)
    assert main_verdict(claims, four) == ("supported" if like else "undecided")


@pytest.mark.parametrize(("ahead", "expected"), [(False, "supported"), (True, "undecided")])
def test_several_families_with_both_thresholds_settle_that_no_score_is_consistently_better(
    ahead, expected
):
    """The second threshold is as the first, or has KNN ahead of MSP on each network."""
    claims = load_claims("human_centric")
    knn = {(name, "knn"): rate[0] - 0.09 for name, rate in MODELS.items()}
    second = models(knn if ahead else ()).assign(variant=FRESH)
    table = pd.concat([models(), second], ignore_index=True)
    assert (
        "several families" in claims.settled_by and "both kinds of threshold" in claims.settled_by
    )
    assert main_verdict(claims, table) == expected


@pytest.mark.parametrize(
    ("auroc", "sets", "expected"),
    [(0.852, 200, "supported"), (0.75, 200, "contradicted"), (0.82, 60, "undecided")],
)
def test_as_many_sets_as_the_paper_has_settle_the_main_claim_on_gscores(auroc, sets, expected):
    """With the paper's correlation, or a clearly lower one; fewer sets leave values between open.

    The noise gives single sets a correlation of about 0.85.
    """
    claims = load_claims("gscore")
    table = of_sets({"pearson_auroc": auroc - 0.88}, sets=sets, noise=0.054)
    assert claims.settled_by.startswith("the paper's 200 sets")
    assert main_verdict(claims, table) == expected


@pytest.mark.parametrize(("gain", "expected"), [(0.0, "supported"), (0.05, "contradicted")])
def test_two_networks_with_the_papers_schedule_settle_that_no_algorithm_is_better(gain, expected):
    """With three data seeds, as in the paper, if these differ little."""
    claims = load_claims("uimnet")
    better = (0.02 + gain, {"algorithm": ["mixup"], "metric": ["accuracy"]})
    table = of_algorithms(better, runs=3, spread=0.0005)
    assert claims.settled_by.startswith("the paper's two networks with its schedule")
    assert main_verdict(claims, table) == expected
