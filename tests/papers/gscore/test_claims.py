from itertools import product
from re import search

import numpy as np
import pandas as pd
import pytest

from helpers.papers.gscore.claims import ALL_NETWORKS, CLAIMS, derive
from helpers.papers.gscore.parameters import DETECTORS
from helpers.report.claims import Verdict

NETWORKS = ("resnet8", "resnet14", "densenet", "vit")
EVALUATORS = ("kmeans_l2", "gmm_wasserstein", "confidence", "auto_evaluation", "gmm_kl", "ude_kl")
VARIANTS = ("size 20", "size 50", "size 400")
VARIANTS += ("ratio 1:100", "ratio 1:10", "ratio 1:1", "ratio 10:1")
UDE = "ude_wasserstein"


def agreeing(network, method, metric, variant):
    """A number that agrees with all claims."""
    if metric == "accuracy":
        return 0.7 + 0.02 * NETWORKS.index(network)
    if variant in ("size 20", "ratio 1:100"):
        return -0.3  # outside of what the claims speak of
    if metric.startswith("rmse"):
        return 0.04 if method.endswith(UDE) else 0.06
    return {"pearson_fpr95": -0.95, "pearson_auroc": 0.88}[metric]


@pytest.fixture(scope="module")
def made_up(table_of):
    """Return the function that makes a table of `agreeing` numbers, with 60 sets near a line.

    `changes` of numbers by a pattern of "NETWORK METHOD METRIC VARIANT" are added to them.
    """
    names = "backbone", "method", "metric", "variant", "value", "test_set", "run"

    def made_up(changes=(), *, runs=3, spread=0.001, noise=0.02):
        generator, records = np.random.default_rng(0), []

        def add(*key, value=None, test_set="all", run=0):
            if value is None:
                text = " ".join(key)
                value = agreeing(*key) + sum(changes[one] for one in changes if search(one, text))
                value += spread * generator.standard_normal() * (test_set == "all")
            records.append(dict(zip(names, (*key, value, test_set, run), strict=True)))

        for place, network in enumerate(NETWORKS):
            add(network, "network", "accuracy", "primary", test_set="test")
            for run, metric in product(range(runs), ("fpr95", "auroc")):
                for method in map("/".join, product(DETECTORS, (UDE, *EVALUATORS))):
                    add(network, method, f"rmse_{metric}", "primary", run=run)
                    if method.endswith(UDE):
                        add(network, method, f"pearson_{metric}", "primary", run=run)
                for variant in VARIANTS if metric == "fpr95" else ():
                    add(network, f"msp/{UDE}", "pearson_fpr95", variant, run=run)
            for (number, score), detector in product(enumerate(np.linspace(0, 1, 60)), DETECTORS):
                near, name = generator.standard_normal(2) * noise, f"set {number}"
                fpr95 = 0.8 - 0.6 * score - 0.02 * place + near[0]
                auroc = 0.6 + 0.3 * score + near[1]
                for variant in ("meta", "test"):
                    add(network, detector, "fpr95", variant, value=fpr95, test_set=name)
                    add(network, detector, "auroc", variant, value=auroc, test_set=name)
                add(network, f"{detector}/{UDE}", "gscore", "meta", value=score, test_set=name)
        return table_of(records, paper="gscore")

    return made_up


@pytest.fixture(scope="module")
def table(made_up):
    return made_up()


def verdicts(table):
    summed = CLAIMS.verdicts(CLAIMS.check(table))
    return dict(zip(summed["claim"], map(str, summed["verdict"]), strict=True))


def test_numbers_that_agree_support_every_claim(table):
    """Eight claims, each with an identifier of its own."""
    found = verdicts(table)
    assert len(found) == len(CLAIMS.claims) == 8
    assert set(found.values()) == {"supported"}


CHANGES = {
    "correlation": {"pearson_auroc": -0.3},
    "rmse": {"gmm_wasserstein rmse_auroc": -0.03},
    "fpr95": {"pearson_auroc": 0.1},
    "detectors": {"odin/.* pearson_fpr95": 0.3},
    "backbones": {"vit msp.* primary": 0.3},
    "sizes": {"size 50": 0.3},
    "ratios": {"ratio 10:1": 0.3},
    "accuracy": {f"{name} .*accuracy": -0.04 * place for place, name in enumerate(NETWORKS)},
}
ALSO = {"detectors": {"fpr95"}, "backbones": {"detectors", "fpr95", "ratios"}}
"""Claims about means that a change moves too."""


@pytest.mark.parametrize("claim", CHANGES)
def test_numbers_on_the_other_side_contradict_the_claim(claim, made_up):
    """What contradicts one claim leaves those that do not speak of the same numbers."""
    found = verdicts(made_up(CHANGES[claim]))
    assert found.pop(claim) == "contradicted"
    others = {one for one, verdict in found.items() if verdict != "supported"}
    assert others <= ALSO.get(claim, set())


