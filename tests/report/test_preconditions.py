from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from helpers.files import project_root
from helpers.papers import PAPERS
from helpers.report.claims import Claim, Effect, Term, Verdict
from helpers.report.ledger import caveat
from helpers.report.paper_claims import Claims
from helpers.report.preconditions import (
    LACKS,
    LEAST_RIGHT,
    PLAIN,
    mark,
    unlearnt,
)

GAIN = Effect("b minus a", (Term(1, "b", "auroc"), Term(-1, "a", "auroc")), ">", 0.0)
CLAIMS = Claims("toy", (Claim("better", "B is better.", "", "", (GAIN,)),))


def made_up(right, gain=0.05, *, method="network", runs=3):
    """A results table: how often each network is right, and two methods on it."""
    rows = []
    for backbone, share in right.items():
        for run in range(runs):
            values = {(method, "accuracy"): share, ("a", "auroc"): 0.7, ("b", "auroc"): 0.7 + gain}
            for (name, metric), value in values.items():
                noise = 0.002 * np.random.default_rng(run).standard_normal(20)
                rows.append({"method": name, "metric": metric, "backbone": backbone, "run": run,
                             "value": value, "bootstrap": value + noise})  # fmt: skip
    place = {"paper": "toy", "tier": "mini", "data_set": "d", "test_set": "test"}
    return pd.DataFrame(rows).assign(**place, variant="primary", calibration="")


def verdict(table):
    return str(CLAIMS.verdicts(CLAIMS.check(table))["verdict"].item())


@pytest.mark.parametrize("method", PLAIN)
def test_networks_must_be_right_on_half_of_the_images(method):
    """Whatever the numbers say; on both sides of the bound, by the names of all papers."""
    for gain, decided in ((0.05, "supported"), (-0.05, "contradicted")):
        assert verdict(made_up({"a8": LEAST_RIGHT + 0.01}, gain, method=method)) == decided
        assert verdict(made_up({"a8": LEAST_RIGHT - 0.01}, gain, method=method)) == "not testable"


@pytest.mark.parametrize("tier", ["mini", "frozen"])
@pytest.mark.parametrize("about", [(), ("training",), ("detection",), ("training", "detection")])
def test_heads_on_frozen_features_say_nothing_about_training(tier, about):
    """Whatever the numbers say; other tiers do, and so do claims about neither."""
    claims = replace(CLAIMS, claims=(replace(CLAIMS.claims[0], about=about),))
    for gain, decided in ((0.05, "supported"), (-0.05, "contradicted")):
        checks = claims.check(made_up({"a8": 0.9}, gain).assign(tier=tier))
        barred = tier == "frozen" and about
        assert claims.verdicts(checks)["verdict"].item() == ("not testable" if barred else decided)
        for what in about:
            assert checks["note"].str.contains(LACKS["frozen"][what]).all() == bool(barred)


def test_networks_that_are_made_robust_are_not_asked_for_accuracy():
    """Theirs is what their training costs; nor are printed numbers, or tables without any."""
    assert unlearnt(made_up({"a8": 0.9, "a8+adversarial_1": 0.3})) == {}
    assert verdict(made_up({"a8": 0.1}, method="crl")) == "supported"


@pytest.mark.parametrize(
    "path",
    [path for path in sorted(project_root().glob("results/*/*.parquet")) if path.stem in PAPERS],
    ids=lambda path: path.stem,
)
def test_no_network_of_a_committed_table_passes_unasked(path):
    """In every chapter: if none were ever right, each would be named."""
    table = pd.read_parquet(path)
    plain = table[~table["backbone"].str.contains("+", regex=False)]
    named = {network for network in unlearnt(table.assign(value=0.0)) if network[1]}
    assert named == set(zip(plain["data_set"], plain["backbone"], strict=True)) != set()


def test_numbers_over_several_networks_go_by_the_median():
    reasons = unlearnt(made_up({"a8": 0.2, "b8": 0.3, "c8": 0.9}))
    assert set(reasons) == {("d", "a8"), ("d", "b8"), ("d", "")}
    rows = pd.DataFrame(
        {"data_set": "d", "backbone": ["all models", "c8"], "untestable": ["x", ""]}
    )
    assert mark(rows, reasons)["untestable"].tolist() == [
        "x; right on less than 50 % of the test images", ""
    ]  # fmt: skip
    assert ("d", "") not in unlearnt(made_up({"a8": 0.2, "b8": 0.8, "c8": 0.9}))


@pytest.mark.parametrize(
    ("runs", "networks", "evidence", "said"),
    [
        (1, ["resnet8", "vit2"], "", "one run"),
        (2, ["resnet8", "resnet14"], "", "one family of networks"),
        (2, ["resnet8"], "", "one architecture"),
        (2, ["resnet8", "resnet8+spectral"], "", "one architecture"),
        (2, ["resnet8", "vit2"], "2 networks, 1 architecture, 1 family", "one architecture"),
        (1, ["resnet8", "vit2"], "2 networks, 1 family", "one run; one family of networks"),
        (2, ["resnet8", "vit2"], "2 networks, 2 families", ""),
    ],
)  # fmt: skip
def test_a_verdict_says_what_it_rests_on(runs, networks, evidence, said):
    table, summed = pd.DataFrame({"backbone": networks}), {"evidence": evidence}
    for one in Verdict:
        decided = one in (Verdict.SUPPORTED, Verdict.CONTRADICTED)
        assert caveat({"verdict": one, "runs": runs}, summed, table) == said * decided


def test_every_claim_is_about_what_a_tier_may_lack():
    """Misspelled, it would be no condition; what compares ways to train is marked by hand."""
    for paper in PAPERS.values():
        for claim in paper.claims.CLAIMS.claims if paper.main_claim else ():
            assert set(claim.about) <= set(LACKS["frozen"])
