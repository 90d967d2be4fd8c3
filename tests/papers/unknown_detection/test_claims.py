import numpy as np
import pandas as pd
import pytest

from helpers.papers.unknown_detection.claims import CLAIMS, derive
from helpers.papers.unknown_detection.composition import PAPER_UNION
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
    ("baseline", "aurc", "union"): 0.735,
    ("ensemble", "accuracy", "test"): 0.79,
    ("mc_dropout", "aurc", "test"): 0.066,
    **{("baseline", "auroc", name): 0.7 for name in ("digits", "LSUN-FIX", "dtd")},
    **{("outlier_exposure", "auroc", name): 0.9 for name in ("digits", "LSUN-FIX", "dtd")},
}
AGREEING |= {
    (method, "accuracy", "test"): 0.744 for method in METHODS
    if (method, "accuracy", "test") not in AGREEING
}  # fmt: skip
OF_IMAGENET = {  # what agrees with the claims on it, where that is something else
    ("openmax", "aurc", "union"): 0.78,
    ("openmax", "aurc", "test"): 0.16,
    ("edl", "accuracy", "test"): 0.7,
    ("outlier_exposure", "accuracy", "test"): 0.76,
    ("outlier_exposure", "aurc", "test"): 0.06,
}
ON_IMAGENET = {"confidence", "openmax-imagenet", "edl-imagenet", "outlier-exposure-imagenet"}
ON_CIFAR = {"outlier-exposure", "outlier-exposure-sets"}


@pytest.fixture(scope="module")
def made_up(table_of):
    """Return a function: a table around `AGREEING`, with random runs and replicates."""

    def build(changes=None, spread=0.001, data_set="cifar100"):
        generator = np.random.default_rng(0)
        numbers = AGREEING | (OF_IMAGENET if data_set == "imagenet" else {}) | (changes or {})
        records = [
            dict(test_set=test_set, run=run, method=method, metric=metric,
                 value=value + spread * generator.standard_normal(),
                 bootstrap=value + spread * generator.standard_normal(40))
            for run in range(3)
            for (method, metric, test_set), value in numbers.items()
        ]  # fmt: skip
        records += [  # the same at the paper's shares of images, unless there are other numbers
            record | {"test_set": PAPER_UNION} for record in records
            if record["test_set"] == "union"
            and (record["method"], record["metric"], PAPER_UNION) not in numbers
        ]  # fmt: skip
        return table_of(records, paper="unknown_detection", data_set=data_set)

    return build


def verdicts(table):
    summed = CLAIMS.verdicts(CLAIMS.check(table))
    return dict(zip(summed["claim"], map(str, summed["verdict"]), strict=True))


def test_numbers_that_agree_support_every_claim(made_up):
    """Each claim has an identifier of its own; what is about the other scale has no data."""
    for data_set, other in (("cifar100", ON_IMAGENET), ("imagenet", ON_CIFAR)):
        found = verdicts(made_up(data_set=data_set))
        assert len(found) == len(CLAIMS.claims)
        assert {found.pop(claim) for claim in other} == {"no data"}
        assert set(found.values()) == {"supported"}


