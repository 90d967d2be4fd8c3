import numpy as np
import pandas as pd
import pytest

from helpers.papers.unknown_detection.claims import CLAIMS
from helpers.papers.unknown_detection.parameters import METHODS
from helpers.report import claims
from helpers.report.claims import Verdict

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


@pytest.fixture(scope="module")
def made_up(table_of):
    """Return a function: a table around `AGREEING`, with random runs and replicates."""

    def build(changes=None, spread=0.001):
        generator = np.random.default_rng(0)
        records = [
            dict(test_set=test_set, run=run, method=method, metric=metric,
                 value=value + spread * generator.standard_normal(),
                 bootstrap=value + spread * generator.standard_normal(40))
            for run in range(3)
            for (method, metric, test_set), value in (AGREEING | (changes or {})).items()
        ]  # fmt: skip
        return table_of(records, paper="unknown_detection")

    return build


def verdicts(table):
    summed = CLAIMS.verdicts(CLAIMS.check(table))
    return dict(zip(summed["claim"], map(str, summed["verdict"]), strict=True))


def test_numbers_that_agree_support_every_claim(made_up):
    """Six claims, each with an identifier of its own."""
    found = verdicts(made_up())
    assert len(found) == len(CLAIMS.claims) == 6
    assert set(found.values()) == {"supported"}


@pytest.mark.parametrize(
    ("verdict", "claim", "cell", "value"),
    [
        ("contradicted", "ensemble", ("crl", "aurc", "union"), 0.68),  # one better one is enough
        ("contradicted", "misclassification", ("odin", "aurc", "test"), 0.07),
        ("contradicted", "outlier-exposure", ("outlier_exposure", "accuracy", "test"), 0.76),
        ("contradicted", "outlier-exposure", ("openmax", "auroc", "far"), 0.95),
        ("contradicted", "near", ("augmix", "auroc", "near"), 0.80),
        ("contradicted", "confidence", ("ensemble", "mean_confidence", "near"), 0.4),
        ("contradicted", "mahalanobis", ("mahalanobis", "auroc", "aliased"), 0.51),
        ("contradicted", "mahalanobis", ("mahalanobis", "auroc", "fixed"), 0.7),
        ("contradicted", "mahalanobis", ("mahalanobis", "auroc", "fixed"), 0.3),  # not random, too
        ("undecided", "ensemble", ("crl", "aurc", "union"), 0.69),
        ("undecided", "misclassification", ("openmax", "aurc", "test"), 0.075),
        ("undecided", "outlier-exposure", ("odin", "auroc", "far"), 0.93),
        ("undecided", "near", ("augmix", "auroc", "near"), 0.78),
        ("undecided", "confidence", ("baseline", "mean_confidence", "near"), 0.5),
        ("undecided", "mahalanobis", ("mahalanobis", "auroc", "fixed"), 0.6),
    ],
)
def test_a_single_number_moves_its_claim_and_no_other(made_up, verdict, claim, cell, value):
    """On the wrong side of a margin it contradicts, at the margin it leaves undecided."""
    found = verdicts(made_up({cell: value}))
    assert found.pop(claim) == verdict
    assert set(found.values()) == {"supported"}


def test_missing_numbers_are_no_data_with_a_sentence(made_up):
    """What a claim lacks is named with its test set; the other claims keep their verdicts."""
    table = made_up()
    summed = CLAIMS.verdicts(CLAIMS.check(table[table["method"] != "mahalanobis"]))
    last = summed.set_index("claim").loc["mahalanobis"]
    assert last["verdict"] == Verdict.NO_DATA
    assert "no run has: mahalanobis auroc on aliased; mahalanobis auroc on fix" in last["sentence"]
    assert set(summed["verdict"][:-1]) == {Verdict.SUPPORTED}
    nothing = CLAIMS.verdicts(CLAIMS.check(table.iloc[:0]))
    assert set(nothing["verdict"]) == {Verdict.NO_DATA}


def test_rows_of_other_papers_and_variants_are_left_out(made_up):
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
