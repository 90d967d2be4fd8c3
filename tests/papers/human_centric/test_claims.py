from itertools import product

import numpy as np
import pandas as pd
import pytest

from helpers.metrics.ranks import critical_difference
from helpers.papers.human_centric.claims import ALL_MODELS, CLAIMS, cases, derive
from helpers.papers.human_centric.parameters import METHODS, PAPER_METHODS
from helpers.papers.human_centric.quantities import quantities
from helpers.report.claims import Verdict

# Average DER99 of MSP, accuracy and number of parameters; with `OTHERS` they agree with all claims.
MODELS = {
    "resnet8": (0.40, 0.70, 1e5),
    "resnet14": (0.36, 0.74, 2e5),
    "resnet20": (0.39, 0.73, 3e5),
    "vit4": (0.50, 0.60, 2e5),
    "resnet8+adversarial_0.1": (0.41, 0.69, 1e5),
    "resnet8+adversarial_1": (0.55, 0.55, 1e5),
    "resnet8+augmix": (0.39, 0.71, 1e5),
    "resnet8+stylised": (0.43, 0.66, 1e5),
    "resnet8+distilled": (0.37, 0.72, 1e5),
    "vit4+distilled": (0.48, 0.62, 2e5),
}
OTHERS = {
    ("vit4", "knn"): 0.45,  # the best score there, which distillation harms
    ("resnet8+augmix", "gradnorm"): 0.40,  # for GradNorm, the best way of training
}
# FPR at 95 % TPR of MSP and GradNorm, all ID images as known, and the correct ones alone
RANKINGS = {"fpr_at_tpr": (0.63, 0.36), "fpr_at_tpr_correct": (0.42, 0.58)}
BEHIND = dict(zip(PAPER_METHODS, 0.02 * np.arange(9), strict=True))  # MSP is the best, DICE worst


@pytest.fixture(scope="module")
def made_up(table_of):
    """Return a function that makes a table around `MODELS`, with runs and replicates of a spread.

    `changes` of (model, score) replace DER99, `rankings` the FPR of all models.
    """

    def made_up(changes=(), models=(), rankings=(), *, spread=0.001, runs=2, replicates=40):
        generator, records = np.random.default_rng(0), []
        changes, rankings = OTHERS | dict(changes), RANKINGS | dict(rankings)
        grid = product((MODELS | dict(models)).items(), range(runs))
        for (model, (msp, accuracy, size)), run in grid:
            rates = {name: changes.get((model, name), msp + by) for name, by in BEHIND.items()}
            numbers = {(name, "der99", "average"): rate for name, rate in rates.items()}
            numbers["network", "accuracy", "test"] = accuracy
            for metric, pair in rankings.items():
                for name, value in zip(("msp", "gradnorm"), pair, strict=True):
                    numbers[name, metric, "label-shifted"] = value
            for (method, metric, test_set), value in numbers.items():
                noise = spread * generator.standard_normal(replicates + 1)
                cell = dict(method=method, metric=metric, test_set=test_set)
                cell |= dict(backbone=model, run=run)
                records.append(cell | {"value": value + noise[0], "bootstrap": value + noise[1:]})
            records.append(cell | {"method": "network", "metric": "parameters", "value": size,
                                   "bootstrap": ()})  # fmt: skip
        return table_of(records, paper="human_centric")

    return made_up


def verdicts(table, **given):
    summed = CLAIMS.verdicts(CLAIMS.check(table, **given))
    return dict(zip(summed["claim"], map(str, summed["verdict"]), strict=True))


def test_numbers_that_agree_support_every_claim(made_up):
    """Fourteen claims, each with an identifier of its own."""
    found = verdicts(made_up())
    assert len(found) == len(CLAIMS.claims) == 14
    assert set(found.values()) == {"supported"}


