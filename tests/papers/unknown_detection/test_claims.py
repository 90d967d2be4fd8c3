import numpy as np
import pandas as pd
import pytest

from helpers.papers.unknown_detection.claims import CLAIMS
from helpers.papers.unknown_detection.parameters import METHODS
from helpers.report import claims, results
from helpers.report.claims import Verdict

MADE = {
    "seed": 0,
    "parameters": "0" * 12,
    "code": "0.1.0+0",
    "versions": "{}",
    "device": "cpu, 1 thread",
    "seconds": 1.0,
}
# Numbers that agree with all claims; each test moves some of them.
AGREEING = {
    **{(method, "aurc", "union"): 0.73 for method in METHODS},
    **{(method, "auroc", "near"): 0.73 for method in METHODS},
    **{(method, "auroc", "far"): 0.75 for method in METHODS},
    **{(method, "mean_confidence", "near"): 0.6 for method in ("baseline", "ensemble")},
    **{(method, "mean_confidence", "far"): 0.5 for method in ("baseline", "ensemble")},
    ("ensemble", "aurc", "union"): 0.69,
    ("baseline", "aurc", "test"): 0.075,
    ("odin", "aurc", "test"): 0.09,
    ("openmax", "aurc", "test"): 0.16,
    ("baseline", "accuracy", "test"): 0.744,
    ("outlier_exposure", "accuracy", "test"): 0.728,
    ("outlier_exposure", "auroc", "far"): 0.93,
    ("mahalanobis", "auroc", "aliased"): 0.9,
    ("mahalanobis", "auroc", "fixed"): 0.52,
}


def made_up(changes=None, *, spread=0.001, runs=3, replicates=40):
    """A results table around `AGREEING`, with random runs and replicates of the given spread."""
    generator = np.random.default_rng(0)
    records = [
        {
            "tier": "mini",
            "paper": "unknown_detection",
            "data_set": "cifar10_mini",
            "test_set": test_set,
            "backbone": "resnet8",
            "run": run,
            "method": method,
            "metric": metric,
            "value": value + spread * generator.standard_normal(),
            "bootstrap": value + spread * generator.standard_normal(replicates),
            "images": 100,
        }
        for run in range(runs)
        for (method, metric, test_set), value in (AGREEING | (changes or {})).items()
    ]
    return results.tidy(records, MADE)


def verdicts(table):
    summed = CLAIMS.verdicts(CLAIMS.check(table))
    return dict(zip(summed["claim"], map(str, summed["verdict"]), strict=True))


def test_numbers_that_agree_support_every_claim():
    """Six claims, each with an identifier of its own."""
    found = verdicts(made_up())
    assert len(found) == len(CLAIMS.claims) == 6
    assert set(found.values()) == {"supported"}


@pytest.mark.parametrize(
    ("claim", "changes"),
    [
        ("ensemble", {("crl", "aurc", "union"): 0.68}),  # one better method is enough
        ("misclassification", {("odin", "aurc", "test"): 0.07}),
        ("outlier-exposure", {("outlier_exposure", "accuracy", "test"): 0.76}),
        ("outlier-exposure", {("openmax", "auroc", "far"): 0.95}),
        ("near", {("augmix", "auroc", "near"): 0.80}),
        ("confidence", {("ensemble", "mean_confidence", "near"): 0.4}),
        ("mahalanobis", {("mahalanobis", "auroc", "aliased"): 0.51}),
        ("mahalanobis", {("mahalanobis", "auroc", "fixed"): 0.7}),
        ("mahalanobis", {("mahalanobis", "auroc", "fixed"): 0.3}),  # far from random, too
    ],
)
def test_numbers_on_the_other_side_contradict_one_claim(claim, changes):
    """A single number on the wrong side of its margin contradicts its claim and no other."""
    found = verdicts(made_up(changes))
    assert found.pop(claim) == "contradicted"
    assert set(found.values()) == {"supported"}


@pytest.mark.parametrize(
    ("claim", "changes"),
    [
        ("ensemble", {("crl", "aurc", "union"): 0.69}),
        ("misclassification", {("openmax", "aurc", "test"): 0.075}),
        ("outlier-exposure", {("odin", "auroc", "far"): 0.93}),
        ("near", {("augmix", "auroc", "near"): 0.78}),
        ("confidence", {("baseline", "mean_confidence", "near"): 0.5}),
        ("mahalanobis", {("mahalanobis", "auroc", "fixed"): 0.6}),
    ],
)
def test_numbers_at_the_margin_leave_it_undecided(claim, changes):
    """An interval that holds the margin decides nothing."""
    found = verdicts(made_up(changes))
    assert found.pop(claim) == "undecided"
    assert set(found.values()) == {"supported"}


def test_missing_numbers_are_no_data_with_a_sentence():
    """What a claim lacks is named with its test set; the other claims keep their verdicts."""
    table = made_up()
    summed = CLAIMS.verdicts(CLAIMS.check(table[table["method"] != "mahalanobis"]))
    last = summed.set_index("claim").loc["mahalanobis"]
    assert last["verdict"] == Verdict.NO_DATA
    assert "no run has: mahalanobis auroc on aliased; mahalanobis auroc on fix" in last["sentence"]
    assert set(summed["verdict"][:-1]) == {Verdict.SUPPORTED}
    nothing = CLAIMS.verdicts(CLAIMS.check(table.iloc[:0]))
    assert set(nothing["verdict"]) == {Verdict.NO_DATA}


def test_rows_of_other_papers_and_variants_are_left_out():
    """Only the chosen variant of this paper is checked."""
    contrary = made_up({("crl", "aurc", "union"): 0.68}).assign(variant="other")
    table = made_up()
    both = pd.concat([table, contrary, contrary.assign(paper="gscore")])
    assert verdicts(both) == verdicts(table)
    other = CLAIMS.verdicts(CLAIMS.check(both, variant="other"))
    assert other["verdict"].tolist()[0] == Verdict.CONTRADICTED


def test_the_papers_own_tables():
    """Tables 5 and 6 agree with the claims that they are about, and print nothing of the others."""
    checks = CLAIMS.check_published()
    summed = CLAIMS.verdicts(checks).set_index("claim")
    assert summed["verdict"].tolist() == ["supported"] * 4 + ["no data"] * 2
    assert summed["cells"].tolist() == [2, 2, 1, 2, 2, 2]  # one claim is about CIFAR alone
    own = checks[checks["data_set"] == "CIFAR-40"].set_index("check")["effect"]
    assert own["AURC on the union, CRL minus Deep Ensemble"] == pytest.approx(0.72722 - 0.69349)
    # the mean over SVHN, LSUN-FIX and DTD stands for the far images together
    far = (0.9612 + 0.8693 + 0.9774) / 3 - (0.7491 + 0.7050 + 0.7069) / 3
    name = "AUROC against far OOD, Outlier Exposure minus Baseline"
    assert own[name] == pytest.approx(far)
    near = checks[(checks["claim"] == "near") & (checks["data_set"] != claims.ALL)]
    assert near["effect"].max() == pytest.approx(0.0338)  # well below the margin of 0.05
