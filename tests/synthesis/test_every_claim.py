"""Each claim of the papers is supported and contradicted by effects as large as real ones.

A made-up table agrees with all claims of a paper.  Each case (claim_cases.yaml) changes it by a few
points until one claim is contradicted.  Committed tables give other verdicts: test_ledger.py.
"""

import functools

import numpy as np
import pandas as pd
import pytest

from synthesis.claims import load_claims
from tests.synthesis.claim_tables import CASES, DERIVED, MAKE, PRINTED, by_number, verdicts

CLAIMS = [(paper, claim.id) for paper in MAKE for claim in load_claims(paper).claims]
SCOPES = {claim.id: claim.scope for claim in load_claims("unknown_detection").claims if claim.scope}
CIFAR = {name for name, scope in SCOPES.items() if scope("cifar100")}
IMAGENET = {name for name, scope in SCOPES.items() if scope("imagenet")}

#: The claim about another ID set than CIFAR-10, which all other claims of its paper are about.
OTHER_ID_SET = "other-id-set"

#: Claims whose method differs from the authors' in each of our tables.
DEPARTED = {"teacher", "distillation"}


def flat():
    """Yield each case with its paper; the first of a claim is tested always, others seldom."""
    for paper, cases in CASES.items():
        for index, case in enumerate(cases):
            again = case["claim"] in [earlier["claim"] for earlier in cases[:index]]
            yield pytest.param(paper, case, marks=[pytest.mark.exhaustive] * again)


@functools.cache
def agreeing(paper):
    """Return a table that agrees with the claims of a paper, and the claims checked on it."""
    return (table := MAKE[paper]()), load_claims(paper).check(table)


@pytest.mark.parametrize("paper", MAKE)
def test_a_table_that_agrees_supports_every_claim(paper):
    verdict = verdicts(paper, *agreeing(paper))
    if paper == "unknown_detection":
        imagenet = verdicts(paper, MAKE[paper](data_set="imagenet"))
        assert {verdict.pop(claim) for claim in IMAGENET} == {"no data"}
        assert {imagenet.pop(claim) for claim in CIFAR} == {"no data"}
        verdict |= imagenet
    if paper == "gscore":
        other = verdicts(paper, MAKE[paper](data_set="cifar100"))
        assert verdict.pop(OTHER_ID_SET) == other.pop("correlation") == "no data"
        verdict[OTHER_ID_SET] = other[OTHER_ID_SET]
    expected = {claim: "supported" for of, claim in CLAIMS if of == paper}
    assert verdict == expected | dict.fromkeys(DEPARTED & {*expected}, "not testable")


@pytest.mark.parametrize(("paper", "case"), [*flat()])
def test_a_change_moves_its_claim_and_no_other(paper, case):
    case = {"verdict": "contradicted", "also": (), "changes": {}, **case}
    claim, expected, also, changes = map(case.pop, ("claim", "verdict", "also", "changes"))
    case |= {"data_set": "imagenet"} if claim in IMAGENET else {}
    given = changes if paper == "uimnet" else [by_number(changes)]
    verdict = verdicts(paper, MAKE[paper](*given, **case))
    assert verdict.pop(claim) == expected
    moved = {name for name, other in verdict.items() if other in ("contradicted", "undecided")}
    assert moved <= {*also}


@pytest.mark.parametrize("paper", MAKE)
def test_no_rows_and_rows_of_others(paper):
    """Nothing gives no data; other papers and variants move nothing; no number is there twice."""
    (table, checks), claims = agreeing(paper), load_claims(paper)
    assert set(verdicts(paper, table.iloc[:0]).values()) == {"no data"}
    other = table[table["variant"] == "primary"].assign(value=9.0)
    both = pd.concat([other.assign(paper="toy"), other.assign(variant="other"), table])
    pd.testing.assert_frame_equal(claims.check(both), checks)
    for more, message in (
        (table.assign(tier="small"), "one tier expected"),
        (table, "two rows for"),
    ):
        with pytest.raises(ValueError, match=message):
            claims.check(pd.concat([table, more]))


@pytest.mark.parametrize("paper", DERIVED)
def test_derived_numbers_by_hand(paper):
    """Each is what its definition says, and replicates of images without noise are the same."""
    changes, numbers = DERIVED[paper].values()
    rows = load_claims(paper).derive(MAKE[paper](*changes, spread=0, runs=1))
    values = rows.set_index(["method", "metric", "backbone"])["value"].sort_index()
    for *key, expected in numbers:
        assert values[tuple(key)].item() == pytest.approx(expected), key
    # replicates of these draw the networks
    for row in rows[rows["metric"] != "accuracy_correlation"].itertuples():
        assert paper == "gscore" or np.ptp([row.value, *row.bootstrap]) < 2**-12  # as stored


@pytest.mark.parametrize(("paper", "data_set", "effect", "expected"), PRINTED)
def test_the_papers_own_tables(paper, data_set, effect, expected):
    checks = load_claims(paper).check_printed()
    assert checks[["low", "high"]].isna().all().all()
    effects = checks.groupby(["data_set", "check"])["effect"].first()
    assert effects[data_set, effect] == pytest.approx(expected, abs=1e-4)
