"""What the claims of Kim et al. compute; each verdict of each claim: tests/report."""

import pytest

from helpers.papers.unknown_detection.claims import CLAIMS
from helpers.papers.unknown_detection.composition import PAPER_UNION
from tests.report import claim_tables
from tests.report.claim_tables import unknown_detection as made_up


def verdicts(table, **given):
    return claim_tables.verdicts("unknown_detection", table, **given)


def test_a_tenth_method_changes_no_verdict():
    """Nor does one that is better than all nine at everything, or an effect of any claim."""
    best = {("accuracy", "test"): 0.99, ("aurc", "union"): 0.1, ("aurc", "test"): 0.01}
    best |= {("auroc", name): 0.99 for name in ("near", "far", "digits", "LSUN-FIX", "dtd")}
    for name in ("mine", "baseline+energy"):
        tenth = {(name, *cell): number for cell, number in best.items()}
        checks, without = CLAIMS.check(made_up(tenth)), CLAIMS.check(made_up())
        columns = ["claim", "check", "verdict"]
        assert checks[columns].equals(without[columns])
    one = {("crl", *cell): number for cell, number in best.items()}  # but one of the nine does
    assert verdicts(made_up(one))["ensemble"] == "contradicted"


def test_far_sets_that_disagree_decide_nothing_together():
    """What Outlier Exposure does to all of them at once is then a matter of their sizes."""
    changes = {("outlier_exposure", "auroc", "digits"): 0.6}
    checks = CLAIMS.check(made_up(changes))
    found = CLAIMS.verdicts(checks).set_index("claim")["verdict"]
    assert found["outlier-exposure"] == "undecided"
    (note,) = set(checks.query("claim == 'outlier-exposure' and data_set == 'all'")["note"]) - {""}
    assert "behind the baseline on SVHN alone" in note
    every = {("outlier_exposure", "auroc", name): 0.6 for name in ("digits", "LSUN-FIX", "dtd")}
    assert verdicts(made_up(every))["outlier-exposure"] == "supported"  # of one mind, whichever


@pytest.mark.parametrize(("svhn", "verdict"), [("digits", "undecided"), ("svhn", "contradicted")])
def test_a_stand_in_contradicts_no_sentence_about_the_set_itself(svhn, verdict):
    """SVHN itself does; a stand-in supports, and the note names it."""
    worse, better = (made_up({("outlier_exposure", "auroc", "digits"): x}) for x in (0.6, 0.9))
    for table, expected in ((worse, verdict), (better, "supported")):
        table = table.assign(test_set=table["test_set"].replace({"digits": svhn}))
        checks = CLAIMS.check(table).query("claim == 'outlier-exposure-sets' and data_set == 'all'")
        assert CLAIMS.verdicts(checks).set_index("claim")["verdict"][checks["claim"].iloc[0]] == (
            expected
        )
        notes = checks.set_index("check")["note"].str.contains("digits in place of SVHN")
        assert notes[notes].index.str.contains("against SVHN").all()
        assert notes.any() == (svhn == "digits")


@pytest.mark.parametrize("value", [0.68, 0.71])  # of CRL, of which Deep Ensemble has 0.69
@pytest.mark.parametrize("shares", [0.68, 0.69, 0.71])
def test_areas_of_unions_are_decided_at_both_compositions(value, shares):
    """Ours and the paper's, or not at all; both are shown."""
    cells = {("crl", "aurc", "union"): value, ("crl", "aurc", PAPER_UNION): shares}
    checks = CLAIMS.check(made_up(cells))
    verdict = "supported" if value == 0.71 else "contradicted"
    assert CLAIMS.verdicts(checks)["verdict"].iloc[0] == (
        verdict if value == shares else "undecided"
    )
    name = "AURC on the union, CRL minus Deep Ensemble"
    effect = checks.query("claim == 'ensemble' and data_set == 'all'").set_index("check").loc[name]
    assert effect["second"].startswith("by the paper's shares of images")
    assert ("doubted: by the paper's shares of images it is" in effect["note"]) == (value != shares)
