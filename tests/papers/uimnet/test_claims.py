import itertools

import numpy as np
import pandas as pd
import pytest

from helpers.papers.uimnet.algorithms import ALGORITHMS
from helpers.papers.uimnet.claims import ALL_SIZES, CLAIMS, derive
from helpers.papers.uimnet.measures import MEASURES
from helpers.report.claims import Verdict

BASE = {
    "accuracy": 0.7, "accuracy_top5": 0.9, "nll": 1.0, "ece": 0.10,
    "auroc": 0.8, "out_as_out": 0.3, "in_as_in": 0.95,
}  # fmt: skip
IN = ("accuracy", "accuracy_top5", "nll", "ece")
POOR = ("jacobian", "tta", "native")


def agreeing(backbone, algorithm, measure, variant, calibration, metric):
    """A number that agrees with all claims."""
    value = BASE[metric] - 0.2 * (algorithm == "rbf")
    if algorithm not in ("erm", "rbf"):
        value += {"accuracy": -0.02, "nll": 0.02}.get(metric, 0.0)
    if variant == "ensemble" and not (algorithm == "mimo" and measure):
        value += {"nll": -0.1, "ece": -0.03, "in_as_in": 0.0}.get(metric, 0.04)
    if algorithm == "mimo" and metric == "out_as_out":
        value += 0.05
    if calibration == "after":
        value += {"ece": -0.04}.get(metric, 0.0)
    if backbone.endswith("+weights"):
        value += {"auroc": -0.01, "out_as_out": -0.01}.get(metric, 0.0)
    if measure in (*POOR, "gmm"):
        value -= 0.1
    elif measure in ("msp", "gap"):
        value -= 0.04
    if metric == "out_as_out" and backbone.startswith("resnet20"):
        value += 0.1
    return value


@pytest.fixture(scope="module")
def made_up(table_of):
    """Return a function that makes tables of `agreeing` numbers, with noise around them.

    To each number is added what is given for values of what tells it apart: ``(0.1, {"metric":
    "nll"})`` raises every NLL.
    """

    def build(*changes, spread=0.001, runs=2, replicates=40):
        generator, records = np.random.default_rng(0), []
        grid = itertools.product(
            ("resnet8", "resnet8+weights", "resnet20", "resnet20+weights"), ALGORITHMS,
            ("", *MEASURES), ("primary", "ensemble"), ("before", "after"), BASE, range(runs),
        )  # fmt: skip
        for *key, run in grid:
            names = ("backbone", "algorithm", "measure", "variant", "calibration", "metric")
            named = dict(zip(names, key, strict=True))
            if (named["metric"] in IN) == bool(named["measure"]):
                continue
            value = agreeing(**named) + sum(
                gain
                for gain, where in changes
                if all(named[name] in values for name, values in where.items())
            )
            noise = value + spread * generator.standard_normal(replicates + 1)
            method = f"{named.pop('algorithm')}/{named['measure']}".rstrip("/")
            test_set = "out" if named.pop("measure") else "test"
            records.append(named | {"method": method, "test_set": test_set, "run": run,
                                    "value": noise[0], "bootstrap": noise[1:]})  # fmt: skip
        return table_of(records, paper="uimnet")

    return build


@pytest.fixture(scope="module")
def table(made_up):
    return made_up()


@pytest.fixture(scope="module")
def exact(made_up):
    return made_up(spread=0, runs=1, replicates=3)


def verdicts(table):
    summed = CLAIMS.verdicts(CLAIMS.check(table))
    return dict(zip(summed["claim"], map(str, summed["verdict"]), strict=True))


def number(rows, what, metric, backbone="resnet8"):
    query = "method == @what and metric == @metric and backbone == @backbone"
    return rows.query(query)["value"].item()


def test_numbers_that_agree_support_every_claim(table):
    """Twelve claims, each with an identifier of its own."""
    found = verdicts(table)
    assert len(found) == len(CLAIMS.claims) == 12
    assert set(found.values()) == {"supported"}


SPECTRAL, LARGE = ("resnet8+weights", "resnet20+weights"), ("resnet20", "resnet20+weights")
AFTER = {"calibration": ("after",), "metric": ("auroc",)}


