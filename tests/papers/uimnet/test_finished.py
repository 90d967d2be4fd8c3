"""The default build has finished networks, and committed outputs of images they did not learn."""

import numpy as np
import pandas as pd
import pytest

from helpers import metrics, scores
from helpers.files import project_root
from helpers.outputs import Outputs
from helpers.papers.parameters import load
from helpers.papers.uimnet import experiment, roles, tables, trials
from helpers.papers.uimnet.held_out import SCORE, HeldOut
from helpers.papers.uimnet.roles import DomainSplit
from helpers.training import finished_networks
from tests.papers import toys

MINI = load("uimnet", "mini")
ERM = trials.algorithm_of(MINI, "resnet8", "erm")
TINY = toys.tiny("experiment", "uimnet")


@pytest.fixture(scope="module")
def split():
    """Return the roles of the slice with a few test images, and validation images of no use."""
    whole = roles.split(MINI, 0)
    every_tenth = slice(0, None, 10)
    return DomainSplit(
        whole.in_domain,
        whole.out_domain,
        whole.train,
        whole.validation.subset([0]),
        whole.test.subset(every_tenth),
        whole.out.subset(every_tenth),
    )


def test_the_trials_of_a_build_are_the_finished_ones(split):
    """The chosen trial of ERM has number 1; its four others are not committed."""
    (trial,) = trials.train_trials(MINI, ERM, split.train, 0)
    assert trial.number == 1
    assert trial.fitted.path.name == "resnet8-erm-none-0.safetensors"
    assert trial.recipe == trials.recipes_of(MINI, ERM)[1]
    assert experiment.held_out_images([trial], split) == 1000


@pytest.mark.parametrize("name", MINI.algorithms)
def test_every_chosen_trial_is_there_with_its_held_out_outputs(name, split):
    """The likelihood of the committed outputs is the committed one, up to half precision."""
    table = pd.read_parquet(project_root() / "results" / "small" / "uimnet.parquet")
    table = table[(table["backbone"] == "resnet8") & (table["metric"] == "nll")]
    table = table[(table["method"] == name) & (table["test_set"] == "validation")]
    algorithm = trials.algorithm_of(MINI, "resnet8", name)
    for seed in range(load("uimnet", "small").runs):
        (trial,) = trials.train_trials(MINI, algorithm, split.train, seed)
        row = table[(table["run"] == seed) & (table["variant"] == f"trial {trial.number}")]
        value = trials.validation_nll(trial, split, algorithm)
        assert value == pytest.approx(row["value"].item(), rel=0.01)


def test_the_threshold_of_a_finished_network_is_from_its_committed_outputs(split):
    """Not from the validation images of the slice, which it may have learnt."""
    (trial,) = trials.train_trials(MINI, ERM, split.train, 0)
    outputs = experiment.ask(ERM, [trial], split)
    rows = experiment.measure(
        MINI.replace(measures=["msp", "gmm"]), outputs, lambda name, n: np.ones((2, n), int)
    )
    values = {(row["method"], row["calibration"], row["metric"]): row for row in rows}
    stored = finished_networks.held_out(trial.fitted.path)
    assert len(stored) == 1000
    threshold = metrics.rejection_threshold(stored.probabilities.max(axis=1), keep=MINI.keep)
    test = outputs.sets["test"].probabilities.max(axis=1)
    expected = (test >= threshold).mean()
    assert values["erm/msp", "before", "in_as_in"]["value"] == pytest.approx(expected)
    why = values["erm/gmm", "before", "failed"]["notes"]
    assert "no committed scores 'gmm' of held-out images; there are jacobian, tta" in why


def test_an_ensemble_of_finished_networks_is_refused(split):
    (trial,) = trials.train_trials(MINI, ERM, split.train, 0)
    with pytest.raises(ValueError, match=r"one finished network expected, .* got 2"):
        experiment.ask(ERM, [trial, trial], split)


def test_without_finished_networks_all_trials_are_trained(split, monkeypatch):
    """TRAINING=anew, or a recipe that no finished network has."""
    recipes = trials.recipes_of(MINI, ERM)
    given = (recipes, split.train, 0)
    assert list(trials.finished_trials(MINI, *given)) == [1]
    monkeypatch.setenv("TRAINING", "anew")
    assert trials.finished_trials(MINI, *given) == {}
    monkeypatch.delenv("TRAINING")
    changed = MINI.replace(epochs=3)
    short = trials.recipes_of(changed, trials.algorithm_of(changed, "resnet8", "erm"))
    assert trials.finished_trials(MINI, short, split.train, 0) == {}


@pytest.mark.parametrize("name", ["erm", "soft_labels", "mc_dropout"])
def test_the_stored_arrays_are_the_scores_of_the_validation_images(name):
    """Before and after scaling where a score depends on it, and the mean of dropout passes."""
    given = toys.TINY["all algorithms"]["uimnet"]
    parameters = TINY.replace(**given).replace(measures=["msp", "tta", "jacobian", "native"])
    sets = [toys.images(n, seed) for seed, n in enumerate((54, 30, 12))]
    toy = DomainSplit(("a", "b", "c"), ("x",), *sets, toys.images(9, 3).unknown())
    algorithm = trials.algorithm_of(parameters, "tiny", name)
    outputs = experiment.ask(
        algorithm, trials.train_trials(parameters, algorithm, toy.train, 0)[:1], toy
    )
    arrays = experiment.stored_arrays(parameters, outputs)
    native = {"erm": set(), "soft_labels": {"native"}, "mc_dropout": {"jsd"}}[name]
    expected = {"tta", *native} | ({"jacobian"} if name != "mc_dropout" else set())
    assert {key.removeprefix(SCORE) for key in arrays if key.startswith(SCORE)} == expected
    validation = outputs.sets["validation"]
    stored = Outputs(arrays["logits"], np.empty((30, 0)), arrays["labels"])
    np.testing.assert_allclose(stored.probabilities, validation.probabilities, rtol=0.01)
    for key in native:
        values = scores.create(key).score_samples(validation)
        np.testing.assert_allclose(arrays[SCORE + key], [values], rtol=1e-6)
    held_out = HeldOut(validation, {"tta": arrays[SCORE + "tta"]})
    places = {"validation": np.arange(30)}
    tta = experiment.created(parameters, "tta")
    after = experiment.score_images(tta, outputs, places, after=True)["validation"]
    np.testing.assert_allclose(held_out.scores_of("tta", after=True), after, rtol=1e-6)
    with pytest.raises(ValueError, match=r"no committed scores 'knn' .* there are tta"):
        held_out.scores_of("knn", after=False)


def test_the_main_table_has_the_calibration_error_before_and_after_scaling():
    """RND shares the line of ERM, whose network it has."""
    committed = MINI.committed()
    frame = tables.main_table(committed, load("uimnet", "small")).frame()
    assert [name for name in frame.columns if name.startswith("ECE")] == [
        "ECE, %",
        "ECE after temperature scaling, %",
    ]
    assert frame.index[0] == ("ERM, RND", "chosen trial")
    assert "RND" not in frame.index.get_level_values("algorithm")
    mixup = frame.loc["Mixup", "chosen trial"]
    assert mixup["ECE, %"].startswith("5.7")
    assert mixup["ECE after temperature scaling, %"].startswith("2")
    assert not frame.apply(lambda cells: cells.str.contains(";")).any(axis=None)