EVERYWHERE = {(model, "vim"): msp - 0.015 for model, (msp, *_) in MODELS.items()}
EVERYWHERE |= {("vit4", "knn"): 0.49, ("vit4", "vim"): 0.47}
LEVEL = {("resnet20", name): 0.36 + behind for name, behind in BEHIND.items()}
REVERSED = {name: (msp, 0.25 + msp, size) for name, (msp, _, size) in MODELS.items()}
ROBUST = {(f"resnet8+adversarial_{radius}", "energy"): 0.36 for radius in (0.1, 1)}
# effects of the paper's size, and about theirs, on the other side; what else they contradict
CONTRARY = [
    ("conventional", {"rankings": {"fpr_at_tpr": (0.36, 0.63)}}, ()),
    ("correct-ones", {"rankings": {"fpr_at_tpr_correct": (0.58, 0.42)}}, ()),
    ("consistent", {"changes": EVERYWHERE}, ()),
    ("architecture", {"changes": {("vit4", "knn"): 0.6}}, ("inconsistent-distillation",)),
    ("accuracy", {"models": REVERSED}, ()),  # those with many errors are the accurate ones
    ("capacity", {"models": {"resnet20": (0.35, 0.75, 3e5)}}, ("depth",)),
    ("depth", {"changes": {("resnet20", "vim"): 0.45}}, ()),
    ("adversarial", {"models": {"resnet8+adversarial_1": (0.38, 0.71, 1e5)}}, ()),
    ("weak-adversarial", {"models": {"resnet8+adversarial_0.1": (0.50, 0.6, 1e5)}}, ()),
    ("weak-adversarial", {"models": {"resnet8+adversarial_0.1": (0.30, 0.8, 1e5)}}, ()),
    ("robust", {"changes": ROBUST}, ()),
    ("strategy", {"changes": {("resnet8+augmix", "gradnorm"): 0.49}}, ()),
    ("teacher", {"changes": {("resnet8+augmix", "knn"): 0.40}}, ()),
    ("teacher", {"models": {"resnet8+augmix": (0.33, 0.75, 1e5)}}, ("strategy",)),
    ("distillation", {"models": {"resnet8+distilled": (0.45, 0.68, 1e5)}}, ("teacher", "strategy")),
    ("inconsistent-distillation", {"changes": {("vit4+distilled", "knn"): 0.44}}, ()),
]


@pytest.mark.parametrize(("claim", "given", "too"), CONTRARY)
def test_numbers_on_the_other_side_contradict_the_claim(made_up, claim, given, too):
    """What contradicts one claim leaves those that it does not enter."""
    assert {one for one, *_ in CONTRARY} == {one.id for one in CLAIMS.claims}
    found = verdicts(made_up(**given))
    assert [found.pop(one) for one in (claim, *too)] == ["contradicted"] * (1 + len(too))
    found.pop("architecture", None)  # whether one score is best everywhere changes with many
    assert set(found.values()) == {"supported"}


@pytest.mark.parametrize(
    ("claim", "given"),
    [
        ("conventional", {"rankings": {"fpr_at_tpr": (0.5, 0.5)}}),
        ("correct-ones", {"rankings": {"fpr_at_tpr_correct": (0.5, 0.5)}}),
        ("consistent", {"changes": EVERYWHERE | {("resnet8", "vim"): 0.40}}),
        ("architecture", {"changes": {("vit4", "knn"): 0.49}}),
        ("accuracy", {"spread": 0.05}),
        ("capacity", {"changes": LEVEL | {("resnet20", "msp"): 0.3695}}),
        ("depth", {"changes": {("resnet20", "vim"): 0.51}}),
        ("adversarial", {"models": {"resnet8+adversarial_1": (0.40, 0.66, 1e5)}}),
        ("weak-adversarial", {"models": {"resnet8+adversarial_0.1": (0.42, 0.68, 1e5)}}),
        ("weak-adversarial", {"models": {"resnet8+adversarial_0.1": (0.38, 0.71, 1e5)}}),
        ("robust", {"changes": {("resnet8+adversarial_1", "energy"): 0.51}}),
        ("strategy", {"changes": {("resnet8+augmix", "gradnorm"): 0.46}}),
        ("teacher", {"changes": {("resnet8+augmix", "knn"): 0.49}}),
        ("distillation", {"models": {"resnet8+distilled": (0.42, 0.68, 1e5)}}),
        ("inconsistent-distillation", {"changes": {("vit4+distilled", "knn"): 0.46}}),
    ],
)
def test_numbers_at_the_margin_leave_it_undecided(made_up, claim, given):
    """An interval that holds the margin decides nothing."""
    runs = 2 if claim == "capacity" else 1  # of one run it is undecided whatever the numbers
    assert verdicts(made_up(**given, runs=runs))[claim] == "undecided"


