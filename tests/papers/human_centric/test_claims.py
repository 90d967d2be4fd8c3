"""What the claims of Zhu et al. compute; each verdict of each claim: tests/report."""

import numpy as np
import pandas as pd
import pytest

from helpers.metrics.ranks import critical_difference
from helpers.papers.human_centric.claims import ALL_MODELS, cases, derive, quantities
from helpers.papers.human_centric.parameters import METHODS, PAPER_METHODS
from tests.report import claim_tables
from tests.report.claim_tables import MODELS, RANKINGS
from tests.report.claim_tables import human_centric as made_up


def verdicts(table, **given):
    return claim_tables.verdicts("human_centric", table, **given)


def test_luck_in_training_is_no_rise_from_model_to_model():
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
    assert verdicts(made_up(runs=1))["capacity"] == "undecided"


def test_derived_numbers_by_hand():
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


def test_a_run_without_one_of_the_models_has_no_number_over_it():
    """The other runs keep theirs, and so do numbers over other models."""
    table = made_up()
    rows = derive(table[(table["backbone"] != "vit4+distilled") | (table["run"] != 1)])
    runs = rows.groupby("metric")["run"].agg(set)
    assert runs["least_gain"] == runs["distillation_gain"] == {0}
    assert runs["capacity_rise"] == runs["adversarial_harm"] == {0, 1}


def test_failed_models_are_left_out():
    """A row that says so adds nothing; a model without one of the scores is no case."""
    table = made_up()
    failed = table[table["metric"] == "parameters"].head(1)
    failed = failed.assign(backbone="resnet99", metric="failed", value=1.0, notes="no head")
    pd.testing.assert_frame_equal(derive(pd.concat([table, failed])), derive(table))
    lacking = derive(table[(table["backbone"] != "vit4") | (table["method"] != "dice")])
    pd.testing.assert_frame_equal(lacking, derive(table[table["backbone"] != "vit4"]))


@pytest.mark.parametrize(("error", "verdict"), [(0.55, "supported"), (0.38, "undecided")])
def test_what_held_out_thresholds_do_not_say_too_is_undecided(error, verdict):
    """Of the one claim on which they disagree; asked alone, each variant has its own verdict."""
    held = made_up({}, {"resnet8+adversarial_1": (error, 0.55, 1e5)})
    both = pd.concat([made_up(), held.assign(variant="held-out threshold")])
    found = verdicts(both)
    assert found.pop("adversarial") == verdict
    assert set(found.values()) == {"supported"}
    alone = verdicts(both, variant="held-out threshold")["adversarial"]
    assert alone == ("supported" if error > 0.5 else "contradicted")


@pytest.mark.parametrize(
    ("error", "expected"), [(0.46, ["supported"] * 2), (0.3, ["supported", "contradicted"]),
                            (0.6, ["contradicted", "supported"])],
)  # fmt: skip
def test_strategies_are_compared_with_plain_fine_tuning_where_there_is_one(error, expected):
    """Not with the network that all begin with: an epoch by itself is no strategy."""
    found = verdicts(made_up({}, {"resnet8+finetuned": (error, 0.69, 1e5)}))
    assert [found["adversarial"], found["distillation"]] == expected


def test_the_middle_of_the_three_largest_resnets():
    """As the paper's: of 18, 34, 50, 101 and 152 layers, 101; and no other family."""
    sizes = {"resnet26": 4e5, "resnet32": 5e5}
    table = made_up({("resnet26", "vim"): 0.44}, {one: (0.39, 0.73, n) for one, n in sizes.items()})
    found = derive(table).set_index("metric")["value"]
    assert found["middle_gain_from_smaller"].mean() == pytest.approx(0.53 - 0.44, abs=0.01)
    only = table[~table["backbone"].isin(["resnet20", *sizes])]
    assert verdicts(only)["depth"] == "no data"


def test_rankings_without_replicates_are_no_numbers():
    """They cannot be paired with what has; where nothing has any, they count."""
    table = made_up()
    ranking = table["metric"].isin(RANKINGS)
    empty = [() if one else own for one, own in zip(ranking, table["bootstrap"], strict=True)]
    found = verdicts(table.assign(bootstrap=empty))
    assert found.pop("conventional") == found.pop("correct-ones") == "no data"
    assert set(found.values()) == {"supported"}
    bare = derive(table.assign(bootstrap=[()] * len(table)))
    assert {"fpr_at_tpr_behind", "least_gain"} <= set(bare["metric"])


def test_cases_are_means_over_runs_in_the_order_of_methods():
    """One row per model and one column per score; what is no average is left out."""
    table = made_up()
    other = table[table["metric"] == "der99"].assign(test_set="test", value=9.0)
    extra = table[table["method"] == "msp"].assign(method="ash")
    frame = cases(pd.concat([extra, table, other]))
    assert frame.columns.tolist() == [name for name in METHODS if name in [*PAPER_METHODS, "ash"]]
    assert sorted(frame.index) == sorted(MODELS)
    own = table.query("backbone == 'vit4' and method == 'knn' and metric == 'der99'")
    assert frame.loc["vit4", "knn"] == pytest.approx(own["value"].mean())


def test_siblings_decide_nothing_about_many_models():
    """The claims about many networks stay undecided on one family; a second one decides them."""
    found = verdicts((table := made_up())[~table["backbone"].str.startswith("vit")])
    undecided = {name for name, verdict in found.items() if verdict == "undecided"}
    assert undecided == {"consistent", "architecture", "accuracy"}
    assert set(verdicts(table).values()) == {"supported"}
    assert set(verdicts(table.iloc[:0]).values()) == {"no data"}
