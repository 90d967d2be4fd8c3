"""What the claims of Belghazi and Lopez-Paz compute; each verdict of each claim: tests/report."""

import numpy as np
import pandas as pd
import pytest

from helpers.papers.uimnet.claims import ALL_SIZES, CLAIMS, derive
from helpers.report.claims import Verdict
from tests.report import claim_tables
from tests.report.claim_tables import table_of
from tests.report.claim_tables import uimnet as made_up


def verdicts(table, **given):
    return claim_tables.verdicts("uimnet", table, **given)


@pytest.fixture(scope="module")
def table():
    return made_up()


@pytest.fixture(scope="module")
def exact():
    return made_up(spread=0, runs=1, replicates=3)


def number(rows, what, metric, backbone="resnet8"):
    query = "method == @what and metric == @metric and backbone == @backbone"
    return rows.query(query)["value"].item()


def test_an_algorithm_or_measure_that_is_not_the_papers_changes_no_verdict(table):
    """However good it is: the sentences are the paper's."""
    own = [table]
    for old, new in (("mixup", "logit_norm"), ("erm/gap", "erm/vim"), ("mixup/gap", "mixup/vim")):
        method = table["method"]
        chosen = table[(method == old) | method.str.startswith(f"{old}/")]
        names = chosen["method"].str.replace(old, new, regex=False)
        own.append(chosen.assign(method=names, value=chosen["value"] + 0.2))
    pd.testing.assert_frame_equal(CLAIMS.check(pd.concat(own)), CLAIMS.check(table))


def test_rnd_and_oc_are_erm_and_count_once(exact):
    """Their numbers move nothing but the means of Native, which is their own."""
    student = exact["method"].str.match("(rnd|oc)(/|$)") & ~exact["method"].str.endswith("native")
    moved = exact.assign(value=exact["value"] + 0.2 * student)
    rows, other = derive(exact), derive(moved)
    differ = ~np.isclose(rows["value"], other["value"])
    assert rows["method"][differ].str.endswith("minus Native").all()


def with_trials(table, *, classes=10.0, nll=1.0):
    """The table with what else is said of each network: its classes, and a trial's likelihood."""
    rows = [
        {"backbone": one, "method": "erm", "variant": variant, "metric": metric, "run": 0,
         "value": value, "test_set": test_set, "bootstrap": [value] * 40}
        for one in ("resnet8", "resnet20")
        for variant, metric, value, test_set in (
            ("primary", "classes", classes, "test"), ("trial 1", "nll", nll, "validation"))
    ]  # fmt: skip
    return pd.concat([table, table_of(rows, paper="uimnet")], ignore_index=True)


def untestable(table):
    return {name for name, one in verdicts(table).items() if one == "not testable"}


def test_what_networks_must_know_for_claims_on_ensembles_and_out_domain_images():
    """A member that has learnt nothing, and a measure at chance: on both sides of the bounds."""
    table = made_up(runs=1)
    told = with_trials(table)
    assert set(verdicts(told).values()) == {"supported"}
    of_ensembles = {"ensemble-in-domain", "ensemble-out-domain", "mimo"}
    assert untestable(with_trials(table, nll=2.2)) == of_ensembles  # log 10 is 2.3
    unsaid = told[told["metric"] != "classes"]  # nobody knows what guessing costs
    assert untestable(unsaid) == of_ensembles
    chance = told["value"] - 0.27 * (told["metric"] == "auroc")
    assert untestable(told.assign(value=chance)) == {
        "erm-out-domain", "alike", "ensemble-out-domain", "mimo", "calibration", "spectral",
        "entropy", "measures", "gmm-rbf", "size",
    }  # fmt: skip


def test_where_all_answers_are_among_the_first_five_nothing_can_rise(table):
    """With four classes ACC@5 is 1 for all: that contradicts no claim."""
    sure = table["metric"] == "accuracy_top5"
    replicates = [np.ones(40) if one else own
                  for one, own in zip(sure, table["bootstrap"], strict=True)]  # fmt: skip
    ceiling = table.assign(value=table["value"].mask(sure, 1.0), bootstrap=replicates)
    found = verdicts(with_trials(ceiling, classes=4.0))
    assert found.pop("ensemble-in-domain") == "not testable"
    assert set(found.values()) == {"supported"}
    assert verdicts(with_trials(ceiling))["ensemble-in-domain"] == "contradicted"


def test_derived_numbers_by_hand(exact):
    """On numbers without noise each is what its definition says, and so are its replicates."""
    rows = derive(exact)
    for expected, *what in (
        (0.02, "Mixup minus ERM", "nll"),
        (-0.1, "ensemble minus single", "nll"),
        (0.04, "ERM ensemble minus single", "auroc"),
        (0, "MIMO ensemble minus single", "auroc"),
        (-0.04, "calibrated minus not", "ece"),
        (-0.01, "spectral normalisation minus none", "auroc"),
        (0.04, "Entropy minus Gap", "auroc"),
        (-0.2, "RBF minus ERM", "accuracy"),
        (0.1 - 0.04, "worst of Entropy, Largest and Gap minus Native", "out_as_out"),
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
    assert number(derive(lower), f"{what} Jacobian", "auroc") == pytest.approx(0.1 - 0.04 - 0.7 / 5)
    higher = exact.assign(value=exact["value"] + 0.7 * method.str.startswith("erm/"))
    rows = derive(higher[method != "erm/native"])
    assert number(rows, f"{what} Native", "auroc") == pytest.approx(0.1 - 0.04)


def test_a_run_without_one_of_the_algorithms_has_no_mean(table):
    """The other run keeps its own; comparisons that the algorithm is not in keep both."""
    gone = (table["method"] == "mixup/entropy") & (table["run"] == 1)
    rows = derive(table[~gone])
    runs = rows.groupby(["method", "metric"])["run"].agg(set)
    assert runs["change with calibration", "auroc"] == {0}
    assert runs["ensemble minus single", "nll"] == runs["Mixup minus ERM", "nll"] == {0, 1}


@pytest.mark.parametrize("form", ["strict", "bounded", "bounded_3", "weights_3", "spectral"])
def test_the_papers_form_of_spectral_normalisation_alone_counts(table, form):
    """Networks of another form, however bad, move no verdict; without the paper's there is none."""
    own = table["backbone"].str.endswith("+weights")
    other = table[own].assign(backbone=table["backbone"].str.replace("weights", form))
    other = other.assign(
        value=other["value"] - 0.3, bootstrap=[b - 0.3 for b in other["bootstrap"]]
    )
    before = CLAIMS.check(table)
    both = CLAIMS.check(pd.concat([table, other], ignore_index=True))
    pd.testing.assert_frame_equal(both, before)
    without = CLAIMS.check(pd.concat([table[~own], other], ignore_index=True))
    found = CLAIMS.verdicts(without).set_index("claim")["verdict"]
    assert found.pop("spectral") == Verdict.NO_DATA
    assert set(found) == {Verdict.SUPPORTED}


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