def test_luck_in_training_is_no_rise_from_model_to_model(made_up):
    """Each larger network is two points better, and trainings differ by as much.

    Chosen in the run that it is measured in, the largest rise is beyond the margin nearly always;
    chosen in others it is on average what it is: no rise, of which one run alone cannot tell.
    """
    names = [f"resnet{size}" for size in (8, 14, 20, 32)]
    sizes = {name: float(place) for place, name in enumerate(names)}
    (rise,) = (one for one in quantities(names, sizes) if one.metric == "capacity_rise")
    generator, own, held = np.random.default_rng(0), [], []
    for _ in range(300):
        better = np.array([-0.02 * sizes[name] for name in rise.models])
        numbers = np.zeros((3, len(rise.models), 15, 1))  # all that a model has
        trained = {name: 0.02 * generator.standard_normal((3, 15)) for name in names}
        luck = np.stack([trained[name] for name in rise.models], axis=1)
        numbers[..., 0] = better[:, None] + luck
        own.append(rise.by_run({0: numbers[0]})[0].item())
        held.append(np.mean([*rise.by_run(dict(enumerate(numbers))).values()]))
    assert np.mean(np.array(own) > 0.01) > 0.9
    assert np.mean(held) == pytest.approx(-0.02, abs=3 * np.std(held) / np.sqrt(300))
    said = CLAIMS.verdicts(CLAIMS.check(made_up(runs=1))).set_index("claim")
    assert said.loc["capacity", "verdict"] == Verdict.UNDECIDED
    assert said.loc["capacity", "sentence"].endswith("many differences may be luck.")
    assert set(said["verdict"].drop("capacity")) == {Verdict.SUPPORTED}


def test_derived_numbers_by_hand(made_up):
    """On the numbers without noise, each of them is what its definition says.

    A replicate with harder images, which all models share, leaves differences as they are.
    """
    table = made_up(spread=0, runs=1, replicates=3)
    rows = derive(table)
    assert set(rows["backbone"]) == {ALL_MODELS}
    found = rows.set_index(["metric", "method"])["value"]
    assert found.index.is_unique
    models = pd.DataFrame(MODELS, index=["msp", "accuracy", "parameters"]).T
    expected = {
        ("least_gain", "knn"): -0.12,
        # KNN is behind six scores on nine models and best on one; MSP is then second
        ("rank_gain", "knn"): ((9 * 1 + 2) - (9 * 7 + 1)) / 10 / critical_difference(9, 10),
        ("regret", "network"): 0.05,  # MSP is best on average
        ("capacity_rise", "network"): 0.03,
        ("fpr_at_tpr_behind", "msp"): 0.27,
        ("fpr_at_tpr_correct_behind", "msp"): -0.16,
        ("middle_gain_from_smaller", "vim"): 0.04,
        ("middle_gain_from_larger", "vim"): 0.03,
        ("adversarial_harm", "msp"): 0.15,  # the strongest
        ("weak_change", "msp"): 0.01,
        ("robust_lag", "msp"): 0.0,
        ("strategy_regret", "network"): 0.47 - 0.40,  # of GradNorm; distillation is best on average
        ("distilled_lag", "msp"): 0.37 - 0.39,
        ("distilled_lag", "knn"): 0.37 - 0.39,
        ("distillation_both", "network"): 0.03,  # of KNN, whose loss is larger
        ("distillation_gain", "msp"): (0.03 + 0.02) / 2,
        ("accuracy_correlation", "msp"): models["msp"].corr(models["accuracy"], method="spearman"),
    }
    assert found[list(expected)].to_dict() == pytest.approx(expected)
    harder = [
        replicates + np.float32([0, 0.1, 0.2]) if metric == "der99" else replicates
        for metric, replicates in zip(table["metric"], table["bootstrap"], strict=True)
    ]
    for one in (rows, derive(table.assign(bootstrap=harder))):
        values = np.tile(one["value"].to_numpy()[:, None], 3)
        assert np.stack(one["bootstrap"]) == pytest.approx(values, abs=1e-6)


