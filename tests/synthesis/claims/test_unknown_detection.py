"""A stand-in of a test set in the claims of Kim et al.; each verdict: tests/tables."""

import pandas as pd
import pytest

from synthesis.claims.unknown_detection import CLAIMS
from tests.synthesis.claim_tables import unknown_detection as made_up
from tests.synthesis.claim_tables import verdicts

LETTERS = "chars74k_natural"


@pytest.mark.parametrize(("svhn", "low"), [(LETTERS, "undecided"), ("svhn", "contradicted")])
def test_a_stand_in_contradicts_no_sentence_about_the_set_itself(svhn, low):
    for value, verdict in ((0.6, low), (0.9, "supported")):
        table = made_up({("outlier_exposure", "auroc", LETTERS): value})
        table = table.assign(test_set=table["test_set"].replace({LETTERS: svhn}))
        checks = CLAIMS.check(table)
        assert verdicts("unknown_detection", table, checks)["outlier-exposure-sets"] == verdict
        notes = checks.set_index("check")["note"].map(str)
        named = notes.index[notes.str.contains(r"letters \(Chars74K\) in place of SVHN")]
        # the far images of a claim are all sets together
        assert named.str.contains("against SVHN|against far OOD").all()
        assert bool(len(named)) == (svhn == LETTERS)


def test_external_images_with_traces_of_a_resize_contradict_no_sentence_on_outlier_exposure():
    """They stand for the paper's, which have none; each note on far sets says so."""
    table = made_up({("outlier_exposure", "auroc", LETTERS): 0.6})
    table = table.assign(test_set=table["test_set"].replace({LETTERS: "SVHN"}), tier="small")
    checks = CLAIMS.check(table)
    assert verdicts("unknown_detection", table, checks)["outlier-exposure-sets"] == "undecided"
    named = checks[checks["note"].map(str).str.contains("traces of their resize")]
    assert {*named["claim"]} == {"outlier-exposure", "outlier-exposure-sets"}


def test_a_set_of_the_paper_replaces_its_stand_in():
    """Rows of both: the sentence about SVHN is about SVHN, and so are the far images."""
    table = made_up({("outlier_exposure", "auroc", LETTERS): 0.6})
    itself = made_up({("outlier_exposure", "auroc", LETTERS): 0.9}).query("test_set == @LETTERS")
    table = pd.concat([table, itself.assign(test_set="svhn")], ignore_index=True)
    checks = CLAIMS.check(table)
    assert verdicts("unknown_detection", table, checks)["outlier-exposure-sets"] == "supported"
    notes = checks["note"].map(str)
    assert not notes.str.contains("in place of SVHN").any()
    assert notes.str.contains("in place of LSUN-FIX").any()
