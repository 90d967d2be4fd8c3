"""Each claim of the papers is supported and contradicted by effects as large as real ones.

A made-up table agrees with all claims of a paper.  Each case (claim_cases.yaml) changes it by a few
points until one claim is contradicted.  Committed tables give other verdicts: test_ledger.py.
"""

import numpy as np
import pandas as pd
import pytest

from helpers.papers import PAPERS
from helpers.report.claims import ALL
from tests.report.claim_tables import CASES, MAKE, by_number, verdicts

CLAIMS = [(paper, claim.id) for paper in MAKE for claim in PAPERS[paper].claims.CLAIMS.claims]
CIFAR = {"outlier-exposure", "outlier-exposure-sets"}
IMAGENET = {"confidence", "openmax-imagenet", "edl-imagenet", "outlier-exposure-imagenet",
            "odin-openmax-imagenet"}  # fmt: skip

FLAT = [(paper, case) for paper, cases in CASES.items() for case in cases]


@pytest.fixture(scope="module")
def agreeing():
    """Return by paper a table that agrees with its claims."""
    return {paper: make() for paper, make in MAKE.items()}


@pytest.mark.parametrize("paper", MAKE)
def test_a_table_that_agrees_supports_every_claim(agreeing, paper):
    verdict = verdicts(paper, agreeing[paper])
    if paper == "unknown_detection":
        imagenet = verdicts(paper, MAKE[paper](data_set="imagenet"))
        assert {verdict.pop(claim) for claim in IMAGENET} == {"no data"}
        assert {imagenet.pop(claim) for claim in CIFAR} == {"no data"}
        verdict |= imagenet
        assert verdict.pop("mahalanobis") == "not testable"  # ours is another score
    assert verdict == {claim: "supported" for of, claim in CLAIMS
                       if of == paper and claim != "mahalanobis"}  # fmt: skip


@pytest.mark.parametrize(("paper", "case"), FLAT)
def test_a_change_moves_its_claim_and_no_other(paper, case):
    case = {"verdict": "contradicted", "also": (), **case}
    claim, expected, also = (case.pop(name) for name in ("claim", "verdict", "also"))
    if paper == "uimnet":
        table = MAKE[paper](*case["changes"])
    else:
        case |= {"data_set": "imagenet"} if claim in IMAGENET else {}
        table = MAKE[paper](by_number(case.pop("changes", {})), **case)
    verdict = verdicts(paper, table)
    assert verdict.pop(claim) == expected
    moved = {name for name, other in verdict.items() if other in ("contradicted", "undecided")}
    assert moved <= {*also}


@pytest.mark.parametrize("paper", MAKE)
def test_no_rows_and_rows_of_others(agreeing, paper):
    """Nothing gives no data; other papers and variants move nothing; no number is there twice."""
    table, claims = agreeing[paper], PAPERS[paper].claims.CLAIMS
    assert set(verdicts(paper, table.iloc[:0]).values()) == {"no data"}
    other = table[table["variant"] == "primary"].assign(value=9.0)
    both = pd.concat([other.assign(paper="toy"), other.assign(variant="other"), table])
    pd.testing.assert_frame_equal(claims.check(both), claims.check(table))
    for more, message in ((table.assign(tier="small"), "several tiers"), (table, "there twice")):
        with pytest.raises(ValueError, match=message):
            claims.check(pd.concat([table, more]))


EFFECTS = [  # paper, data set, effect, and its value by hand from the printed tables
    # the mean over SVHN, LSUN-FIX and DTD stands for the far images together
    ("unknown_detection", "CIFAR-40", "AUROC against far OOD, Outlier Exposure minus Baseline",
     (0.9612 + 0.8693 + 0.9774) / 3 - (0.7491 + 0.7050 + 0.7069) / 3),
    # Mahalanobis is furthest behind on VGG19; both averages are those of the eight cells
    ("human_centric", "imagenet", "least average DER99 gained over MSP, Mahalanobis",
     0.3183 - 0.7299),
    # MSP is best on average; it loses most on NASNet-Large, to Mahalanobis
    ("human_centric", "imagenet", "average DER99 lost on an architecture by keeping to one score",
     0.3383 - 0.2501),
    # k-means 8.73, 10.97, 6.79, 6.93 against 3.46, 4.50, 4.39, 4.52
    ("gscore", ALL, "RMSE of FPR95, k-means minus UDE + Wasserstein", (33.42 - 16.87) / 400),
    ("openset_calibration", ALL, "closed-set ECE after scaling, above the floor",
     np.mean([0.011, 0.006, 0.012, 0.006, 0.012, 0.004])),
]  # fmt: skip


@pytest.mark.parametrize(("paper", "data_set", "effect", "expected"), EFFECTS)
def test_the_papers_own_tables(paper, data_set, effect, expected):
    checks = PAPERS[paper].claims.CLAIMS.check_published()
    assert checks[["low", "high"]].isna().all().all()
    effects = checks.groupby(["data_set", "check"])["effect"].first()
    assert effects[data_set, effect] == pytest.approx(expected, abs=1e-4)
