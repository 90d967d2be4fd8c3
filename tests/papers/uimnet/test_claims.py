import itertools

import numpy as np
import pandas as pd
import pytest

from helpers.papers.uimnet.claims import ALL_SIZES, CLAIMS, derive
from helpers.papers.uimnet.parameters import ALGORITHMS, MEASURES
from helpers.report.claims import Verdict

BASE = {"accuracy": 0.7, "nll": 1.0, "ece": 0.10, "auroc": 0.8, "out_as_out": 0.3}
IN = ("accuracy", "nll", "ece")
POOR = ("jacobian", "tta", "native")


def agreeing(backbone, algorithm, measure, variant, calibration, metric):
    """A number that agrees with all claims."""
    value = BASE[metric] - 0.2 * (algorithm == "rbf")
    if algorithm not in ("erm", "rbf"):
        value += {"accuracy": -0.02, "nll": 0.02}.get(metric, 0.0)
    if variant == "ensemble" and not (algorithm == "mimo" and measure):
        value += {"nll": -0.1, "ece": -0.03}.get(metric, 0.04)
    if algorithm == "mimo" and metric == "out_as_out":
        value += 0.05
    if calibration == "after":
        value += {"ece": -0.04}.get(metric, 0.0)
    if backbone.endswith("+spectral"):
        value += {"nll": 0.1, "ece": 0.0}.get(metric, -0.05)
    if measure in POOR:
        value -= 0.1
    if metric == "out_as_out" and backbone.startswith("resnet20"):
        value += 0.1
    return value


@pytest.fixture(scope="module")
def made_up(table_of):
    """Return a function that makes tables of `agreeing` numbers, with noise around them.

    To each number is added what is given for values of what tells it apart: ``(0.1, {"metric":
    "nll"})`` raises every NLL.
    """

    def build(*changes, spread=0.001, runs=2, replicates=40):
        generator, records = np.random.default_rng(0), []
        grid = itertools.product(
            ("resnet8", "resnet8+spectral", "resnet20", "resnet20+spectral"), ALGORITHMS,
            ("", *MEASURES), ("primary", "ensemble"), ("before", "after"), BASE, range(runs),
        )  # fmt: skip
        for *key, run in grid:
            names = ("backbone", "algorithm", "measure", "variant", "calibration", "metric")
            named = dict(zip(names, key, strict=True))
            if (named["metric"] in IN) == bool(named["measure"]):
                continue
            value = agreeing(**named) + sum(
                gain
                for gain, where in changes
                if all(named[name] in values for name, values in where.items())
            )
            noise = value + spread * generator.standard_normal(replicates + 1)
            method = f"{named.pop('algorithm')}/{named['measure']}".rstrip("/")
            test_set = "out" if named.pop("measure") else "test"
            records.append(named | {"method": method, "test_set": test_set, "run": run,
                                    "value": noise[0], "bootstrap": noise[1:]})  # fmt: skip
        return table_of(records, paper="uimnet")

    return build


@pytest.fixture(scope="module")
def table(made_up):
    return made_up()


@pytest.fixture(scope="module")
def exact(made_up):
    return made_up(spread=0, runs=1, replicates=3)


def verdicts(table):
    summed = CLAIMS.verdicts(CLAIMS.check(table))
    return dict(zip(summed["claim"], map(str, summed["verdict"]), strict=True))


def number(rows, what, metric, backbone="resnet8"):
    query = "method == @what and metric == @metric and backbone == @backbone"
    return rows.query(query)["value"].item()


def test_numbers_that_agree_support_every_claim(table):
    """Eight claims, each with an identifier of its own."""
    found = verdicts(table)
    assert len(found) == len(CLAIMS.claims) == 8
    assert set(found.values()) == {"supported"}


SPECTRAL, LARGE = ("resnet8+spectral", "resnet20+spectral"), ("resnet20", "resnet20+spectral")
SOME = ("erm", "mixup", "rnd", "oc")
AFTER = {"calibration": ("after",), "metric": ("auroc",)}


@pytest.mark.parametrize(
    ("claim", "changes"),
    [
        ("erm", [(0.05, {"algorithm": ("mixup",), "metric": ("accuracy",)})]),
        ("erm", [(-0.2, {"algorithm": ("mixup",), "metric": ("nll",)})]),
        ("ensemble-in-domain", [(0.1, {"variant": ("ensemble",), "metric": ("ece",)})]),
        ("ensemble-out-domain", [(-0.06, {"variant": ("ensemble",), "metric": ("auroc",)})]),
        ("mimo", [(-0.1, {"backbone": LARGE, "algorithm": ("mimo",), "metric": ("out_as_out",)})]),
        # changes that cancel out in their mean over algorithms
        ("calibration", [(-0.05, AFTER), (0.1, AFTER | {"algorithm": SOME})]),
        ("spectral", [(0.1, {"backbone": SPECTRAL, "metric": ("out_as_out",)})]),
        ("measures", [(0.2, {"measure": ("jacobian",), "metric": ("auroc",)})]),
        ("size", [(-0.2, {"backbone": LARGE, "metric": ("out_as_out",)})]),
    ],
)  # fmt: skip
def test_numbers_on_the_other_side_contradict_the_claim(claim, changes, made_up):
    """What contradicts one claim leaves the others."""
    found = verdicts(made_up(*changes, runs=1))
    assert found.pop(claim) == "contradicted"
    assert set(found.values()) == {"supported"}


