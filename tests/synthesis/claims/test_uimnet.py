"""Differences behind the claims of Belghazi and Lopez-Paz; `tests.tables` tests each verdict."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

from synthesis.claims.uimnet import CLAIMS, derive
from tests.synthesis.claim_tables import table_of, verdicts
from tests.synthesis.claim_tables import uimnet as made_up


@pytest.fixture(scope="module")
def table():
    return made_up()


@pytest.fixture(scope="module")
def exact():
    return made_up(spread=0, runs=1, replicates=3)


def number(rows, name, metric, backbone="resnet8"):
    query = "method == @name and metric == @metric and backbone == @backbone"
    return rows.query(query)["value"].item()


def test_rnd_and_oc_count_only_in_means_of_native(exact):
    student = exact["method"].str.match("(rnd|oc)(/|$)") & ~exact["method"].str.endswith("native")
    rows, other = derive(exact), derive(exact.assign(value=exact["value"] + 0.2 * student))
    differ = ~np.isclose(rows["value"], other["value"])
    assert rows["method"][differ].str.endswith("minus Native").all()
    assert {*rows["backbone"][rows["method"] == "MIMO minus ERM ensemble"]} == {"resnet20"}


def with_trials(table, nll=1.0):
    """Return the table with the number of classes and the likelihood of a trial."""
    trials = ("primary", "classes", 10.0, "test"), ("trial 1", "nll", nll, "validation")
    rows = [
        dict(backbone=name, variant=variant, metric=metric, value=value, test_set=test_set)
        | {"bootstrap": [value] * 40}
        for name, (variant, metric, value, test_set) in product(("resnet8", "resnet20"), trials)
    ]
    return pd.concat([table, table_of(rows, paper="uimnet", method="erm")], ignore_index=True)


def untestable(table):
    return {name for name, text in verdicts("uimnet", table).items() if text == "not testable"}


def test_claims_about_ensembles_and_out_domain_images_need_networks_that_have_learned(table):
    """A claim about ensembles needs one trial better than chance, whose NLL is log 10 or 2.3."""
    complete = with_trials(table)
    assert set(verdicts("uimnet", complete).values()) == {"supported"}
    ensembles = {"two-best", "ensemble-in-domain", "ensemble-out-domain", "ensemble-mimo", "mimo"}
    assert untestable(with_trials(table, nll=2.2)) == ensembles
    assert untestable(complete[complete["metric"] != "classes"]) == ensembles
    other = complete[complete["variant"] == "trial 1"].assign(variant="trial 2")
    for nats, expected in ((0.2, set()), (0.4, ensembles)):
        further = other.assign(value=other["value"] + nats)
        assert untestable(pd.concat([complete, further], ignore_index=True)) == expected
    chance = complete["value"] - 0.27 * (complete["metric"] == "auroc")
    out_domain = {claim.id for claim in CLAIMS.claims} - {"erm", "ensemble-in-domain", "rbf"}
    assert untestable(complete.assign(value=chance)) == out_domain
    together = complete["variant"].eq("ensemble") & complete["method"].eq("erm/entropy")
    assert untestable(complete.assign(value=complete["value"] - 0.1 * together)) == {"mimo"}


def test_the_worst_of_three_measures_is_over_algorithms_that_have_both(exact):
    """A weak Gap lowers the mean over algorithms without RBF; ERM without Native is not in it."""
    method, name = exact["method"], "worst of Entropy, Largest and Gap minus"
    weak = method.isin(["erm/gap", "rbf/gap"]) & (exact["metric"] == "auroc")
    rows = derive(exact.assign(value=exact["value"] - 0.7 * weak))
    assert number(rows, f"{name} Jacobian", "auroc") == pytest.approx(0.1 - 0.04 - 0.7 / 5)
    higher = exact.assign(value=exact["value"] + 0.7 * method.str.startswith("erm/"))
    rows = derive(higher[method != "erm/native"])
    assert number(rows, f"{name} Native", "auroc") == pytest.approx(0.1 - 0.04)


def test_a_run_without_one_of_the_algorithms_has_no_mean(table):
    gone = (table["method"] == "mixup/entropy") & (table["run"] == 1)
    runs = derive(table[~gone]).groupby(["method", "metric"])["run"].agg(set)
    assert runs["change with calibration", "auroc"] == {0}
    assert runs["ensemble minus single", "nll"] == runs["Mixup minus ERM", "nll"] == {0, 1}
