"""Our own claims about evaluation without labels, on both sides of each margin."""

from itertools import product

import numpy as np
import pytest

from helpers.papers import PAPERS
from helpers.papers.gscore.claims import CLAIMS, OWN
from helpers.papers.gscore.skills import DRAWN, KNOWN, set_errors, skills
from helpers.report.claims import OURS
from helpers.report.ledger import OWN_HEADING, ledger, tally

OFF = {  # by how much estimators miss each metric where all claims hold
    ("primary", "ude_wasserstein"): 0.1,
    (KNOWN, "prior_corrected"): 0.05,
    (DRAWN, "prior_corrected_estimated"): 0.4,
    (DRAWN, "confidence"): 0.5,
    (DRAWN, "curve_regression"): 0.05,
}


@pytest.fixture(scope="module")
def made_up(table_of):
    """Return the function that makes a table of 40 sets; `off` changes what `OFF` says."""

    def made_up(off=(), *, runs=3):
        generator, records = np.random.default_rng(0), []
        truths = {f"set {k}": truth for k, truth in enumerate(np.linspace(0.1, 0.9, 40))}
        for metric, (name, truth) in product(("auroc", "fpr95"), truths.items()):
            one = {"metric": metric, "value": truth, "test_set": name, "run": 0, "method": "msp"}
            records += [one | {"variant": variant} for variant in ("meta", "test")]
        for run in range(runs):
            tested = generator.permutation(sorted(truths))[:15]
            for metric, ((variant, name), miss) in product(
                ("auroc", "fpr95"), {**OFF, **dict(off)}.items()
            ):
                signs = generator.choice([-1, 1], 15) * generator.uniform(0.8, 1.2, 15)
                records += [
                    {"metric": f"predicted_{metric}", "value": truths[one] + sign * miss,
                     "test_set": one, "run": run, "method": f"msp/{name}", "variant": variant}
                    for one, sign in zip(tested, signs, strict=True)
                ]  # fmt: skip
        return table_of(records, paper="gscore")

    return made_up


def verdicts(table):
    return OWN.verdicts(OWN.check(table)).set_index("claim")["verdict"].map(str).to_dict()


def test_numbers_that_agree_support_every_claim(made_up):
    assert set(verdicts(made_up()).values()) == {"supported"}


@pytest.mark.parametrize(
    ("claim", "off"),
    [
        ("prior-corrected", {(KNOWN, "prior_corrected"): 0.2}),
        ("without-meta-sets", {(DRAWN, "prior_corrected_estimated"): 0.05}),
        ("without-meta-sets", {(DRAWN, "confidence"): 0.05}),
        ("curve-regression", {(DRAWN, "curve_regression"): 0.5}),
    ],
)
def test_numbers_on_the_other_side_contradict_one_claim(made_up, claim, off):
    found = verdicts(made_up(off))
    assert found.pop(claim) == "contradicted" and set(found.values()) == {"supported"}


@pytest.mark.parametrize(
    ("claim", "off"),
    [
        ("prior-corrected", {(KNOWN, "prior_corrected"): 0.1}),
        ("without-meta-sets", {(DRAWN, "prior_corrected_estimated"): 0.225}),
        ("curve-regression", {(DRAWN, "curve_regression"): 0.237}),
    ],
)
def test_numbers_near_the_margin_leave_one_claim_undecided(made_up, claim, off):
    """An error of 0.237 is that of the constant, and one of 0.225 saves a tenth of its square."""
    found = verdicts(made_up(off))
    assert found.pop(claim) == "undecided" and set(found.values()) == {"supported"}


def test_results_from_before_the_estimators_have_no_data(made_up):
    """Whose other rows are all there."""
    table = made_up()
    old = table[~table["variant"].isin([KNOWN, DRAWN])]
    assert set(verdicts(old).values()) == {"no data"}
    assert OWN.check(old)["note"].str.startswith("needs MSP").all()


def test_skill_is_that_of_the_sets_that_test(made_up):
    """By hand from one division."""
    errors = set_errors(made_up(runs=1))
    own = errors.query("variant == @KNOWN and metric == 'auroc'")
    found = skills(errors).query("variant == @KNOWN and metric == 'auroc'")["value"].item()
    assert len(own) == 15
    assert found == pytest.approx(1 - (own["error"] ** 2).sum() / (own["guessed"] ** 2).sum())
    truths = np.linspace(0.1, 0.9, 40)
    tested = [int(name.removeprefix("set ")) for name in own["test_set"]]
    constant = np.delete(truths, tested).mean()
    assert own["guessed"].to_numpy() == pytest.approx(constant - truths[tested])


def test_no_count_of_the_papers_claims_has_them(made_up):
    """They have a ledger of their own, which says whose they are and where they are shown."""
    tables = {("mini", "gscore"): made_up()}
    found = ledger(PAPERS, tables, ["mini", "small"], own=True)
    assert set(found["paper"]) == {"gscore"} and set(found["source"]) == {OURS}
    assert set(found["tier"]) == {"mini", "small"} and set(found["anchor"]) == {
        "sentences-of-our-own"
    }
    assert set(found.query("tier == 'mini'")["verdict"]) == {"supported"}
    assert set(found.query("tier == 'small'")["verdict"]) == {"no data"}
    assert tally(found)["supported"].sum() == len(OWN.claims)
    assert not {one.id for one in OWN.claims} & {one.id for one in CLAIMS.claims}
    assert OURS not in set(ledger(PAPERS, {}, [])["source"]) and OWN_HEADING