def test_a_run_without_one_of_the_models_has_no_number_over_it(made_up):
    """The other runs keep theirs, and so do numbers over other models."""
    table = made_up()
    rows = derive(table[(table["backbone"] != "vit4+distilled") | (table["run"] != 1)])
    runs = rows.groupby("metric")["run"].agg(set)
    assert runs["least_gain"] == runs["distillation_gain"] == {0}
    assert runs["capacity_rise"] == runs["adversarial_harm"] == {0, 1}


def test_failed_models_are_left_out(made_up):
    """A row that says so adds nothing; a model without one of the scores is no case."""
    table = made_up()
    failed = table[table["metric"] == "parameters"].head(1)
    failed = failed.assign(backbone="resnet99", metric="failed", value=1.0, notes="no head")
    pd.testing.assert_frame_equal(derive(pd.concat([table, failed])), derive(table))
    lacking = derive(table[(table["backbone"] != "vit4") | (table["method"] != "dice")])
    pd.testing.assert_frame_equal(lacking, derive(table[table["backbone"] != "vit4"]))


def test_missing_models_are_no_data_with_a_reason(made_up):
    """Each claim says what it needs; the others keep their verdicts."""
    table = made_up()
    plain = table[table["backbone"].isin(["resnet8", "vit4"])]
    summed = CLAIMS.verdicts(CLAIMS.check(plain)).set_index("claim")
    absent = summed[summed["verdict"] == Verdict.NO_DATA]
    assert sorted({one.id for one in CLAIMS.claims} - {*absent.index}) == (
        ["architecture", "consistent"]
    )
    assert "needs 5 models with accuracy" in absent.loc["accuracy", "sentence"]
    assert "needs a distilled model" in absent.loc["distillation", "sentence"]
    assert set(verdicts(table.iloc[:0]).values()) == {"no data"}


def test_siblings_decide_nothing_about_many_models(made_up):
    """On one family the three sentences about many stay undecided; a second one decides them."""
    table = made_up()
    alone = table[~table["backbone"].str.startswith("vit")]
    found = verdicts(alone)
    assert [found.pop(name) for name in ("consistent", "architecture", "accuracy")] == (
        ["undecided"] * 3
    )
    assert found.pop("inconsistent-distillation") == "no data"  # one architecture is left
    assert set(found.values()) == {"supported"}  # these are about single families
    checks = CLAIMS.check(alone)
    summed = CLAIMS.verdicts(checks).set_index("claim")["sentence"]
    assert summed["consistent"].endswith(
        "From 8 networks, 3 architectures, 1 family; undecided, since the networks are of fewer "
        "than 2 families."
    )
    assert summed["capacity"].endswith("From 3 networks, 3 architectures, 1 family.")
    own = checks[(checks["claim"] == "accuracy") & (checks["data_set"] == "all")]
    assert own["note"].item().endswith("doubted: the networks are of fewer than 2 families")
    assert own["high"].item() < -0.5  # the numbers are all there
    assert set(verdicts(table).values()) == {"supported"}