@pytest.mark.parametrize(
    ("verdict", "claim", "cell", "value"),
    [
        ("contradicted", "ensemble", ("crl", "aurc", "union"), 0.68),  # one better one is enough
        ("contradicted", "misclassification", ("odin", "aurc", "test"), 0.07),
        ("contradicted", "outlier-exposure", ("outlier_exposure", "accuracy", "test"), 0.77),
        ("contradicted", "outlier-exposure", ("openmax", "auroc", "far"), 0.95),
        ("contradicted", "near", ("augmix", "auroc", "near"), 0.80),
        ("contradicted", "confidence", ("ensemble", "mean_confidence", "near"), 0.4),
        ("contradicted", "ensemble-accuracy", ("crl", "accuracy", "test"), 0.80),
        ("contradicted", "crl-edl", ("edl", "aurc", "union"), 0.745),
        ("contradicted", "augmix", ("augmix", "aurc", "union"), 0.745),
        ("contradicted", "odin", ("odin", "aurc", "union"), 0.71),
        ("contradicted", "mc-dropout", ("mc_dropout", "aurc", "test"), 0.09),
        ("contradicted", "mc-dropout", ("mc_dropout", "aurc", "union"), 0.71),  # it helps
        ("contradicted", "mc-dropout", ("mc_dropout", "aurc", "union"), 0.76),  # it harms
        ("contradicted", "openmax-imagenet", ("odin", "aurc", "union"), 0.79),
        ("contradicted", "edl-imagenet", ("odin", "accuracy", "test"), 0.69),
        ("contradicted", "outlier-exposure-imagenet", ("outlier_exposure", "aurc", "test"), 0.08),
        ("undecided", "ensemble-accuracy", ("crl", "accuracy", "test"), 0.79),
        ("undecided", "crl-edl", ("crl", "aurc", "union"), 0.735),
        ("undecided", "augmix", ("augmix", "aurc", "union"), 0.735),
        ("undecided", "odin", ("odin", "aurc", "union"), 0.725),
        ("undecided", "mc-dropout", ("mc_dropout", "aurc", "test"), 0.075),
        ("undecided", "openmax-imagenet", ("odin", "aurc", "union"), 0.78),
        ("undecided", "edl-imagenet", ("odin", "accuracy", "test"), 0.7),
        ("undecided", "outlier-exposure-imagenet", ("outlier_exposure", "accuracy", "test"), 0.744),
        ("contradicted", "mahalanobis", ("mahalanobis", "auroc", "aliased"), 0.51),
        ("contradicted", "mahalanobis", ("mahalanobis", "auroc", "fixed"), 0.7),
        ("contradicted", "mahalanobis", ("mahalanobis", "auroc", "fixed"), 0.3),  # not random, too
        ("undecided", "ensemble", ("crl", "aurc", "union"), 0.69),
        ("undecided", "misclassification", ("openmax", "aurc", "test"), 0.075),
        ("undecided", "outlier-exposure", ("odin", "auroc", "far"), 0.93),
        ("undecided", "near", ("augmix", "auroc", "near"), 0.78),
        ("undecided", "confidence", ("baseline", "mean_confidence", "near"), 0.5),
        ("undecided", "mahalanobis", ("mahalanobis", "auroc", "fixed"), 0.6),
        ("undecided", "outlier-exposure-sets", ("outlier_exposure", "auroc", "digits"), 0.7),
    ],
)
def test_a_single_number_moves_its_claim_and_no_other(made_up, verdict, claim, cell, value):
    """On the wrong side of a margin it contradicts, at the margin it leaves undecided."""
    data_set = "imagenet" if claim in ON_IMAGENET else "cifar100"
    found = verdicts(made_up({cell: value}, data_set=data_set))
    assert found.pop(claim) == verdict
    assert set(found.values()) == {"supported", "no data"}


def test_a_tenth_method_changes_no_verdict(made_up):
    """Nor does one that is better than all nine at everything, or an effect of any claim."""
    best = {("accuracy", "test"): 0.99, ("aurc", "union"): 0.1, ("aurc", "test"): 0.01}
    best |= {("auroc", name): 0.99 for name in ("near", "far", "digits", "LSUN-FIX", "dtd")}
    for name in ("mine", "baseline+energy", "yours: my net"):
        tenth = {(name, *cell): number for cell, number in best.items()}
        checks, without = CLAIMS.check(made_up(tenth)), CLAIMS.check(made_up())
        columns = ["claim", "check", "verdict"]
        assert checks[columns].equals(without[columns])
    one = {("crl", *cell): number for cell, number in best.items()}  # but one of the nine does
    assert verdicts(made_up(one))["ensemble"] == "contradicted"


def test_far_sets_that_disagree_decide_nothing_together(made_up):
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
def test_a_stand_in_contradicts_no_sentence_about_the_set_itself(made_up, svhn, verdict):
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
def test_areas_of_unions_are_decided_at_both_compositions(made_up, value, shares):
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


