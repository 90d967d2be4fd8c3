"""Numbers behind the claims of Lyu et al.; `tests.tables` tests each verdict of each claim."""

import pandas as pd
import pytest

from synthesis.claims.openset_calibration import CLAIMS, OPENMAX
from synthesis.effects import Verdict
from tests.synthesis.claim_tables import openset_calibration as made_up
from tests.synthesis.claim_tables import verdicts

REJECTED = {(method, "after", "rejected"): 0.08 for method in ("open-set", OPENMAX)}


SHARES = {0.003: "not testable", 0.2: "supported", 0.3: "not testable"}


@pytest.mark.parametrize(("share", "verdict"), SHARES.items())
def test_openmax_is_tested_if_it_rejects_about_as_much_as_the_threshold(share, verdict):
    table = made_up(REJECTED | {(OPENMAX, "after", "rejected"): share}, spread=0.0005)
    by_claim = verdicts("openset_calibration", table)
    assert by_claim.pop("openmax") == verdict and set(by_claim.values()) == {"supported"}
    if verdict == "not testable":
        words = CLAIMS.verdicts(CLAIMS.check(table)).set_index("claim").loc["openmax", "sentence"]
        assert f"OpenMax refuses {100 * share:.1f} % of the images, the threshold 8." in words


def test_openmax_is_not_tested_without_its_share_of_rejected_images():
    table = made_up({("open-set", "after", "rejected"): 0.08})
    assert verdicts("openset_calibration", table)["openmax"] == "not testable"


def test_each_open_point_of_the_paper_binds():
    """A reading changes one method, and is compared with the other methods as they are."""
    table = made_up(REJECTED, spread=0.0005)
    opened = table[table["method"] == "open-set"].assign(variant="half")
    after = opened["metric"].eq("ece") & opened["calibration"].eq("after")
    easier = opened.assign(value=opened["value"].mask(after, 0.02))
    by_claim = verdicts("openset_calibration", pd.concat([table, easier], ignore_index=True))
    left_open = {claim for claim, verdict in by_claim.items() if verdict == "undecided"}
    assert left_open == {"open-set", "less-effective", "families"}


def test_the_matched_tail_judges_openmax_and_the_primary_variant_the_other_methods():
    table = made_up(REJECTED | {(OPENMAX, "after", "rejected"): 0.003}, spread=0.0005)
    rows = table[table["method"] == OPENMAX].assign(variant="matched tail")
    matched = rows.assign(value=rows["value"] * rows["metric"].map({"rejected": 30}).fillna(1))
    both = pd.concat([table, matched], ignore_index=True)
    assert set(verdicts("openset_calibration", both).values()) == {"supported"}
    primary = CLAIMS.verdicts(CLAIMS.check(both, variant="primary"))
    assert primary.equals(CLAIMS.verdicts(CLAIMS.check(table)))
    assert primary.set_index("claim").loc["openmax", "verdict"] == Verdict.NOT_TESTABLE
    worse = matched.assign(value=matched["value"] - 0.1 * (matched["metric"] == "accuracy"))
    by_claim = verdicts("openset_calibration", pd.concat([table, worse], ignore_index=True))
    assert by_claim.pop("openmax") == "contradicted" and set(by_claim.values()) == {"supported"}


@pytest.mark.parametrize(("name", "expected"), [
    ("efficientnet_b0", "contradicted"), ("densenet16", "contradicted"), ("resnet8", "supported"),
])  # fmt: skip
def test_one_of_two_other_families_with_another_finding_contradicts(name, expected):
    """Its open-set ECE does not fall; that of the ResNet does not count here."""
    table = made_up(spread=0.0005)
    chosen = table["backbone"].eq(name) & table["method"].eq("open-set")
    chosen &= table["metric"].eq("ece") & table["calibration"].eq("after")
    worse = table.assign(value=table["value"] + 0.2 * chosen)
    by_claim = verdicts("openset_calibration", worse)
    assert by_claim["families"] == expected
    assert by_claim["open-set"] == "undecided"


def test_a_family_that_is_missing_leaves_no_data():
    """Two networks of one of the families are not enough, also if only some of its rows lack."""
    table = made_up()
    other = table["backbone"] != "efficientnet_b0"
    assert verdicts("openset_calibration", table[other])["families"] == "no data"
    opened = table[other | (table["method"] != "closed-set")]
    assert verdicts("openset_calibration", opened)["families"] == "not testable"