def test_two_architectures_decide_nothing_about_many_models(made_up):
    """However many networks they are, and of two families; what is said of pairs they decide."""
    two = made_up()[lambda table: ~table["backbone"].isin(["resnet14", "resnet20"])]
    found = verdicts(two)
    few = ("consistent", "architecture", "accuracy")
    assert [found[name] for name in few] == ["undecided"] * 3
    assert found["inconsistent-distillation"] == found["distillation"] == "supported"
    said = CLAIMS.verdicts(CLAIMS.check(two)).set_index("claim")["sentence"]["consistent"]
    assert said.endswith(
        "From 8 networks, 2 architectures, 2 families; undecided, since the networks are of fewer "
        "than 3 architectures."
    )


@pytest.mark.parametrize(("error", "verdict"), [(0.55, "supported"), (0.38, "undecided")])
def test_what_held_out_thresholds_do_not_say_too_is_undecided(made_up, error, verdict):
    """Of the one claim on which they disagree; asked alone, each variant has its own verdict."""
    held = made_up({}, {"resnet8+adversarial_1": (error, 0.55, 1e5)})
    both = pd.concat([made_up(), held.assign(variant="held-out threshold")])
    found = verdicts(both)
    assert found.pop("adversarial") == verdict
    assert set(found.values()) == {"supported"}
    alone = verdicts(both, variant="held-out threshold")["adversarial"]
    assert alone == ("supported" if error > 0.5 else "contradicted")
    said = CLAIMS.verdicts(CLAIMS.check(both)).set_index("claim")["sentence"]["adversarial"]
    assert ("by the held-out threshold it is contradicted" in said) == (error < 0.5)


@pytest.mark.parametrize(
    ("error", "expected"), [(0.46, ["supported"] * 2), (0.3, ["supported", "contradicted"]),
                            (0.6, ["contradicted", "supported"])],
)  # fmt: skip
def test_strategies_are_compared_with_plain_fine_tuning_where_there_is_one(
    made_up, error, expected
):
    """Not with the network that all begin with: an epoch by itself is no strategy."""
    found = verdicts(made_up({}, {"resnet8+finetuned": (error, 0.69, 1e5)}))
    assert [found["adversarial"], found["distillation"]] == expected


def test_what_too_few_ways_and_strengths_leave_open(made_up):
    """Two ways of training, one robust model, and no weak one: what is said of them has no data."""
    table = made_up({}, {"resnet8+adversarial_0.25": (0.41, 0.69, 1e5)})
    few = ["resnet8+stylised", "resnet8+augmix", "resnet8+adversarial_0.1"]
    found = verdicts(table[~table["backbone"].isin([*few, "resnet8+adversarial_1"])])
    gone = {one for one, verdict in found.items() if verdict == "no data"}
    assert gone == {"strategy", "teacher", "robust", "weak-adversarial"}
    # a weak one is compared, a stronger one beside it is not
    found = verdicts(table[~table["backbone"].isin(few[:2])])
    assert found["weak-adversarial"] == found["robust"] == "supported"


def test_the_middle_of_the_three_largest_resnets(made_up):
    """As the paper's: of 18, 34, 50, 101 and 152 layers, 101; and no other family."""
    sizes = {"resnet26": 4e5, "resnet32": 5e5}
    table = made_up({("resnet26", "vim"): 0.44}, {one: (0.39, 0.73, n) for one, n in sizes.items()})
    found = derive(table).set_index("metric")["value"]
    assert found["middle_gain_from_smaller"].mean() == pytest.approx(0.53 - 0.44, abs=0.01)
    only = table[~table["backbone"].isin(["resnet20", *sizes])]
    assert verdicts(only)["depth"] == "no data"


