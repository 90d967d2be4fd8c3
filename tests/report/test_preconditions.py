from dataclasses import replace

import pandas as pd
import pytest

from helpers.files import project_root
from helpers.papers import PAPERS
from helpers.report.claims import Claim, Effect, Term
from helpers.report.paper_claims import Claims
from helpers.report.preconditions import LACKS, LEAST_RIGHT, PLAIN, mark, unlearnt
from tests.report.claim_tables import named, noisy

GAIN = Effect("b minus a", (Term(1, "b", "auroc"), Term(-1, "a", "auroc")), ">", 0.0)
CLAIMS = Claims("toy", (Claim("better", "B is better.", "", "", (GAIN,)),))
GAINS = [(0.05, "supported"), (-0.05, "contradicted")]
FILES = [file for file in project_root().glob("results/*/*.parquet") if file.stem in PAPERS]


def made_up(right, gain=0.05, *, method="network", tier="mini"):
    """A results table: how often each network is right, and two methods on it."""
    pairs = []
    for backbone, share in right.items():
        values = {(method, "accuracy"): share, ("a", "auroc"): 0.7, ("b", "auroc"): 0.7 + gain}
        pairs += named(values, "method", "metric", backbone=backbone)
    return noisy("toy", pairs, runs=3, spread=0.002, tier=tier, data_set="d")


def verdict(table, claims=CLAIMS):
    return str(claims.verdicts(claims.check(table))["verdict"].item())


@pytest.mark.parametrize(("gain", "decided"), GAINS)
def test_networks_must_be_right_on_half_of_the_images(gain, decided):
    """Whatever the numbers say; on both sides of the bound, by the names of all papers."""
    for method in PLAIN:
        assert verdict(made_up({"a8": LEAST_RIGHT + 0.01}, gain, method=method)) == decided
        assert verdict(made_up({"a8": LEAST_RIGHT - 0.01}, gain, method=method)) == "not testable"


@pytest.mark.parametrize(("gain", "decided"), GAINS)
@pytest.mark.parametrize("about", [(), ("training",)])
def test_fine_tuned_networks_say_nothing_about_training(gain, decided, about):
    """Whatever the numbers say; other tiers do, and so do claims that are not about training."""
    claims = replace(CLAIMS, claims=(replace(CLAIMS.claims[0], about=about),))
    assert verdict(made_up({"a8": 0.9}, gain), claims) == decided
    fine_tuned = made_up({"a8": 0.9}, gain, tier="pretrained")
    assert verdict(fine_tuned, claims) == ("not testable" if about else decided)
    for what in about:
        assert claims.check(fine_tuned)["note"].str.contains(LACKS["pretrained"][what]).all()


def test_networks_that_are_made_robust_are_not_asked_for_accuracy():
    """Nor are printed numbers, or tables without any."""
    assert unlearnt(made_up({"a8": 0.9, "a8+adversarial_1": 0.3})) == {}
    assert verdict(made_up({"a8": 0.1}, method="crl")) == "supported"


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
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
    marked = mark(rows, reasons)["untestable"].tolist()
    assert marked == ["x; right on less than 50 % of the test images", ""]
    assert ("d", "") not in unlearnt(made_up({"a8": 0.2, "b8": 0.8, "c8": 0.9}))
