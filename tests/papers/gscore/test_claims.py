"""What the claims of Zhang et al. compute; each verdict of each claim: tests/report."""

import numpy as np
import pandas as pd
import pytest

from helpers.papers.gscore.claims import ALL_NETWORKS, CLAIMS, derive
from helpers.report.claims import Verdict
from tests.report import claim_tables
from tests.report.claim_tables import UDE
from tests.report.claim_tables import gscore as made_up


def verdicts(table, **given):
    return claim_tables.verdicts("gscore", table, **given)


@pytest.fixture(scope="module")
def table():
    return made_up()


@pytest.mark.parametrize("miss", [0.01, 0.5])
def test_sentences_say_the_skill_of_the_predictions(miss, table):
    """A strong correlation may go with none; the verdict hangs on the correlation alone."""
    sets = table[(table["variant"] == "test") & (table["backbone"] == "vit")]
    sets = sets[sets["test_set"].str.contains("set .[05]$") & (sets["method"] == "msp")]
    signs = np.where(np.arange(len(sets)) % 4 < 2, miss, -miss)
    predicted = sets.assign(
        metric="predicted_" + sets["metric"], method=f"msp/{UDE}", variant="primary",
        value=sets["value"] + signs, row=sets["row"] + " predicted",
    )  # fmt: skip
    checks = CLAIMS.check(pd.concat([table, predicted], ignore_index=True))
    summed = CLAIMS.verdicts(checks).set_index("claim")
    assert set(summed["verdict"].map(str)) == {"supported"}
    words = summed["sentence"].str.partition("From predictions whose skill is ")[2]
    assert words["accuracy"] == "" and set(words.drop("accuracy")) == {words["rmse"]}
    assert words["rmse"].count("guessing") == (0 if miss < 0.1 else 2)
    assert "for FPR95 and" in words["rmse"] and "for AUROC" in words["rmse"]


TURNING = {
    "msp/ude.* pearson_fpr95 primary": (
        {"correlation", "fpr95", "detectors", "backbones", "ratios"},
        {"RMSE of FPR95, k-means minus UDE + Wasserstein", "correlation with AUROC, MSP"},
    ),
    "odin/ude.* pearson_auroc": ({"correlation", "fpr95"}, {"correlation with FPR95, ODIN"}),
    "size 400": ({"sizes"}, {"correlation with FPR95, MSP"}),
}


@pytest.mark.parametrize("which", TURNING)
def test_a_sign_that_turns_from_run_to_run_decides_nothing(which):
    """Not even where the mean is far on one side; what does not hang on it has its verdict."""
    undecided, others = TURNING[which]
    table = made_up(runs=5)
    own = table["backbone"].str.cat(table[["method", "metric", "variant"]], sep=" ")
    own = own.str.contains(which) & (table["backbone"] == "vit")
    turned = table.assign(value=table["value"].mask(own & (table["run"] == 3), -table["value"]))
    found = verdicts(turned)
    assert {one for one, verdict in found.items() if verdict == "undecided"} == undecided
    assert {found[one] for one in found.keys() - undecided} == {"supported"}
    checks = CLAIMS.check(turned)
    doubted = checks[checks["doubt"] != ""]
    assert set(doubted["verdict"]) == {Verdict.UNDECIDED}
    assert doubted["doubt"].str.startswith("the sign is not stable over divisions").all()
    assert not set(doubted["check"]) & others and others < set(checks["check"])
    assert not (set(doubted["backbone"]) - {"vit", "all", ALL_NETWORKS})
    summed = CLAIMS.verdicts(checks).set_index("claim")["sentence"]
    assert all("sign is not stable" in summed[one] for one in undecided)


@pytest.mark.parametrize("factors", [[-1, -1, -1], [0.1, -0.1, 0.1]])
def test_a_sign_that_is_wrong_everywhere_contradicts(table, factors):
    """As does one that is hardly a sign: correlations of about 0 turn without meaning."""
    own = table["metric"].str.startswith("pearson") & (table["backbone"] == "vit")
    changed = table["value"] * table["run"].map(dict(enumerate(factors)))
    wrong = verdicts(table.assign(value=table["value"].mask(own, changed)))
    assert wrong["backbones"] == "contradicted"


