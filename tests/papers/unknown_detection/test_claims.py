"""What the claims of Kim et al. compute; each verdict of each claim: tests/report."""

import pytest

from helpers.papers.unknown_detection.claims import CLAIMS
from helpers.papers.unknown_detection.composition import PAPER_UNION
from tests.report import claim_tables
from tests.report.claim_tables import unknown_detection as made_up


def verdicts(table, **given):
    return claim_tables.verdicts("unknown_detection", table, **given)


def test_far_sets_that_disagree_decide_nothing_together():
    worse = {("outlier_exposure", "auroc", name): 0.6 for name in ("digits", "LSUN-FIX", "dtd")}
    checks = CLAIMS.check(made_up(dict([*worse.items()][:1])))
    found = CLAIMS.verdicts(checks).set_index("claim")["verdict"]
    assert found["outlier-exposure"] == "undecided"
    (note,) = set(checks.query("claim == 'outlier-exposure' and data_set == 'all'")["note"]) - {""}
    assert "behind the baseline on SVHN alone" in note
    assert verdicts(made_up(worse))["outlier-exposure"] == "supported"


@pytest.mark.parametrize(
    ("svhn", "value", "verdict"),
    [
        ("digits", 0.6, "undecided"), ("svhn", 0.6, "contradicted"),
        ("digits", 0.9, "supported"), ("svhn", 0.9, "supported"),
    ],
)  # fmt: skip
def test_a_stand_in_contradicts_no_sentence_about_the_set_itself(svhn, value, verdict):
    table = made_up({("outlier_exposure", "auroc", "digits"): value})
    table = table.assign(test_set=table["test_set"].replace({"digits": svhn}))
    checks = CLAIMS.check(table).query("claim == 'outlier-exposure-sets' and data_set == 'all'")
    assert CLAIMS.verdicts(checks).set_index("claim")["verdict"]["outlier-exposure-sets"] == verdict
    notes = checks.set_index("check")["note"].str.contains("digits in place of SVHN")
    assert notes[notes].index.str.contains("against SVHN").all()
    assert notes.any() == (svhn == "digits")


@pytest.mark.parametrize("value", [0.68, 0.71])  # of CRL; Deep Ensemble has 0.69
@pytest.mark.parametrize("shares", [0.68, 0.69, 0.71])
def test_areas_of_unions_are_decided_at_both_compositions_or_not_at_all(value, shares):
    cells = {("crl", "aurc", "union"): value, ("crl", "aurc", PAPER_UNION): shares}
    checks = CLAIMS.check(made_up(cells))
    verdict = "supported" if value == 0.71 else "contradicted"
    expected = verdict if value == shares else "undecided"
    assert CLAIMS.verdicts(checks)["verdict"].iloc[0] == expected
