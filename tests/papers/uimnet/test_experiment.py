"""The test-bed from trials to rows, with tiny networks, and any score as a measure."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from helpers import metrics, scores
from helpers.networks.model import Model
from helpers.outputs import Head, Outputs
from helpers.papers.uimnet import experiment, trials
from helpers.papers.uimnet.roles import DomainSplit
from helpers.papers.uimnet.trials import Trial, algorithm_of, train_trials, validation_nll
from helpers.scores import base
from helpers.scores.base import BlockwiseScore
from helpers.scores.calibration import scale_outputs
from helpers.scores.info import Info
from tests.papers import toys

TINY = toys.tiny("experiment", "uimnet")
ERM = algorithm_of(TINY, "tiny", "erm")


@pytest.fixture(scope="module")
def split():
    sets = [toys.images(n, seed) for seed, n in enumerate((54, 30, 40))]
    return DomainSplit(("a", "b", "c"), ("x",), *sets, toys.images(20, 3).unknown())


@pytest.fixture
def rows(split):
    """Return a function that returns the results table for parameters."""
    return lambda **given: toys.rows(experiment, {0: split}, TINY.replace(**given))


def test_every_algorithm_has_its_rows_and_what_fails_has_a_reason(rows):
    given = toys.TINY["all algorithms"]["uimnet"]
    algorithms = given["algorithms"]
    names = given["measures"]
    table = rows(**given)
    assert set(table["variant"]) == {"trial 0", "trial 1", "primary", "ensemble"}
    notes = table[(table["method"] == "soft_labels") & (table["variant"] == "trial 0")]["notes"]
    assert set(notes) == {"learning_rate 0.05, positive 0.8"}
    table = table[table["method"].str.contains("/")]
    scaled = set(table[table["calibration"] == "after"]["method"].str.partition("/")[2])
    assert scaled == {"entropy", "jacobian", "tta"}
    table = table[table["calibration"] == "before"]
    lost = {}
    for row in table[table["metric"] == "failed"].itertuples():
        algorithm, _, name = row.method.partition("/")
        lost.setdefault((row.variant, algorithm), set()).add(name)
        assert row.notes.startswith(f"'{name}' ")
    assert lost == {
        ("primary", "mimo"): {"energy", "vim"},
        ("primary", "rbf"): {"vim"},
        ("primary", "mc_dropout"): {"odin"},
        **{("ensemble", name): {"energy", "vim", "odin"} for name in algorithms},
    }
    absent = {"erm/native", "mimo/native", "rbf/native", "mc_dropout/jacobian"}
    methods = {f"{algorithm}/{name}" for algorithm in algorithms for name in names}
    assert set(table[table["variant"] == "primary"]["method"]) == methods - absent
    assert "erm/native" in set(table[table["variant"] == "ensemble"]["method"])


def test_numbers_by_hand(split, rows):
    odin = {"epsilon": 0.05}
    given = {"spectral": ["none", "weights"], "score_arguments": {"odin": odin}}
    table = rows(measures=["msp", "odin"], **given).query("variant == 'primary'")
    assert set(table["backbone"]) == {"tiny", "tiny+weights"}
    trained = train_trials(TINY, ERM, split.train, 0)
    likelihoods = [validation_nll(trial, split, ERM) for trial in trained]
    assert len({trial.fitted.sha256 for trial in trained}) == 2
    outputs = experiment.ask(ERM, [trained[int(np.argmin(likelihoods))]], split)
    sets = outputs.sets
    test = outputs.sets["test"]
    table = table[table["backbone"] == "tiny"]
    after = table.query("calibration == 'after'").set_index(["method", "metric"])["value"]
    cooled = [scale_outputs(sets[name], outputs.temperature) for name in experiment.SETS]
    assert outputs.temperature != 1
    nll = metrics.nll(cooled[1].probabilities, test.labels)
    assert after["erm", "nll"] == pytest.approx(nll, rel=1e-5)
    held, known, unknown = (each.probabilities.max(axis=1) for each in cooled)
    assert after["erm/msp", "auroc"] == pytest.approx(metrics.auroc(known, unknown))
    threshold = metrics.rejection_threshold(held, keep=0.95)
    assert after["erm/msp", "in_as_in"] == pytest.approx((known >= threshold).mean())
    table = table.query("calibration == 'before'")
    values = table.set_index(["method", "metric"])["value"]
    assert values["erm", "accuracy"] == test.correct.mean()
    nll = metrics.nll(test.probabilities, test.labels)
    assert values["erm", "nll"] == pytest.approx(nll, rel=1e-5)
    held, known, unknown = (sets[name].probabilities.max(axis=1) for name in experiment.SETS)
    assert values["erm/msp", "auroc"] == pytest.approx(metrics.auroc(known, unknown))
    threshold = metrics.rejection_threshold(held, keep=0.95)
    assert values["erm/msp", "out_as_out"] == pytest.approx((unknown < threshold).mean())
    assert values["erm/msp", "in_as_in"] == pytest.approx((known >= threshold).mean())
    score = scores.create("odin", **odin)
    known, unknown = (score.score_images(outputs.model, part) for part in (split.test, split.out))
    assert values["erm/odin", "auroc"] == metrics.auroc(known, unknown)


def test_a_trial_that_diverges_is_recorded_left_out_and_not_repeated(rows, monkeypatch, root):
    fit = trials.fit
    rates = []

    def diverge(images, recipe, **options):
        rates.append(recipe.learning_rate)
        if recipe.learning_rate != 0.05:
            raise FloatingPointError("the loss became nan at step 3")
        return fit(images, recipe, **options)

    monkeypatch.setattr(trials, "fit", diverge)
    table = rows(measures=["msp"])
    first = len(rates)
    (diverged,) = table[table["metric"] == "diverged"].to_dict("records")
    assert diverged["variant"] == "trial 1"
    assert "nan at step 3" in diverged["notes"]
    assert set(table["variant"]) == {"trial 0", "trial 1", "primary"}  # no ensemble of one
    assert rows(measures=["msp"]).equals(table)
    assert rates[first:] == [0.05]


class Network:
    """A network whose features are drawn around their class."""

    device = "cpu"
    threads = 1

    def __init__(self, split, seed=0, width=4, logits=None):
        generator = np.random.default_rng(seed)
        self.sha256 = f"network {seed}"
        self.answers = {}
        centres = 1.2 * generator.normal(size=(4, width))
        self.head = Head(centres[:3], -(centres[:3] ** 2).sum(axis=1) / 2)
        self.classifier = SimpleNamespace(head=self.head)
        for role in ("train", *experiment.SETS):
            subset = getattr(split, role)
            features = centres[subset.labels] + generator.normal(size=(len(subset), width))
            values = features @ self.head.weight.T + self.head.bias
            values = logits(role, subset) if logits else values
            self.answers[subset.sha256] = Outputs(values, features, subset.labels)

    def outputs(self, images, *, passes=0):
        answer = self.answers[images.sha256]
        members = np.stack([answer.probabilities] * passes) if passes else None
        return replace(answer, members=members)


def test_test_images_do_not_choose_or_calibrate(split):
    """A network that is right on nearly all validation images and half of the test images, and the
    reverse: with all of them right, no temperature is best.
    """

    def right_on(chosen):
        def logits(role, subset):
            number = np.arange(len(subset.labels))
            wrong = number == 0 if role == chosen else number % 2 == 0
            return np.log(0.7 * np.eye(3)[subset.labels - wrong] + 0.1)

        return Trial(0, ERM.recipe, Network(split, logits=logits))

    sure = right_on("validation")
    unsure = right_on("test")
    assert validation_nll(sure, split, ERM) < validation_nll(unsure, split, ERM)
    at = [experiment.ask(ERM, [trial], split).temperature for trial in (sure, unsure)]
    assert at[0] < 1 < at[1]


def by_method(outputs, *names):
    """Return the AUROC, or the reason why there is none, by measure and calibration."""
    parameters = TINY.replace(measures=list(names))
    rows = experiment.measure(parameters, outputs, lambda name, n: np.ones((2, n), int))
    return {
        (row["method"].partition("/")[2], row["calibration"]): row.get("notes") or row["value"]
        for row in rows
        if row["metric"] in ("auroc", "failed")
    }


@pytest.mark.parametrize("needs", [("features",), ("logits", "features")])
def test_a_score_learns_from_training_images_and_a_failure_ends_no_other(split, needs, monkeypatch):
    """Not from validation images, and with dropout only if it uses logits."""
    seen = []

    class Seeing(BlockwiseScore):
        info = Info(
            name="seeing",
            title="Seeing",
            paper="None",
            key="belghazi2021",
            equation="s",
            summary="None.",
            needs=(*needs, "head", "training outputs"),
        )

        def _learn(self, train_outputs, head):
            seen.append((train_outputs, head))

        def _scores(self, part):
            raise ZeroDivisionError("of all things")

    monkeypatch.setitem(base._REGISTRY, "seeing", Seeing)
    network = Network(split)
    outputs = experiment.DomainOutputs(Model("mc_dropout", (network,), 3), split)
    values = by_method(outputs, "seeing", "knn")
    assert values["seeing", "before"] == "ZeroDivisionError: of all things"
    assert isinstance(values["knn", "before"], float)
    ((train, head),) = seen
    assert np.array_equal(train.features, network.outputs(split.train).features)
    assert (train.members is None) == ("logits" not in needs)
    assert head is network.head


def test_gmm_of_an_ensemble_is_the_mean_density_of_its_networks(split):
    members = (Network(split, 0, width=3), Network(split, 1, width=4))
    both, *each = (
        experiment.DomainOutputs(Model("erm", networks, 0), split)
        for networks in (members, members[:1], members[1:])
    )
    densities = []
    values = experiment.score_outputs(scores.create("gmm"), both, density=True)
    for outputs in each:
        densities.append(np.exp(experiment.score_outputs(scores.create("gmm"), outputs)["test"]))
    np.testing.assert_allclose(np.exp(values["test"]), np.mean(densities, axis=0), rtol=1e-4)
    area = by_method(both, "gmm")["gmm", "before"]
    assert area == pytest.approx(metrics.auroc(values["test"], values["out"]))


def test_a_replicate_with_weights_of_one_is_the_number():
    generator = np.random.default_rng(0)
    sizes = {"validation": 50, "test": 40, "out": 30}
    values = {name: generator.normal(size=size) for name, size in sizes.items()}
    ones = {name: np.ones((2, sizes[name]), int) for name in ("test", "out")}
    outputs = Outputs(generator.normal(size=(40, 7)), np.ones((40, 1)), np.arange(40) % 7)
    rows = [
        *experiment.measure_out_domain(values, 0.95, ones),
        *experiment.measure_in_domain(outputs, 15, lambda _, size: np.ones((2, size), int)),
    ]
    for row in rows:
        assert row["bootstrap"] == pytest.approx(row["value"], rel=1e-5), row["metric"]
