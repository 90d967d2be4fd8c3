"""What the claims of Zhang et al. compute; each verdict of each claim: tests/tables."""

import numpy as np
import pandas as pd
import pytest

from helpers.papers.gscore.parameters import DETECTORS
from synthesis.claims.gscore import CLAIMS
from synthesis.claims.gscore_numbers import derive
from synthesis.effects import REPLICATES, Verdict
from tests.synthesis.claim_tables import UDE, verdicts
from tests.synthesis.claim_tables import gscore as made_up


@pytest.fixture(scope="module")
def table():
    return made_up()


@pytest.mark.parametrize(("which", "undecided", "others"), [
    ("msp/ude.* pearson_fpr95 primary", "backbones correlation detectors fpr95 metrics ratios",
     {"RMSE of FPR95, k-means minus UDE + Wasserstein",
      "correlation with AUROC, mean over detectors"}),
    ("odin/ude.* pearson_auroc", "correlation fpr95", {"correlation with FPR95, ODIN"}),
])  # fmt: skip
def test_a_sign_that_turns_from_run_to_run_decides_nothing(which, undecided, others):
    """Not even where the mean is far on one side; what does not hang on it has its verdict."""
    table = made_up(runs=5)
    chosen = table["backbone"].str.cat(table[["method", "metric", "variant"]], sep=" ")
    chosen = chosen.str.contains(which) & (table["backbone"] == "vit") & (table["run"] == 3)
    checks = CLAIMS.check(table.assign(value=table["value"].mask(chosen, -table["value"])))
    summed = CLAIMS.verdicts(checks).set_index("claim")
    names = summed.groupby(summed["verdict"].map(str)).groups
    assert sorted(names["undecided"]) == undecided.split()
    assert {*names} == {"undecided", "supported", "no data"}
    assert [*names["no data"]] == ["other-id-set"]  # another set than the table's
    doubted = checks[checks["note"].map(str).str.contains("doubted: the sign is not stable")]
    assert set(doubted["verdict"]) == {Verdict.UNDECIDED}
    assert not set(doubted["check"]) & others and others < set(checks["check"])


@pytest.mark.parametrize("factors", [[-1, -1, -1], [0.1, -0.1, 0.1]])
def test_a_sign_that_is_wrong_everywhere_contradicts(table, factors):
    """As does one that is hardly a sign: correlations of about 0 turn without meaning."""
    chosen = table["metric"].str.startswith("pearson") & (table["backbone"] == "vit")
    changed = table["value"] * table["run"].map(dict(enumerate(factors)))
    wrong = verdicts("gscore", table.assign(value=table["value"].mask(chosen, changed)))
    assert wrong["backbones"] == "contradicted"


def test_replicates_are_correlations_over_resampled_sets(table):
    """Their middle is the correlation of all sets, and they spread as Fisher's interval does."""
    rows = derive(table).query("metric == 'correlation_fpr95' and backbone == 'resnet8'")
    replicates = rows[rows["method"] == f"msp/{UDE}"].iloc[0]["bootstrap"]
    sets = table[(table["backbone"] == "resnet8") & (table["variant"] == "meta")]
    wide = sets.pivot(index="test_set", columns=["method", "metric"], values="value")
    r = -np.corrcoef(wide[f"msp/{UDE}", "gscore"], wide["msp", "fpr95"])[0, 1]
    assert np.median(replicates) == pytest.approx(r, abs=0.005)
    assert np.std(replicates) == pytest.approx((1 - r**2) / np.sqrt(60 - 3), rel=0.35)


def test_missing_numbers_are_no_data_with_a_reason(table):
    """Without sets runs alone are resampled; one network, or sizes and ratios too few."""
    runs = CLAIMS.check(table[table["variant"] != "meta"])
    runs = runs[(runs["claim"] == "correlation") & (runs["data_set"] == "all")]
    assert set(runs["verdict"]) == {Verdict.SUPPORTED}
    assert runs["note"].map(str).str.contains("only runs resampled").all()
    short = ~table["variant"].isin(["size 50", "ratio 10:1"])
    summed = CLAIMS.verdicts(CLAIMS.check(table[short & (table["backbone"] == "vit")]))
    absent = summed[summed["verdict"] == Verdict.NO_DATA].set_index("claim")
    expected = "backbones other-id-set sizes sizes-strong ratios accuracy".split()
    assert absent.index.tolist() == expected


def test_a_detector_that_lacks_something_is_in_no_mean(table):
    """A run of it, or sets that differ in Gscore: resampling equal ones would change nothing."""
    energy, msp = (table["method"] == f"{name}/{UDE}" for name in ("energy", "msp"))
    runs = derive(table[~(energy & (table["run"] == 1))]).groupby(["method", "metric"])["run"]
    runs = runs.agg(set)
    assert runs[UDE, "correlation_auroc"] == runs[UDE, "correlation_gain"] == {0, 2}
    assert runs["kmeans_l2", "excess_fpr95"] == {0, 2}
    assert runs[f"msp/{UDE}", "correlation_fpr95"] == {0, 1, 2}
    rows = derive(table[~(msp & (table["backbone"] == "vit") & (table["run"] == 1))])
    assert set(rows.loc[rows["metric"] == "least_of_networks", "run"]) == {0, 2}
    constant = table.assign(value=table["value"].mask(energy & (table["metric"] == "gscore"), 1))
    methods = derive(constant).groupby("metric")["method"].agg(set)["correlation_fpr95"]
    assert not {f"energy/{UDE}", UDE} & methods
    by_claim = verdicts("gscore", constant)
    assert (by_claim["detectors"], by_claim["correlation"]) == ("not testable", "no data")
    with pytest.raises(
        ValueError, match="two rows for data_set cifar10_mini, backbone resnet8, run 0"
    ):
        derive(pd.concat([table, table]))


def test_errors_resample_the_sets_that_test_the_line(table):
    """All evaluators have the same draws, and an interval as long as that of a mean square."""
    predicted = table[table["metric"] == "predicted_fpr95"]
    others = [
        predicted.assign(method=f"{detector}/{evaluator}", metric=f"predicted_{metric}")
        for detector in DETECTORS
        for evaluator in (UDE, "kmeans_l2")
        for metric in ("fpr95", "auroc")
        if (detector, evaluator, metric) != ("msp", UDE, "fpr95")
    ]
    rows = derive(pd.concat([table, *others]))
    excess = rows[(rows["metric"] == "excess_fpr95") & (rows["method"] == "kmeans_l2")].iloc[0]
    replicates = np.asarray(excess["bootstrap"])
    assert len(replicates) == REPLICATES and np.median(replicates) == pytest.approx(
        excess["value"], rel=0.2
    )
    assert np.ptp(replicates) > 0
    skills = rows[rows["metric"] == "least_skill_of_sizes"]
    assert {*skills["bootstrap"].map(len)} == {REPLICATES}
    without = derive(table)  # the predictions of one evaluator alone show no difference
    assert {*without.loc[without["metric"] == "excess_fpr95", "bootstrap"].map(len)} == {0}