def test_derived_numbers_by_hand():
    """On numbers without noise each is what its definition says."""
    rows, msp = derive(made_up({f"odin/{UDE} pearson_fpr95": 0.08}, spread=0)), f"msp/{UDE}"
    found = rows[rows["run"] == 0].set_index(["method", "metric", "backbone"])["value"]
    expected = {
        (f"odin/{UDE}", "correlation_fpr95", "resnet8"): 0.87,
        (UDE, "correlation_fpr95", "resnet8"): 0.95 - 0.02,
        (UDE, "correlation_gain", "resnet8"): 0.93 - 0.88,
        ("kmeans_l2", "excess_auroc", "resnet8"): 0.02,
        (msp, "least_of_networks", ALL_NETWORKS): 0.95,
        (msp, "least_of_sizes", "resnet8"): 0.95,
        ("msp", "accuracy_correlation", ALL_NETWORKS): -1,
    }
    assert found[list(expected)].to_dict() == pytest.approx(expected)


def test_replicates_are_correlations_over_resampled_sets(table):
    """They lie about the correlation of all sets, and spread as Fisher's interval has it."""
    rows = derive(table)
    own = rows[(rows["method"] == f"msp/{UDE}") & (rows["metric"] == "correlation_auroc")]
    replicates = own[own["backbone"] == "resnet8"].iloc[0]["bootstrap"]
    sets = table[(table["backbone"] == "resnet8") & (table["variant"] == "meta")]
    wide = sets.pivot(index="test_set", columns=["method", "metric"], values="value")
    r = np.corrcoef(wide[f"msp/{UDE}", "gscore"], wide["msp", "auroc"])[0, 1]
    assert np.median(replicates) == pytest.approx(r, abs=0.005)
    spread = (1 - r**2) / np.sqrt(60 - 3)
    assert np.std(replicates) == pytest.approx(spread, rel=0.35)


def test_a_table_without_sets_has_runs_alone(table):
    """Correlations keep their verdicts, and their notes say that nothing else was resampled."""
    runs = CLAIMS.check(table[table["variant"] != "meta"])
    one = runs[(runs["claim"] == "correlation") & (runs["data_set"] == "all")]
    assert set(one["verdict"]) == {Verdict.SUPPORTED}
    assert one["note"].str.contains("only runs resampled").all()


def test_missing_numbers_are_no_data_with_a_reason(table):
    """One network, and sizes and ratios that do not reach far enough."""
    short = ~table["variant"].isin(["size 50", "ratio 10:1"])
    summed = CLAIMS.verdicts(CLAIMS.check(table[short & (table["backbone"] == "vit")]))
    absent = summed[summed["verdict"] == Verdict.NO_DATA].set_index("claim")
    assert absent.index.tolist() == ["backbones", "sizes", "ratios", "accuracy"]
    assert "needs test sets of 50 images" in absent.loc["sizes", "sentence"]
    nothing = CLAIMS.verdicts(CLAIMS.check(table.iloc[:0]))
    assert set(nothing["verdict"]) == {Verdict.NO_DATA}


def test_a_detector_that_lacks_something_is_in_no_mean(table):
    """A run of it, or sets that differ in Gscore: resampling equal ones would change nothing."""
    own = table["method"] == f"energy/{UDE}"
    rows = derive(table[~(own & (table["run"] == 1))])
    runs = rows.groupby(["method", "metric"])["run"].agg(set)
    assert runs[UDE, "correlation_auroc"] == runs[UDE, "correlation_gain"] == {0, 2}
    assert runs["kmeans_l2", "excess_fpr95"] == {0, 2}
    assert runs[f"msp/{UDE}", "correlation_fpr95"] == {0, 1, 2}
    msp = (table["method"] == f"msp/{UDE}") & (table["backbone"] == "vit") & (table["run"] == 1)
    rows = derive(table[~msp])
    assert set(rows.loc[rows["metric"] == "least_of_networks", "run"]) == {0, 2}
    same = own & (table["metric"] == "gscore")
    constant = table.assign(value=table["value"].mask(same, 1.0))
    rows = derive(constant)
    assert f"energy/{UDE}" not in set(rows["method"])
    assert "correlation_auroc" not in set(rows.loc[rows["method"] == UDE, "metric"])
    found = verdicts(constant)
    assert found["detectors"] == found["correlation"] == "no data"
    with pytest.raises(ValueError, match="twice: data_set cifar10_mini, backbone resnet8, run 0"):
        derive(pd.concat([table, table]))