def test_derived_numbers_by_hand(exact):
    """On numbers without noise each is what its definition says, and so are its replicates."""
    rows = derive(exact)
    for expected, *what in (
        (0.02, "Mixup minus ERM", "nll"),
        (-0.1, "ensemble minus single", "nll"),
        (0.04, "ensemble minus single", "auroc"),
        (0, "MIMO ensemble minus single", "auroc"),
        (-0.04, "calibrated minus not", "ece"),
        (-0.05, "spectral normalisation minus none", "accuracy"),
        (0.1, "worst of Entropy, Largest and Gap minus Native", "out_as_out"),
        (0.05 - 0.04, "MIMO minus ERM ensemble", "out_as_out", "resnet20"),
        (0.1, "largest minus smallest network", "out_as_out", ALL_SIZES),
    ):
        assert number(rows, *what) == pytest.approx(expected)
    mimo = rows.query("method == 'MIMO minus ERM ensemble'")
    assert set(mimo["backbone"]) == {"resnet20"}  # the largest alone
    for value, replicates in zip(rows["value"], rows["bootstrap"], strict=True):
        assert replicates == pytest.approx([value] * 3, abs=1e-6)


def test_the_worst_of_the_three_measures_counts_over_algorithms_that_have_both(exact):
    """A weak Gap lowers the mean over algorithms without RBF; ERM without Native is not in it."""
    method, what = exact["method"], "worst of Entropy, Largest and Gap minus"
    weak = method.isin(["erm/gap", "rbf/gap"]) & (exact["metric"] == "auroc")
    lower = exact.assign(value=exact["value"] - 0.7 * weak)
    assert number(derive(lower), f"{what} Jacobian", "auroc") == pytest.approx(0.1 - 0.7 / 7)
    higher = exact.assign(value=exact["value"] + 0.7 * method.str.startswith("erm/"))
    rows = derive(higher[method != "erm/native"])
    assert number(rows, f"{what} Native", "auroc") == pytest.approx(0.1)


def test_a_run_without_one_of_the_algorithms_has_no_mean(table):
    """The other run keeps its own; comparisons that the algorithm is not in keep both."""
    gone = (table["method"] == "oc/entropy") & (table["run"] == 1)
    rows = derive(table[~gone])
    runs = rows.groupby(["method", "metric"])["run"].agg(set)
    assert runs["ensemble minus single", "auroc"] == {0}
    assert runs["ensemble minus single", "nll"] == runs["Mixup minus ERM", "nll"] == {0, 1}


def test_of_several_coefficients_the_most_accurate_counts(table):
    """Networks of another coefficient move no other claim, and are no larger network."""
    own = table[table["backbone"].str.endswith("+spectral")]

    def check_with(gain):
        other = own.assign(
            backbone=own["backbone"] + "_3", value=own["value"] + gain,
            bootstrap=[b + g for b, g in zip(own["bootstrap"], gain, strict=True)],
        )  # fmt: skip
        return CLAIMS.check(pd.concat([table, other], ignore_index=True))

    before, accuracy = CLAIMS.check(table), own["metric"] == "accuracy"
    pd.testing.assert_frame_equal(check_with(np.full(len(own), -0.3)), before)
    pd.testing.assert_frame_equal(check_with(np.where(accuracy, -0.3, 0.5)), before)
    found, expected = (
        CLAIMS.verdicts(checks).set_index("claim")["verdict"]
        for checks in (check_with(np.full(len(own), 0.3)), before)
    )
    assert found["spectral"] == Verdict.CONTRADICTED
    assert found.drop("spectral").equals(expected.drop("spectral"))


def test_missing_variants_are_no_data_with_a_reason(table):
    """Each claim says what it needs; the others keep their verdicts."""
    small = table[(table["backbone"] == "resnet8") & (table["variant"] == "primary")]
    summed = CLAIMS.verdicts(CLAIMS.check(small)).set_index("claim")
    absent = summed[summed["verdict"] == Verdict.NO_DATA]
    expected = ["ensemble-in-domain", "ensemble-out-domain", "mimo", "spectral", "size"]
    assert absent.index.tolist() == expected
    assert "needs networks of two sizes" in absent.loc["size", "sentence"]
    assert set(summed["verdict"].drop(expected)) == {Verdict.SUPPORTED}
    nothing = CLAIMS.verdicts(CLAIMS.check(table.iloc[:0]))
    assert set(nothing["verdict"]) == {Verdict.NO_DATA}


def test_rows_of_trials_rbf_and_other_papers_are_left_out(table):
    """None of them moves a verdict."""
    trials = table.assign(variant="trial 0", value=9.0)
    others = table.assign(paper="gscore", value=9.0)
    both = pd.concat([trials, others, table[~table["method"].str.startswith("rbf")]])
    pd.testing.assert_frame_equal(CLAIMS.check(both), CLAIMS.check(table))


def test_bad_input(table):
    """Numbers that are there twice or cannot be paired are refused."""
    with pytest.raises(ValueError, match="there twice: data_set cifar10_mini, backbone"):
        derive(pd.concat([table, table]))
    other = table.copy()
    other.at[0, "bootstrap"] = other.at[0, "bootstrap"][:5]
    with pytest.raises(ValueError, match="different numbers of bootstrap replicates"):
        derive(other)
