"""The protocol of the test-bed, from trials to rows."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest

from helpers import metrics, scores
from helpers.data import Images
from helpers.networks.recipe import Recipe
from helpers.outputs import Outputs
from helpers.papers.uimnet import experiment as evaluation
from helpers.papers.uimnet import measuring
from helpers.papers.uimnet.experiment import evaluate
from helpers.papers.uimnet.imagenot import Roles
from helpers.papers.uimnet.naming import selected
from helpers.papers.uimnet.networks import Algorithm, Trial
from helpers.papers.uimnet.protocol import MEASURES, Protocol
from helpers.scores.jacobian import jacobian_norms

NETWORKS = {"tiny": Recipe(width=4, stem_stride=2, epochs=2, batch_size=16, learning_rate=0.05)}
PROTOCOL = Protocol(trials=2, passes=2, tta_copies=2, replicates=10, jacobian_images=8)
RATES = {"learning_rate": {"log_uniform": [0.01, 0.1]}}
ERM = Algorithm("erm", Recipe(), {"learning_rate": 0.05}, RATES)


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("CACHE_ROOT", str(tmp_path / "cache"))


def images(n, seed=0, known=True):
    """Images whose class is their brightness."""
    generator = np.random.default_rng(seed)
    labels = np.arange(n) % 3
    pixels = generator.integers(0, 40, (n, 16, 16, 3)) + labels[:, None, None, None] * 80
    labels = labels if known else np.full(n, -1)
    return Images(pixels.astype(np.uint8), labels, ("a", "b", "c"), "tiny", "test")


@pytest.fixture
def roles():
    return Roles(
        ("a", "b", "c"),
        ("x",),
        images(48),
        images(15, 1),
        images(20, 2),
        images(12, 3, False),
        None,
    )


def run(
    roles, algorithms, measures=tuple(MEASURES), spectral=(0.0,), seeds=(0,), protocol=PROTOCOL
):
    return evaluate(
        "mini", "tiny", dict.fromkeys(seeds, roles), NETWORKS, algorithms, spectral, measures,
        protocol, progress=False,
    )  # fmt: skip


def test_every_algorithm_has_its_rows(roles):
    algorithms = [
        ERM,
        Algorithm("mimo", Recipe(objective="mimo"), {"learning_rate": 0.05}, RATES),
        Algorithm("mc_dropout", Recipe(block_dropout=0.1), {"learning_rate": 0.05}, RATES, 2),
        Algorithm("soft_labels", Recipe(objective="soft_labels"), {"positive": 0.8},
                  {"positive": {"choice": [0.7, 0.9]}}),
    ]  # fmt: skip
    table = run(roles, algorithms, spectral=(0.0, 1.0))
    assert set(table["backbone"]) == {"tiny", "tiny+spectral"}
    assert set(table["variant"]) == {"trial 0", "trial 1", "primary", "ensemble"}
    single = table[(table["variant"] == "primary") & (table["calibration"] == "before")]
    methods = set(single["method"])
    assert {"erm", "erm/entropy", "mimo/jacobian", "soft_labels/native"} <= methods
    assert "erm/native" not in methods and "mc_dropout/jacobian" not in methods
    assert "mc_dropout/native" in methods  # the divergence of its passes
    together = table[table["variant"] == "ensemble"]
    assert "erm/native" in set(together["method"])
    notes = table[(table["method"] == "soft_labels") & (table["variant"] == "trial 0")]["notes"]
    assert set(notes) == {"positive 0.8"}


def test_numbers_by_hand(roles):
    table = run(roles, [ERM], measures=["msp"]).query("variant == 'primary'")
    trials = evaluation.every_trial(
        evaluation.replace(ERM, recipe=evaluation.recipe_of(NETWORKS["tiny"], ERM, 0.0)),
        roles, PROTOCOL, data_seed=0, progress=False,
    )  # fmt: skip
    likelihoods = [evaluation.validation_nll(one, roles, ERM) for one in trials]
    found = measuring.answers([trials[int(np.argmin(likelihoods))]], roles, ERM)
    rows = table.query("calibration == 'before'").set_index(["method", "metric"])["value"]
    assert rows["erm", "accuracy"] == found.test.correct.mean()
    assert rows["erm", "nll"] == pytest.approx(
        metrics.nll(found.test.probabilities, found.test.labels), rel=1e-5
    )
    known, unknown = (one.probabilities.max(axis=1) for one in (found.test, found.out))
    assert rows["erm/msp", "auroc"] == pytest.approx(metrics.auroc(known, unknown))
    held = found.validation.probabilities.max(axis=1)
    threshold = metrics.rejection_threshold(held, keep=0.95)
    assert rows["erm/msp", "out_as_out"] == pytest.approx((unknown < threshold).mean())
    assert rows["erm/msp", "in_as_in"] + rows["erm/msp", "in_as_out"] == pytest.approx(1)


def test_the_trial_with_the_best_mean_likelihood_is_chosen():
    """Over data seeds, and never one that diverged on any."""
    likelihoods = pd.DataFrame({0: [0.5, 0.7], 1: [0.1, np.nan], 2: [0.9, 0.2]})
    assert selected(likelihoods) == 2
    assert selected(likelihoods[[1]]) is None


def test_a_trial_that_diverges_is_recorded_and_left_out(roles, monkeypatch):
    """And it is not trained again."""
    from helpers.papers.uimnet import networks

    fit, tried = networks.fit, []

    def diverging(images, recipe, **options):
        tried.append(recipe.learning_rate)
        if recipe.learning_rate != 0.05:
            raise FloatingPointError("the loss became nan at step 3")
        return fit(images, recipe, **options)

    monkeypatch.setattr(networks, "fit", diverging)
    table = run(roles, [ERM], measures=["msp"])
    diverged = table[table["metric"] == "diverged"]
    assert diverged["variant"].tolist() == ["trial 1"]
    assert "nan at step 3" in diverged["notes"].item()
    assert set(table["variant"]) == {"trial 0", "trial 1", "primary"}  # no ensemble of one
    first = len(tried)
    again = run(roles, [ERM], measures=["msp"])
    assert len(tried) == first + 1 and tried[-1] == 0.05
    pd.testing.assert_frame_equal(table.drop(columns="seconds"), again.drop(columns="seconds"))


def test_weights_that_are_not_finite_are_a_divergence(roles, monkeypatch):
    """Even if the loss was to the end."""
    from helpers.papers.uimnet import networks

    fitted = evaluation.every_trial(own(ERM), roles, PROTOCOL, data_seed=0, progress=False)[0]
    fitted.fitted.classifier.std.fill_(np.nan)
    monkeypatch.setattr(networks, "fit", lambda *_, **__: fitted.fitted)
    one = networks.trained(ERM, roles.train, 0, fitted.recipe, seed=99, progress=False)
    assert one.diverged and "not finite" in one.message


def own(algorithm):
    """The algorithm on the network of these tests."""
    return evaluation.replace(
        algorithm, recipe=evaluation.recipe_of(NETWORKS["tiny"], algorithm, 0.0)
    )


class Known(NamedTuple):
    """A network that says of some images what it is told to."""

    answers: dict

    def outputs(self, images, *, passes=0):
        return self.answers[images.sha256]


def outputs(probability, right, n):
    """Outputs that give class 0 a probability, and of which a share is right."""
    rest = (1 - probability) / 2
    logits = np.log(np.tile([probability, rest, rest], (n, 1))).astype(np.float32)
    labels = np.where(np.arange(n) < right * n, 0, 1)
    return Outputs(logits, np.zeros((n, 2), np.float32), labels)


def test_test_images_neither_choose_nor_calibrate(roles):
    """A network that is right on validation images and wrong on test images, and the reverse."""
    sure, unsure = [
        Trial(number, ERM.recipe, Known({
            roles.validation.sha256: outputs(0.8, held, 15),
            roles.test.sha256: outputs(0.8, 1 - held, 20),
            roles.out.sha256: outputs(0.8, 0.5, 12),
        }))
        for number, held in enumerate([1.0, 0.0])
    ]  # fmt: skip
    held = [evaluation.validation_nll(one, roles, ERM) for one in (sure, unsure)]
    assert held[0] < held[1]
    at = [measuring.answers([one], roles, ERM).temperature for one in (sure, unsure)]
    assert at[0] < 1 < at[1]


def test_an_ensemble_has_different_members_whose_probabilities_are_averaged(roles):
    """Different weights from the beginning: their trials have different seeds."""
    trials = evaluation.every_trial(own(ERM), roles, PROTOCOL, data_seed=0, progress=False)
    same = replace(PROTOCOL, trials=1)
    other = evaluation.every_trial(own(ERM), roles, same, data_seed=1, progress=False)
    assert len({one.fitted.sha256 for one in (*trials, *other)}) == 3
    found = measuring.answers(trials, roles, ERM)
    each = [one.fitted.outputs(roles.test).probabilities for one in trials]
    np.testing.assert_allclose(found.test.probabilities, np.mean(each, axis=0), atol=1e-6)
    assert np.abs(each[0] - each[1]).max() > 1e-3


def test_measures_of_images_are_there_at_each_temperature_in_order(roles):
    trials = evaluation.every_trial(own(ERM), roles, PROTOCOL, data_seed=0, progress=False)
    model = measuring.answers(trials, roles, ERM).model
    found = scores.create("jacobian").at_temperatures(model, roles.test, [1.0, 3.0])
    for row, temperature in zip(found, [1.0, 3.0], strict=True):
        norms = jacobian_norms(model.classifiers, roles.test, temperatures=[temperature])[0]
        np.testing.assert_allclose(row, -norms, rtol=1e-4)
    assert not np.allclose(*found)


def test_class_means_are_those_of_the_features(roles):
    means = evaluation.class_means(roles.train, "tiny", NETWORKS, progress=False)
    assert means.shape == (3, 16)
    few = roles.train.subset(roles.train.labels < 2)
    with pytest.raises(ValueError, match="at least one of each class expected, got none of 'c'"):
        evaluation.class_means(few, "tiny", NETWORKS, progress=False)
