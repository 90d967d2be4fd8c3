"""What the claims of Zhu et al. compute; each verdict of each claim: tests/report."""

import numpy as np
import pandas as pd
import pytest

from helpers.metrics.ranks import critical_difference
from helpers.papers.human_centric.claims import ALL_MODELS, cases, derive, quantities
from helpers.report import published
from tests.report import claim_tables
from tests.report.claim_tables import MODELS
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
        # KNN is behind six scores on three models and best on one; MSP is then second
        ("rank_gain", "knn"): ((3 * 1 + 2) - (3 * 7 + 1)) / 4 / critical_difference(9, 4),
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
    assert runs["accuracy_correlation"] == runs["distillation_gain"] == {0}
    assert runs["capacity_rise"] == runs["least_gain"] == {0, 1}


def test_siblings_decide_nothing_about_many_models():
    """The claims about many networks stay undecided on one family; a second one decides them."""
    found = verdicts((table := made_up())[~table["backbone"].str.startswith("vit")])
    undecided = {name for name, verdict in found.items() if verdict == "undecided"}
    assert undecided == {"consistent", "architecture", "accuracy"}
    assert set(verdicts(table).values()) == {"supported"}
    assert set(verdicts(table.iloc[:0]).values()) == {"no data"}


def test_the_networks_of_a_number_count_and_not_those_of_the_table():
    """Where only a distilled network is of a second family, ordinary ones are of one."""
    table = made_up()
    found = verdicts(table[table["backbone"] != "vit4"])
    assert found["consistent"] == found["architecture"] == "undecided"
    assert found["accuracy"] == "supported"


def test_mean_ranks_of_the_printed_table():
    """With the printed averages taken anew, MSP is ahead of KL matching by an eighth of a rank."""
    printed = cases(published.with_averages(published.load("human_centric")))
    ranks = printed.rank(axis=1).mean()
    assert (ranks["msp"], ranks["kl_matching"]) == (3.25, 3.375)