OTHER_SIDE = [  # a claim, what contradicts it, and the other claims that this contradicts
    ("erm", [(0.05, {"algorithm": ("mixup",), "metric": ("accuracy_top5",)})], []),
    ("erm", [(-0.2, {"algorithm": ("mixup",), "metric": ("nll",)})], []),
    ("erm", [(-0.05, {"algorithm": ("mixup",), "metric": ("ece",)})], []),
    ("erm-out-domain", [(0.025, {"algorithm": ("mixup",), "metric": ("auroc",)})], []),
    ("erm-out-domain", [(0.025, {"algorithm": ("mixup",), "metric": ("in_as_in",)})], []),
    ("alike", [(-0.04, {"algorithm": ("mixup",), "metric": ("accuracy",)})], []),
    ("alike", [(0.04, {"algorithm": ("mixup",), "metric": ("auroc",)})], ["erm-out-domain"]),
    ("ensemble-in-domain", [(0.1, {"variant": ("ensemble",), "metric": ("ece",)})], []),
    # one algorithm, whose loss is small in the mean over all
    (
        "ensemble-out-domain",
        [(-0.06, {"variant": ("ensemble",), "algorithm": ("mixup",), "metric": ("auroc",)})],
        [],
    ),
    ("mimo", [(-0.02, {"algorithm": ("mimo",), "metric": ("out_as_out",)})], []),
    (
        "mimo",  # another one does too
        [(0.05, {"algorithm": ("mixup",), "metric": ("out_as_out",)})],
        ["erm-out-domain"],
    ),
    # changes that cancel out in their mean over algorithms
    ("calibration", [(-0.05, AFTER), (0.1, AFTER | {"algorithm": ("erm", "mixup")})], []),
    ("spectral", [(0.04, {"backbone": SPECTRAL, "metric": ("out_as_out",)})], []),
    ("spectral", [(-0.06, {"backbone": SPECTRAL, "metric": ("auroc",)})], []),
    ("spectral", [(0.02, {"backbone": SPECTRAL, "metric": ("accuracy",)})], []),
    # 11.5 points, which was once called no help and nothing else
    ("spectral", [(-0.115, {"backbone": SPECTRAL, "metric": ("accuracy",)})], []),
    ("entropy", [(0.03, {"measure": ("msp",), "metric": ("auroc",)})], []),
    (
        "measures",
        [(0.09, {"measure": ("jacobian",), "metric": ("auroc",)})],
        ["entropy"],
    ),
    ("gmm-rbf", [(0.2, {"algorithm": ("rbf",), "metric": ("accuracy",)})], []),
    ("gmm-rbf", [(0.09, {"measure": ("gmm",), "metric": ("auroc",)})], ["entropy"]),
    ("size", [(-0.09, {"backbone": LARGE, "metric": ("out_as_out",)})], []),
]


@pytest.mark.parametrize(("claim", "changes", "others"), OTHER_SIDE)
def test_numbers_on_the_other_side_contradict_the_claim(claim, changes, others, made_up):
    """What contradicts one claim leaves the others, but for those that it says more than."""
    found = verdicts(made_up(*changes, runs=1))
    against = {name for name, one in found.items() if one == "contradicted"}
    assert against == {claim, *others}
    assert {one for name, one in found.items() if name not in against} == {"supported"}


AT_THE_MARGIN = [
    ("erm", 0.01, {"algorithm": ("mixup",), "metric": ("accuracy_top5",)}),
    ("erm-out-domain", 0.02, {"algorithm": ("mixup",), "metric": ("auroc",)}),
    ("alike", -0.01, {"algorithm": ("mixup",), "metric": ("accuracy",)}),
    ("ensemble-in-domain", 0.03, {"variant": ("ensemble",), "metric": ("ece",)}),
    (
        "ensemble-out-domain",
        -0.04,
        {"variant": ("ensemble",), "algorithm": ("mixup",), "metric": ("auroc",)},
    ),
    ("mimo", -0.01, {"algorithm": ("mimo",), "metric": ("out_as_out",)}),
    ("calibration", 0.0405, {"calibration": ("after",), "metric": ("ece",)}),
    ("spectral", 0.01, {"backbone": SPECTRAL, "metric": ("accuracy",)}),
    ("entropy", 0.02, {"measure": ("msp",), "metric": ("auroc",)}),
    ("measures", 0.06, {"measure": ("jacobian",), "metric": ("auroc",)}),
    ("gmm-rbf", 0.19, {"algorithm": ("rbf",), "metric": ("accuracy",)}),
    ("size", -0.08, {"backbone": LARGE, "metric": ("out_as_out",)}),
]


@pytest.mark.parametrize(("claim", "by", "where"), AT_THE_MARGIN)
def test_numbers_at_the_margin_leave_the_claim_undecided(claim, by, where, made_up):
    """And no other claim."""
    found = verdicts(made_up((by, where), runs=1))
    assert found.pop(claim) == "undecided" and set(found.values()) == {"supported"}


