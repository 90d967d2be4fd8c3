"""The test-bed, from trials to rows."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest

from helpers import checkpoints, metrics, scores
from helpers.data import Images
from helpers.outputs import Outputs
from helpers.papers import run
from helpers.papers.parameters import load
from helpers.papers.uimnet import experiment, trials
from helpers.papers.uimnet.columns import choose_trial
from helpers.papers.uimnet.roles import DomainSplit, class_means
from helpers.papers.uimnet.trials import Trial, algorithm_of, train_trials, validation_nll
from helpers.scores.gradients import jacobian_norms

TINY = load("uimnet", "mini").replace(
    featuriser="tiny", sizes={"tiny": {"width": 4, "stem_stride": 2}}, spectral=["none"],
    training={"epochs": 2, "batch_size": 16}, algorithms={"erm": {}},
    defaults={"all": {"learning_rate": 0.05}, "soft_labels": {"positive": 0.8}},
    search={"all": {"learning_rate": {"log_uniform": [0.01, 0.1]}},
            "soft_labels": {"positive": {"choice": [0.7, 0.9]}}},
    passes=2, tta_copies=2, replicates=10, jacobian_images=8,
)  # fmt: skip
ERM = algorithm_of(TINY, "tiny", "erm")


def images(n, seed=0, known=True):
    """Images whose class is their brightness."""
    generator = np.random.default_rng(seed)
    labels = np.arange(n) % 3
    pixels = generator.integers(0, 40, (n, 16, 16, 3)) + labels[:, None, None, None] * 80
    labels = labels if known else np.full(n, -1)
    return Images(pixels.astype(np.uint8), labels, ("a", "b", "c"), "tiny", "test")


@pytest.fixture(autouse=True)
def split(tmp_path, monkeypatch):
    """A split of such images, which the experiment then has for its roles; and a fresh cache."""
    monkeypatch.setenv("CACHE_ROOT", str(tmp_path / "cache"))
    sets = images(48), images(15, 1), images(20, 2), images(12, 3, False)
    made = DomainSplit(("a", "b", "c"), ("x",), *sets, None)
    monkeypatch.setattr(
        experiment, "roles", lambda parameters, part: dict.fromkeys(range(parameters.runs), made)
    )
    return made


def rows(**given):
    return run.rows(TINY.replace(**given), progress=False)


def test_every_algorithm_has_its_rows():
    algorithms = {"erm": {}, "mimo": {"objective": "mimo"}, "mc_dropout": {"block_dropout": 0.1},
                  "soft_labels": {"objective": "soft_labels"}}  # fmt: skip
    table = rows(algorithms=algorithms, spectral=["none", "weights"])
    assert set(table["backbone"]) == {"tiny", "tiny+weights"}
    assert set(table["variant"]) == {"trial 0", "trial 1", "primary", "ensemble"}
    single = table[(table["variant"] == "primary") & (table["calibration"] == "before")]
    methods = set(single["method"])
    assert {"erm", "erm/entropy", "mimo/jacobian", "soft_labels/native"} <= methods
    assert "erm/native" not in methods and "mc_dropout/jacobian" not in methods
    assert "mc_dropout/native" in methods  # the divergence of its passes
    together = table[table["variant"] == "ensemble"]
    assert "erm/native" in set(together["method"])
    notes = table[(table["method"] == "soft_labels") & (table["variant"] == "trial 0")]["notes"]
    assert set(notes) == {"learning_rate 0.05, positive 0.8"}


def test_numbers_by_hand(split):
    table = rows(measures=["msp"]).query("variant == 'primary'")
    made = train_trials(TINY, ERM, split.train, 0)
    likelihoods = [validation_nll(one, split, ERM) for one in made]
    sets = experiment.ask(ERM, [made[int(np.argmin(likelihoods))]], split).sets
    test = sets["test"]
    found = table.query("calibration == 'before'").set_index(["method", "metric"])["value"]
    assert found["erm", "accuracy"] == test.correct.mean()
    nll = metrics.nll(test.probabilities, test.labels)
    assert found["erm", "nll"] == pytest.approx(nll, rel=1e-5)
    names = ("validation", "test", "out")
    held, known, unknown = (sets[name].probabilities.max(axis=1) for name in names)
    assert found["erm/msp", "auroc"] == pytest.approx(metrics.auroc(known, unknown))
    threshold = metrics.rejection_threshold(held, keep=0.95)
    assert found["erm/msp", "out_as_out"] == pytest.approx((unknown < threshold).mean())
    assert found["erm/msp", "in_as_in"] + found["erm/msp", "in_as_out"] == pytest.approx(1)


def test_all_data_seeds_of_a_part_choose_one_trial():
    """The one with the best mean likelihood, and never one that diverged on any."""
    likelihoods = pd.DataFrame({0: [0.5, 0.7], 1: [0.1, np.nan], 2: [0.9, 0.2]})
    assert choose_trial(likelihoods) == 2
    assert choose_trial(likelihoods[[1]]) is None
    several = TINY.replace(runs=2)
    choice = run.outputs(several, run.parts(several)[0])
    assert choice.chosen == choice.likelihoods.mean().idxmin()
    assert set(choice.variants) == {(s, v) for s in (0, 1) for v in ("primary", "ensemble")}
    assert set(rows(runs=2, measures=["msp"])["run"]) == {0, 1}


def test_a_trial_that_diverges_is_recorded_and_left_out(monkeypatch):
    """And it is not trained again."""
    fit, tried = trials.fit, []

    def diverge(images, recipe, **options):
        tried.append(recipe.learning_rate)
        if recipe.learning_rate != 0.05:
            raise FloatingPointError("the loss became nan at step 3")
        return fit(images, recipe, **options)

    monkeypatch.setattr(trials, "fit", diverge)
    table = rows(measures=["msp"])
    diverged = table[table["metric"] == "diverged"]
    assert diverged["variant"].item() == "trial 1" and "nan at step 3" in diverged["notes"].item()
    assert set(table["variant"]) == {"trial 0", "trial 1", "primary"}  # no ensemble of one
    first = len(tried)
    assert rows(measures=["msp"]).equals(table)
    assert len(tried) == first + 1 and tried[-1] == 0.05


def test_weights_that_are_not_finite_are_a_divergence(split, monkeypatch, tmp_path):
    """Even if the loss was to the end."""
    one = train_trials(TINY, ERM, split.train, 0)[0]
    tensors, information = checkpoints.load(one.fitted.path)
    tensors["std"].fill_(np.nan)
    checkpoints.save(tmp_path / "nan.safetensors", tensors, **information)
    damaged = replace(one.fitted, path=tmp_path / "nan.safetensors")
    monkeypatch.setattr(trials, "fit", lambda *_, **__: damaged)
    again = trials.train_trial(split.train, 0, one.recipe, seed=99, device=None)
    assert again.diverged and "not finite" in again.message


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


def test_test_images_neither_choose_nor_calibrate(split):
    """A network that is right on validation images and wrong on test images, and the reverse."""
    sure, unsure = [
        Trial(number, ERM.recipe, Known({
            split.validation.sha256: outputs(0.8, held, 15),
            split.test.sha256: outputs(0.8, 1 - held, 20),
            split.out.sha256: outputs(0.8, 0.5, 12),
        }))
        for number, held in enumerate([1.0, 0.0])
    ]  # fmt: skip
    assert validation_nll(sure, split, ERM) < validation_nll(unsure, split, ERM)
    at = [experiment.ask(ERM, [one], split).temperature for one in (sure, unsure)]
    assert at[0] < 1 < at[1]


def test_an_ensemble_has_different_members_whose_probabilities_are_averaged(split):
    """Different weights from the beginning: their trials have different seeds."""
    made = train_trials(TINY, ERM, split.train, 0)
    other = train_trials(TINY.replace(trials=1), ERM, split.train, 1)
    assert len({one.fitted.sha256 for one in (*made, *other)}) == 3
    found = experiment.ask(ERM, made, split).sets["test"]
    each = [one.fitted.outputs(split.test).probabilities for one in made]
    np.testing.assert_allclose(found.probabilities, np.mean(each, axis=0), atol=1e-6)
    assert np.abs(each[0] - each[1]).max() > 1e-3


def test_measures_of_images_are_there_at_each_temperature_in_order(split):
    model = experiment.ask(ERM, train_trials(TINY, ERM, split.train, 0), split).model
    at = [1.0, 3.0]
    found = scores.create("jacobian").at_temperatures(model, split.test, at)
    each = [jacobian_norms(model.classifiers, split.test, temperatures=[one])[0] for one in at]
    np.testing.assert_allclose(found, np.negative(each), rtol=1e-4)
    assert not np.allclose(*found)


def test_any_score_is_asked_of_every_algorithm_or_says_why_not(split):
    """Those of images are shown these; single heads, levels and single networks are not made up."""
    wanted = ["energy", "knn", "vim", "odin", "tta", "jacobian", "native"]
    algorithms = {"erm": {}, "mimo": {"objective": "mimo"}, "rbf": {"objective": "rbf"},
                  "mc_dropout": {"block_dropout": 0.1}}  # fmt: skip
    table = rows(algorithms=algorithms, measures=wanted, score_arguments={"knn": {"k": 5}})
    table = table[table["method"].str.contains("/") & (table["calibration"] == "before")]
    table = table[table["metric"].isin(["auroc", "failed"])].set_index(["variant", "method"])
    lost, reasons = {}, table[table["metric"] == "failed"]["notes"]
    for (variant, method), why in reasons.items():
        lost.setdefault((variant, method.partition("/")[0]), set()).add(method.partition("/")[2])
        assert why.startswith(f"'{method.partition('/')[2]}' ")
    assert lost == {
        ("primary", "mimo"): {"energy", "vim"},
        ("primary", "rbf"): {"vim"},
        ("primary", "mc_dropout"): {"odin"},
        **{("ensemble", name): {"energy", "vim", "odin"} for name in algorithms},
    }
    there = {one for variant, one in table.index if variant == "primary"}
    none = {"erm/native", "mimo/native", "rbf/native", "mc_dropout/jacobian"}
    assert there == {f"{a}/{one}" for a in algorithms for one in wanted} - none


def test_odin_is_shown_the_images_and_takes_its_step(split):
    """Of the length that the parameters say; without one it would be a temperature alone."""
    model = experiment.ask(ERM, train_trials(TINY.replace(trials=1), ERM, split.train, 0), split)
    areas = []
    for step in ({"epsilon": 0.05}, {"epsilon": 0.0}):
        given = TINY.replace(measures=["odin"], score_arguments={"odin": step})
        made = pd.DataFrame(experiment.measure(given, model, run.draws(given)))
        areas.append(made.query("method == 'erm/odin' and metric == 'auroc'")["value"].item())
        score = scores.create("odin", **step)
        known, unknown = (score.score_images(model.model, one) for one in (split.test, split.out))
        assert areas[-1] == metrics.auroc(known, unknown)
    assert areas[0] != areas[1]


def test_class_means_are_those_of_the_features(split):
    assert class_means(TINY, split.train).shape == (3, 16)
    few = split.train.subset(split.train.labels < 2)
    with pytest.raises(ValueError, match="at least one of each class expected, got none of 'c'"):
        class_means(TINY, few)
