"""A stand-in of a test set in the claims of Kim et al.; each verdict: tests/report."""

import pytest

from helpers.papers.unknown_detection.claims import CLAIMS
from tests.report.claim_tables import unknown_detection as made_up


@pytest.mark.parametrize(("svhn", "low"), [("digits", "undecided"), ("svhn", "contradicted")])
@pytest.mark.parametrize("value", [0.6, 0.9])
def test_a_stand_in_contradicts_no_sentence_about_the_set_itself(svhn, low, value):
    verdict = low if value == 0.6 else "supported"
    table = made_up({("outlier_exposure", "auroc", "digits"): value})
    table = table.assign(test_set=table["test_set"].replace({"digits": svhn}))
    checks = CLAIMS.check(table).query("claim == 'outlier-exposure-sets' and data_set == 'all'")
    assert CLAIMS.verdicts(checks).set_index("claim")["verdict"]["outlier-exposure-sets"] == verdict
    notes = checks.set_index("check")["note"].str.contains("digits in place of SVHN")
    assert notes[notes].index.str.contains("against SVHN").all()
    assert notes.any() == (svhn == "digits")
