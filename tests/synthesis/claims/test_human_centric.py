"""What the claims of Zhu et al. compute; each verdict of each claim: tests/tables."""

import numpy as np
import pytest

from synthesis.claims.human_centric import ALL_MODELS, derive, quantities
from tests.synthesis.claim_tables import human_centric as made_up
from tests.synthesis.claim_tables import verdicts


def test_luck_in_training_is_no_rise_from_model_to_model():
    """Each larger network is two points better, and trainings differ by as much.

    Chosen in the run that it is measured in, the largest rise is beyond the margin nearly always;
    chosen in others it is on average what it is: no rise, of which one run alone cannot tell.
    """
    names = [f"resnet{size}" for size in (8, 14, 20, 32)]
    sizes = {name: float(index) for index, name in enumerate(names)}
    (rise,) = (q for q in quantities(names, sizes, names) if q.metric == "capacity_rise")
    generator, rises, held = np.random.default_rng(0), [], []
    for _ in range(300):
        better = np.array([-0.02 * sizes[name] for name in rise.models])
        numbers = np.zeros((3, len(rise.models), 15, 1))  # all that a model has
        trained = {name: 0.02 * generator.standard_normal((3, 15)) for name in names}
        luck = np.stack([trained[name] for name in rise.models], axis=1)
        numbers[..., 0] = better[:, None] + luck
        rises.append(rise.by_run({0: numbers[0]})[0].item())
        held.append(np.mean([*rise.by_run(dict(enumerate(numbers))).values()]))
    assert np.mean(np.array(rises) > 0.01) > 0.9
    assert np.mean(held) == pytest.approx(-0.02, abs=3 * np.std(held) / np.sqrt(300))
    assert verdicts("human_centric", made_up(runs=1))["capacity"] == "undecided"


def test_replicates_with_harder_images_leave_differences_as_they_are():
    """All models share the images; numbers by hand: tests/tables."""
    table = made_up(spread=0, runs=1, replicates=3)
    drawn, rates = table["bootstrap"], table["metric"] == "der99"
    harder = drawn[rates].map(lambda replicates: replicates + np.float32([0, 0.1, 0.2]))
    rows = derive(table.assign(bootstrap=harder.reindex(table.index).fillna(drawn)))
    rows = rows[rows["metric"] != "accuracy_correlation"]  # its replicates draw the networks
    assert {*rows["backbone"]} == {ALL_MODELS, "resnet8", "resnet14", "resnet20"}
    values = np.tile(rows["value"].to_numpy()[:, None], 3)
    assert np.stack(rows["bootstrap"]) == pytest.approx(values, abs=2**-12)  # as stored


def test_a_run_without_one_of_the_models_has_no_number_over_it():
    """The other runs keep theirs, and so do numbers over other models."""
    table = made_up(runs=2)
    rows = derive(table[(table["backbone"] != "vit4+distilled") | (table["run"] != 1)])
    runs = rows.groupby("metric")["run"].agg(set)
    assert runs["accuracy_correlation"] == runs["distillation_gain"] == {0}
    assert runs["capacity_rise"] == runs["least_gain"] == {0, 1}


@pytest.mark.parametrize(("gone", "undecided"), [
    ("vit", "consistent architecture accuracy"), ("vit4$", "consistent architecture"),
])  # fmt: skip
def test_siblings_decide_nothing_about_many_models(gone, undecided):
    """A family of which only a distilled network is there counts for the accuracy alone."""
    table = made_up()
    judged = verdicts("human_centric", table[~table["backbone"].str.match(gone)])
    assert [name for name, verdict in judged.items() if verdict == "undecided"] == undecided.split()


def test_accuracy_needs_msp_and_no_other_score():
    """A network that lacks a score of the paper counts for it, and for no other claim here."""
    table = made_up()
    lacking = table[(table["backbone"] != "resnet8") | (table["method"] != "vim")]
    networks = derive(lacking).groupby("metric")["networks"].first()
    assert "resnet8" in networks["accuracy_correlation"]
    assert "resnet8" not in networks["least_gain"]