AT_THE_MARGIN = {
    "correlation": ({"pearson_fpr95 primary": 0.15}, {}),
    "rmse": ({"kmeans_l2": -0.01}, {"spread": 0.05, "runs": 5}),
    "fpr95": ({"pearson_auroc": 0.07}, {}),
    "detectors": ({"odin/.* pearson_fpr95": 0.15}, {}),
    "backbones": ({"vit msp.* primary": 0.15}, {}),
    "sizes": ({"size 50": 0.15}, {"spread": 0.01}),
    "ratios": ({"ratio 10:1": 0.15}, {"spread": 0.01}),
    # sets that differ by more than networks do: other sets could rank the networks otherwise
    "accuracy": ({}, {"noise": 0.25}),
}


@pytest.mark.parametrize("claim", AT_THE_MARGIN)
def test_numbers_about_the_margin_leave_the_claim_undecided(claim, made_up):
    """Other sets, or other divisions of them, could give a number on either side."""
    changes, given = AT_THE_MARGIN[claim]
    assert verdicts(made_up(changes, **given))[claim] == "undecided"


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


def test_without_predictions_no_skill_is_spoken_of(table):
    assert not CLAIMS.verdicts(CLAIMS.check(table))["sentence"].str.contains("skill").any()


TURNING = {
    "msp/ude.* pearson_fpr95 primary": (
        {"correlation", "fpr95", "detectors", "backbones", "ratios"},
        {"RMSE of FPR95, k-means minus UDE + Wasserstein", "correlation with AUROC, MSP"},
    ),
    "odin/ude.* pearson_auroc": ({"correlation", "fpr95"}, {"correlation with FPR95, ODIN"}),
    "size 400": ({"sizes"}, {"correlation with FPR95, MSP"}),
}


@pytest.mark.parametrize("which", TURNING)
def test_a_sign_that_turns_from_run_to_run_decides_nothing(which, made_up):
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


def test_a_sign_that_is_wrong_everywhere_contradicts(made_up):
    """As does one that is hardly a sign: correlations of about 0 turn without meaning."""
    table = made_up(runs=5)
    own = table["metric"].str.startswith("pearson") & (table["backbone"] == "vit")
    wrong = verdicts(table.assign(value=table["value"].mask(own, -table["value"])))
    assert wrong["backbones"] == "contradicted"
    weak = (table["value"] / 10).where(table["run"] != 3, -table["value"] / 10)
    assert (
        verdicts(table.assign(value=table["value"].mask(own, weak)))["backbones"] == "contradicted"
    )


def test_the_evaluators_of_table_6_do_not_decide(made_up):
    """UDE + KL below UDE + Wasserstein is reported, and moves no verdict."""
    checks = CLAIMS.check(made_up({"ude_kl rmse_auroc": -0.03}))
    over_all = checks[checks["data_set"] == "all"].set_index("check")
    one = over_all.loc["RMSE of AUROC, UDE + KL minus UDE + Wasserstein"]
    assert one["verdict"] == Verdict.CONTRADICTED and not one["decides"]
    summed = CLAIMS.verdicts(checks).set_index("claim")
    assert summed.loc["rmse", "verdict"] == Verdict.SUPPORTED


def test_derived_numbers_by_hand(made_up):
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
    same = own & (table["metric"] == "gscore")
    constant = table.assign(value=table["value"].mask(same, 1.0))
    rows = derive(constant)
    assert f"energy/{UDE}" not in set(rows["method"])
    assert "correlation_auroc" not in set(rows.loc[rows["method"] == UDE, "metric"])
    found = verdicts(constant)
    assert found["detectors"] == found["correlation"] == "no data"


def test_the_printed_numbers_support_what_they_speak_of():
    """Tables 1, 2, 4 and 6, and three numbers of the text; all else is in figures only."""
    checks = CLAIMS.check_published()
    summed = CLAIMS.verdicts(checks).set_index("claim")["verdict"]
    supported = ["correlation", "rmse", "fpr95", "backbones", "accuracy"]
    assert summed[summed == Verdict.SUPPORTED].index.tolist() == supported
    assert set(summed.drop(supported)) == {Verdict.NO_DATA}
    over_all = checks[checks["data_set"] == "all"].set_index("check")["effect"]
    # k-means 8.73, 10.97, 6.79, 6.93 against 3.46, 4.50, 4.39, 4.52
    name = "RMSE of FPR95, k-means minus UDE + Wasserstein"
    assert over_all[name] == pytest.approx((33.42 - 16.87) / 400)


def test_bad_input(table):
    """Several tiers, numbers that are there twice, and correlations without their sets."""
    with pytest.raises(ValueError, match=r"several tiers \(mini, small\)"):
        CLAIMS.check(pd.concat([table, table.assign(tier="small")]))
    with pytest.raises(ValueError, match="twice: data_set cifar10_mini, backbone resnet8, run 0"):
        derive(pd.concat([table, table]))
    gone = (table["metric"] == "gscore") & table["method"].str.startswith("odin")
    with pytest.raises(ValueError, match=f"no gscore of odin/{UDE} on resnet8 by sets"):
        derive(table[~gone])
