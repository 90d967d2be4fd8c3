"""What the claims of Lyu et al. compute; each verdict of each claim: tests/report."""

import pandas as pd
import pytest

from helpers.papers.openset_calibration.claims import CLAIMS
from helpers.report.claims import Verdict
from tests.report import claim_tables
from tests.report.claim_tables import openset_calibration as made_up


def verdicts(table, **given):
    return claim_tables.verdicts("openset_calibration", table, **given)


def test_scaling_that_harms_the_closed_set_contradicts_both_claims_on_it():
    """Though what is left is close to perfect: it was so before."""
    table = made_up({("closed-set", "before", "ece"): 0.012}, spread=0.0002)
    found = verdicts(table)
    assert [name for name, one in found.items() if one == "contradicted"] == [
        "closed-set", "less-effective",
    ]  # fmt: skip


REFUSED = {(method, "after", "rejected"): 0.08 for method in ("open-set", "open-set + OpenMax")}


@pytest.mark.parametrize(
    ("share", "verdict"),
    [(0.003, "not testable"), (0.04, "supported"), (0.2, "supported"), (0.3, "not testable")],
)
def test_openmax_is_judged_where_it_refuses_about_as_much_as_the_threshold(share, verdict):
    """A third to three times as many images; 0.3 % is what a tail of 20 refused."""
    refused = REFUSED | {("open-set + OpenMax", "after", "rejected"): share}
    table = made_up(refused, spread=0.0005)
    found = verdicts(table)
    assert found.pop("openmax") == verdict
    assert set(found.values()) == {"supported"}
    if verdict == "not testable":
        words = CLAIMS.verdicts(CLAIMS.check(table))["sentence"].iloc[-1]
        assert f"OpenMax refuses {100 * share:.1f} % of the images, the threshold 8." in words


def test_a_variant_takes_the_methods_that_it_leaves_alone_from_the_primary_one():
    """And that with the matched tail is the one that judges, where it is there."""
    table = made_up(REFUSED | {("open-set + OpenMax", "after", "rejected"): 0.003}, spread=0.0005)
    own = table[table["method"] == "open-set + OpenMax"].assign(variant="matched tail")
    scale = own["metric"].map({"rejected": 30}).fillna(1)
    matched = own.assign(value=own["value"] * scale)
    both = pd.concat([table, matched], ignore_index=True)
    assert set(verdicts(both).values()) == {"supported"}
    primary = CLAIMS.verdicts(CLAIMS.check(both, variant="primary"))
    assert primary.equals(CLAIMS.verdicts(CLAIMS.check(table)))
    assert primary["verdict"].iloc[-1] == Verdict.NOT_TESTABLE
    worse = matched.assign(value=matched["value"] - 0.1 * (matched["metric"] == "accuracy"))
    found = verdicts(pd.concat([table, worse], ignore_index=True))
    assert found.pop("openmax") == "contradicted" and set(found.values()) == {"supported"}


def test_cells_alone_and_pooled():
    cells = (("digits", "resnet8"), ("cifar10_mini", "densenet16"))
    table = made_up(cells=cells)
    low = (table["data_set"] == "digits") & (table["method"] == "open-set + OpenMax")
    accuracy = low & (table["metric"] == "accuracy")
    table.loc[accuracy, "value"] -= 0.05
    checks = CLAIMS.check(table)
    assert len(checks) == 8 * (len(cells) + 1)
    gained = checks[checks["check"].str.startswith("accuracy")].set_index("data_set")
    assert [str(v) for v in gained["verdict"]] == ["contradicted", "supported", "undecided"]
    assert gained.loc["all", "note"] == "against: digits, resnet8"
    assert gained.loc["all", "effect"] == pytest.approx(
        gained.loc[["digits", "cifar10_mini"], "effect"].mean()
    )
    summed = CLAIMS.verdicts(checks).set_index("claim")
    # a mean that hides a disagreement decides nothing
    assert summed.loc["openmax", ["verdict", "agreeing", "cells"]].tolist() == ["undecided", 0, 2]
    assert "accuracy gained by OpenMax" in summed.loc["openmax", "sentence"]


def test_a_cell_without_numbers_is_named_and_left_out_of_the_mean():
    table = made_up(cells=(("digits", "resnet8"), ("cifar10_mini", "resnet8")))
    table = table[(table["data_set"] == "digits") | (table["metric"] != "ece_floor")]
    row = CLAIMS.check(table).iloc[:3]
    assert [str(v) for v in row["verdict"]] == ["supported", "no data", "supported"]
    assert "no data for cifar10_mini, resnet8" in row["note"].iloc[2]
    assert row["effect"].iloc[2] == row["effect"].iloc[0]