def test_an_algorithm_or_measure_that_is_not_the_papers_changes_no_verdict(made_up, table):
    """However good it is: the sentences are the paper's."""
    own = [table]
    for old, new in (("mixup", "logit_norm"), ("erm/gap", "erm/vim"), ("mixup/gap", "mixup/vim")):
        method = table["method"]
        chosen = table[(method == old) | method.str.startswith(f"{old}/")]
        names = chosen["method"].str.replace(old, new, regex=False)
        own.append(chosen.assign(method=names, value=chosen["value"] + 0.2))
    pd.testing.assert_frame_equal(CLAIMS.check(pd.concat(own)), CLAIMS.check(table))


def test_rnd_and_oc_are_erm_and_count_once(exact):
    """Their numbers move nothing but the means of Native, which is their own."""
    student = exact["method"].str.match("(rnd|oc)(/|$)") & ~exact["method"].str.endswith("native")
    moved = exact.assign(value=exact["value"] + 0.2 * student)
    rows, other = derive(exact), derive(moved)
    differ = ~np.isclose(rows["value"], other["value"])
    assert rows["method"][differ].str.endswith("minus Native").all()


def with_trials(table, table_of, *, classes=10.0, nll=1.0):
    """The table with what else is said of each network: its classes, and a trial's likelihood."""
    rows = [
        {"backbone": one, "method": "erm", "variant": variant, "metric": metric, "run": 0,
         "value": value, "test_set": test_set, "bootstrap": [value] * 40}
        for one in ("resnet8", "resnet20")
        for variant, metric, value, test_set in (
            ("primary", "classes", classes, "test"), ("trial 1", "nll", nll, "validation"))
    ]  # fmt: skip
    return pd.concat([table, table_of(rows, paper="uimnet")], ignore_index=True)


def untestable(table):
    return {name for name, one in verdicts(table).items() if one == "not testable"}


def test_what_networks_must_know_for_claims_on_ensembles_and_out_domain_images(made_up, table_of):
    """A member that has learnt nothing, and a measure at chance: on both sides of the bounds."""
    table = made_up(runs=1)
    told = with_trials(table, table_of)
    assert set(verdicts(told).values()) == {"supported"}
    of_ensembles = {"ensemble-in-domain", "ensemble-out-domain", "mimo"}
    assert untestable(with_trials(table, table_of, nll=2.2)) == of_ensembles  # log 10 is 2.3
    unsaid = told[told["metric"] != "classes"]  # nobody knows what guessing costs
    assert untestable(unsaid) == of_ensembles
    chance = told["value"] - 0.27 * (told["metric"] == "auroc")
    assert untestable(told.assign(value=chance)) == {
        "erm-out-domain", "alike", "ensemble-out-domain", "mimo", "calibration", "spectral",
        "entropy", "measures", "gmm-rbf", "size",
    }  # fmt: skip


def test_a_trial_of_an_algorithm_that_is_not_the_papers_bars_no_claim(table, table_of):
    told = with_trials(table, table_of)
    other = told[told["variant"] == "trial 1"].assign(method="logit_norm", value=2.2)
    assert not untestable(pd.concat([told, other]))


def test_where_all_answers_are_among_the_first_five_nothing_can_rise(table, table_of):
    """With four classes ACC@5 is 1 for all: that contradicts no claim."""
    sure = table["metric"] == "accuracy_top5"
    replicates = [np.ones(40) if one else own
                  for one, own in zip(sure, table["bootstrap"], strict=True)]  # fmt: skip
    ceiling = table.assign(value=table["value"].mask(sure, 1.0), bootstrap=replicates)
    found = verdicts(with_trials(ceiling, table_of, classes=4.0))
    assert found.pop("ensemble-in-domain") == "not testable"
    assert set(found.values()) == {"supported"}
    assert verdicts(with_trials(ceiling, table_of))["ensemble-in-domain"] == "contradicted"


def test_derived_numbers_by_hand(exact):
    """On numbers without noise each is what its definition says, and so are its replicates."""
    rows = derive(exact)
    for expected, *what in (
        (0.02, "Mixup minus ERM", "nll"),
        (-0.1, "ensemble minus single", "nll"),
        (0.04, "ERM ensemble minus single", "auroc"),
        (0, "MIMO ensemble minus single", "auroc"),
        (-0.04, "calibrated minus not", "ece"),
        (-0.01, "spectral normalisation minus none", "auroc"),
        (0.04, "Entropy minus Gap", "auroc"),
        (-0.2, "RBF minus ERM", "accuracy"),
        (0.1 - 0.04, "worst of Entropy, Largest and Gap minus Native", "out_as_out"),
        (0.05 - 0.04, "MIMO minus ERM ensemble", "out_as_out", "resnet20"),
        (0.1, "largest minus smallest network", "out_as_out", ALL_SIZES),
    ):
        assert number(rows, *what) == pytest.approx(expected)
    mimo = rows.query("method == 'MIMO minus ERM ensemble'")
    assert set(mimo["backbone"]) == {"resnet20"}  # the largest alone
    for value, replicates in zip(rows["value"], rows["bootstrap"], strict=True):
        assert replicates == pytest.approx([value] * 3, abs=1e-6)