def test_without_the_papers_shares_the_union_decides_nothing(made_up):
    """Effects on other test sets do: MC dropout is judged on the ID test images, too."""
    worse = {("mc_dropout", "aurc", "test"): 0.09}
    for changes, expected in (({}, "undecided"), (worse, "contradicted")):
        table = made_up(changes)
        checks = CLAIMS.check(table[table["test_set"] != PAPER_UNION])
        found = CLAIMS.verdicts(checks).set_index("claim")["verdict"]
        assert (found["ensemble"], found["mc-dropout"]) == ("undecided", expected)
        assert found["misclassification"] == "supported"
        notes = checks[checks["claim"] == "ensemble"]["note"]
        assert notes.str.contains("no numbers by the paper's shares of images").all()


def test_heads_on_frozen_features_are_asked_about_scores_on_known_classes_alone(made_up):
    checks = CLAIMS.check(made_up().assign(tier="frozen"))
    found = CLAIMS.verdicts(checks).set_index("claim")["verdict"]
    assert set(found.index[found == "supported"]) == {"misclassification"}
    assert set(found.drop([*ON_IMAGENET, "misclassification"])) == {"not testable"}
    notes = checks[checks["claim"] == "ensemble-accuracy"]["note"]
    assert notes.str.contains("no network was trained: heads on frozen features").all()


def test_two_sets_for_one_of_the_papers_keep_their_names(made_up):
    table = made_up({("baseline", "auroc", "svhn"): 0.7})  # beside digits
    assert {"svhn", "digits"} < set(derive(table)["test_set"])
    assert "SVHN" in set(derive(made_up())["test_set"])


def test_missing_numbers_are_no_data_with_a_sentence(made_up):
    """What a claim lacks is named with its test set; the other claims keep their verdicts."""
    table = made_up()
    summed = CLAIMS.verdicts(CLAIMS.check(table[table["method"] != "mahalanobis"]))
    summed = summed.set_index("claim").drop(list(ON_IMAGENET))
    last = summed.loc["mahalanobis"]
    assert last["verdict"] == Verdict.NO_DATA
    assert "no data (needs the score on a test set that is resized in two" in last["sentence"]
    assert set(summed["verdict"].drop("mahalanobis")) == {Verdict.SUPPORTED}
    without = CLAIMS.verdicts(CLAIMS.check(table[table["method"] != "crl"])).set_index("claim")
    assert "no run has: crl aurc on union" in without.loc["crl-edl", "sentence"]
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
    silent = {"confidence", "mahalanobis"}
    assert set(summed.index[summed["verdict"] == Verdict.NO_DATA]) == silent
    assert set(summed["verdict"].drop(list(silent))) == {Verdict.SUPPORTED}
    of_one = (ON_CIFAR | ON_IMAGENET) - silent
    assert all(summed.loc[list(of_one), "cells"] == 1)
    assert all(summed["cells"].drop(list(of_one | silent)) == 2)
    own = checks[checks["data_set"] == "CIFAR-40"].set_index("check")["effect"]
    assert own["AURC on the union, CRL minus Deep Ensemble"] == pytest.approx(0.72722 - 0.69349)
    # the mean over SVHN, LSUN-FIX and DTD stands for the far images together
    far = (0.9612 + 0.8693 + 0.9774) / 3 - (0.7491 + 0.7050 + 0.7069) / 3
    name = "AUROC against far OOD, Outlier Exposure minus Baseline"
    assert own[name] == pytest.approx(far)
    near = checks[(checks["claim"] == "near") & (checks["data_set"] != claims.ALL)]
    assert near["effect"].max() == pytest.approx(0.0338)  # well below the margin of 0.05


@pytest.mark.parametrize("claim", ["outlier-exposure-sets"])
def test_one_far_set_on_the_other_side_contradicts_the_claim_on_each(made_up, claim):
    table = made_up({("outlier_exposure", "auroc", "digits"): 0.6})
    table = table.assign(test_set=table["test_set"].replace({"digits": "svhn"}))
    assert verdicts(table)[claim] == "contradicted"