def test_rankings_without_replicates_are_no_numbers(made_up):
    """They cannot be paired with what has; where nothing has any, they count."""
    table = made_up()
    ranking = table["metric"].isin(RANKINGS)
    empty = [() if one else own for one, own in zip(ranking, table["bootstrap"], strict=True)]
    found = verdicts(table.assign(bootstrap=empty))
    assert found.pop("conventional") == found.pop("correct-ones") == "no data"
    assert set(found.values()) == {"supported"}
    bare = derive(table.assign(bootstrap=[()] * len(table)))
    assert {"fpr_at_tpr_behind", "least_gain"} <= set(bare["metric"])


def test_rows_of_other_papers_and_variants_are_left_out(made_up):
    """Only the chosen variant of this paper is checked."""
    contrary = made_up({}, {"resnet8+adversarial_1": (0.2, 0.8, 1e5)})
    contrary, table = contrary.assign(variant="all classes"), made_up()
    both = pd.concat([table, contrary, contrary.assign(paper="gscore")])
    assert verdicts(both) == verdicts(table)
    assert verdicts(both, variant="all classes")["adversarial"] == "contradicted"


def test_cases_are_means_over_runs_in_the_order_of_methods(made_up):
    """One row per model and one column per score; what is no average is left out."""
    table = made_up()
    other = table[table["metric"] == "der99"].assign(test_set="test", value=9.0)
    extra = table[table["method"] == "msp"].assign(method="ash")
    frame = cases(pd.concat([extra, table, other]))
    assert frame.columns.tolist() == [name for name in METHODS if name in [*PAPER_METHODS, "ash"]]
    assert sorted(frame.index) == sorted(MODELS)
    own = table.query("backbone == 'vit4' and method == 'knn' and metric == 'der99'")
    assert frame.loc["vit4", "knn"] == pytest.approx(own["value"].mean())


def test_the_papers_own_tables():
    """Two claims on many scores hold in its tables, and seven effects stand in its text."""
    checks = CLAIMS.check_published()
    summed = CLAIMS.verdicts(checks).set_index("claim")
    decided = summed["verdict"][summed["verdict"] != Verdict.NO_DATA]
    in_text = {"conventional": [0.2754], "correct-ones": [-0.1655], "capacity": [0.0192],
               "depth": [0.0667, 0.0192], "adversarial": [0.1532],
               "inconsistent-distillation": [0.0896]}  # fmt: skip
    printed = ("consistent", "architecture", *in_text)
    assert decided.to_dict() == dict.fromkeys(printed, "supported")
    over_all = checks[checks["data_set"] == "all"].groupby("claim")["effect"].agg(list)
    assert over_all[list(in_text)].to_dict() == in_text
    own = checks[checks["data_set"] == "imagenet"].set_index("check")["effect"]
    # Mahalanobis is furthest behind on VGG19; both averages are those of the eight cells
    assert own["least average DER99 gained over MSP, Mahalanobis"] == pytest.approx(
        0.3183 - 0.7299, abs=1e-4
    )
    # MSP is best on average; it loses most on NASNet-Large, to Mahalanobis
    name = "average DER99 lost on an architecture by keeping to one score"
    assert own[name] == pytest.approx(0.3383 - 0.2501, abs=1e-4)


def test_bad_input(made_up):
    """Numbers that are there twice or cannot be paired are refused, naming the run."""
    table = made_up()
    with pytest.raises(ValueError, match="there twice: backbone resnet8, method msp, metric der99"):
        derive(pd.concat([table, table]))
    table.at[0, "bootstrap"] = table.at[0, "bootstrap"][:5]
    with pytest.raises(ValueError, match="have different numbers of bootstrap"):
        derive(table)
    with pytest.raises(ValueError, match="unknown metric 'der9'; did you mean"):
        cases(table, metric="der9")
    with pytest.raises(ValueError, match="table: no der95 on the test set average"):
        cases(table, metric="der95")