def test_the_worst_of_the_three_measures_counts_over_algorithms_that_have_both(exact):
    """A weak Gap lowers the mean over algorithms without RBF; ERM without Native is not in it."""
    method, what = exact["method"], "worst of Entropy, Largest and Gap minus"
    weak = method.isin(["erm/gap", "rbf/gap"]) & (exact["metric"] == "auroc")
    lower = exact.assign(value=exact["value"] - 0.7 * weak)
    assert number(derive(lower), f"{what} Jacobian", "auroc") == pytest.approx(0.1 - 0.04 - 0.7 / 5)
    higher = exact.assign(value=exact["value"] + 0.7 * method.str.startswith("erm/"))
    rows = derive(higher[method != "erm/native"])
    assert number(rows, f"{what} Native", "auroc") == pytest.approx(0.1 - 0.04)


def test_a_run_without_one_of_the_algorithms_has_no_mean(table):
    """The other run keeps its own; comparisons that the algorithm is not in keep both."""
    gone = (table["method"] == "mixup/entropy") & (table["run"] == 1)
    rows = derive(table[~gone])
    runs = rows.groupby(["method", "metric"])["run"].agg(set)
    assert runs["change with calibration", "auroc"] == {0}
    assert runs["ensemble minus single", "nll"] == runs["Mixup minus ERM", "nll"] == {0, 1}


@pytest.mark.parametrize("form", ["strict", "bounded", "bounded_3", "weights_3", "spectral"])
def test_the_papers_form_of_spectral_normalisation_alone_counts(table, form):
    """Networks of another form, however bad, move no verdict; without the paper's there is none."""
    own = table["backbone"].str.endswith("+weights")
    other = table[own].assign(backbone=table["backbone"].str.replace("weights", form))
    other = other.assign(
        value=other["value"] - 0.3, bootstrap=[b - 0.3 for b in other["bootstrap"]]
    )
    before = CLAIMS.check(table)
    both = CLAIMS.check(pd.concat([table, other], ignore_index=True))
    pd.testing.assert_frame_equal(both, before)
    without = CLAIMS.check(pd.concat([table[~own], other], ignore_index=True))
    found = CLAIMS.verdicts(without).set_index("claim")["verdict"]
    assert found.pop("spectral") == Verdict.NO_DATA
    assert set(found) == {Verdict.SUPPORTED}


def test_missing_variants_are_no_data_with_a_reason(table):
    """Each claim says what it needs; the others keep their verdicts."""
    small = table[(table["backbone"] == "resnet8") & (table["variant"] == "primary")]
    summed = CLAIMS.verdicts(CLAIMS.check(small)).set_index("claim")
    absent = summed[summed["verdict"] == Verdict.NO_DATA]
    expected = ["ensemble-in-domain", "ensemble-out-domain", "mimo", "spectral", "size"]
    assert absent.index.tolist() == expected
    assert "needs networks of two sizes" in absent.loc["size", "sentence"]
    assert set(summed["verdict"].drop(expected)) == {Verdict.SUPPORTED}
    nothing = CLAIMS.verdicts(CLAIMS.check(table.iloc[:0]))
    assert set(nothing["verdict"]) == {Verdict.NO_DATA}


def test_rows_of_trials_and_other_papers_are_left_out(table):
    """None of them moves a verdict."""
    trials = table.assign(variant="trial 0", value=9.0)
    others = table.assign(paper="gscore", value=9.0)
    both = pd.concat([trials, others, table])
    pd.testing.assert_frame_equal(CLAIMS.check(both), CLAIMS.check(table))


def test_bad_input(table):
    """Numbers that are there twice or cannot be paired are refused."""
    with pytest.raises(ValueError, match="there twice: data_set cifar10_mini, backbone"):
        derive(pd.concat([table, table]))
    other = table.copy()
    other.at[0, "bootstrap"] = other.at[0, "bootstrap"][:5]
    with pytest.raises(ValueError, match="different numbers of bootstrap replicates"):
        derive(other)
