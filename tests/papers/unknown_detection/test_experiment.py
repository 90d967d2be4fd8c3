"""The nine methods on a made-up problem, small enough to train in a second each."""

from collections import Counter
from dataclasses import replace
from itertools import product
from types import SimpleNamespace
from unittest.mock import Mock, call

import numpy as np
import pytest
from scipy.special import expit

from helpers import metrics, scores
from helpers.data.pixels import smoothness
from helpers.papers import load
from helpers.papers.unknown_detection import composition, detectors, experiment, methods
from helpers.papers.unknown_detection.detectors import Answer, FlatOpenMax, OpenMax
from helpers.papers.unknown_detection.experiment import fpr_at_nearest_tpr
from helpers.papers.unknown_detection.parameters import METHODS
from helpers.papers.unknown_detection.roles import Benchmark
from tests.papers import toys

PARAMETERS = toys.tiny("experiment", "unknown_detection")


@pytest.fixture(scope="module")
def roles():
    classes = {"known": ("a", "b", "c"), "near_classes": ("a", "b", "c")}
    sizes = {"train": 60, "validation": 21, "test": 30, "near": 18}
    images = {name: toys.images(n, n, name) for name, n in sizes.items()}
    images["external"] = toys.images(24, 3, "external", shade=200)
    images["external_validation"] = toys.images(12, 4, "external", shade=200)
    far = {"mazes": toys.images(20, 6, "mazes", shade=0), "plaid": toys.images(15, 7, "plaid")}
    aside = {"gaussian": toys.images(10, 8, "gaussian")}
    return Benchmark(**classes, **images, far=far, aside=aside)


def rows(roles, **given):
    return toys.rows(experiment, roles, PARAMETERS.replace(**given))


@pytest.fixture(scope="module")
def table(roles):
    return rows(roles)


@pytest.fixture(scope="module")
def detector(roles):
    """Return a function that makes a method ready, by default on those images."""

    def make(method, number=0, given=roles, variant="primary"):
        model = detectors.train_method(PARAMETERS, given, method, number)
        return detectors.make(PARAMETERS, given, model, variant)

    return make


def value(table, method, metric, test_set="test", run=0):
    query = "method == @method and metric == @metric and test_set == @test_set and run == @run"
    return table[table["variant"] == "primary"].query(query)["value"].item()


def test_every_method_run_and_test_set_has_its_rows(table):
    primary = table[table["variant"] == "primary"]
    assert set(primary["method"]) == {*METHODS, "smoothness"}
    assert len(METHODS) == 9
    expected = {("test", "accuracy"), ("test", "mean_confidence"), ("paper_union", "aurc")}
    expected |= {(name, "aurc") for name in ("test", "near", "far", "union")}
    sets = ("near", "far", "mazes", "plaid", "gaussian")
    expected |= {*product(sets, ("auroc", "fpr_at_tpr", "mean_confidence"))}
    for (method, _), part in primary.groupby(["method", "run"]):
        unfit = {pair for pair in expected if method == "smoothness" and "confidence" in pair[1]}
        assert set(zip(part["test_set"], part["metric"], strict=True)) == expected - unfit
    authors = table[table["variant"] == "authors"]
    assert (table.drop(authors.index)["bootstrap"].map(len) == 8).all()
    assert set(authors["method"]) == set(primary["method"])
    # all other rows equal the primary variant
    assert set(authors[authors["metric"] != "fpr_at_tpr"]["method"]) == {"openmax"}


def test_the_excess_at_the_papers_shares_is_over_the_least_area_at_these_shares(table):
    """Of the paper's ID test images, as many are right as of ours."""
    excess = composition.with_excess(table.assign(data_set="cifar100"))
    area, accuracy = value(table, "odin", "aurc", "paper_union"), value(table, "odin", "accuracy")
    sizes = composition.SIZES[composition.PAPER.data_sets["cifar100"]]
    least = composition.least_aurc(accuracy * sizes["test"], sum(sizes.values()))
    assert value(excess, "odin", "eaurc", "paper_union") == pytest.approx(area - least)


def test_numbers_of_the_baseline_by_hand(roles, table, detector):
    network = detector("baseline", 1).model
    test = network.outputs(roles.test)
    others = [network.outputs(part.unknown()) for part in (roles.near, *roles.far.values())]
    every = [test, *others]  # without Gaussian noise
    confidence = np.concatenate([outputs.probabilities.max(axis=1) for outputs in every])
    correct = np.concatenate([outputs.correct for outputs in every])
    assert correct[30:].sum() == 0
    for metric, test_set, expected in (
        ("accuracy", "test", test.correct.mean()),
        ("aurc", "union", metrics.aurc(confidence, correct)),
        ("aurc", "test", metrics.aurc(confidence[:30], correct[:30])),
        ("auroc", "near", metrics.auroc(confidence[:30], confidence[30:48])),
        ("fpr_at_tpr", "far", metrics.fpr_at_tpr(confidence[:30], confidence[48:])),
    ):
        assert value(table, "baseline", metric, test_set, run=1) == expected
    smooth = metrics.auroc(smoothness(roles.test.images), smoothness(roles.far["plaid"].images))
    assert value(table, "smoothness", "auroc", "plaid") == smooth
    accuracies = [value(table, name, "accuracy") for name in ("smoothness", "odin", "baseline")]
    assert len(set(accuracies)) == 1
    assert accuracies[0] >= value(table, "openmax", "accuracy")


class Forbidden:
    """Stands for a test set; any look at it fails."""

    def __getattribute__(self, name):
        raise AssertionError(f"selection looked at a test set ({name})")


@pytest.mark.parametrize("method", ["odin", "openmax"])
def test_selection_cannot_see_a_test_set(roles, detector, method):
    """Arguments and choice do not contain a test set."""
    no = Forbidden()
    hidden = replace(roles, test=no, near=no, far={"mazes": no}, aside={"gaussian": no})
    assert set(vars(hidden.visible)) == {"train", "validation", "external_validation"}
    chosen = detector(method, given=hidden).chosen
    assert chosen == detector(method).chosen
    assert len(chosen) == 2


@pytest.mark.parametrize("method", ["odin", "openmax"])
def test_a_single_pair_is_given_and_no_held_out_image_is_looked_at(roles, detector, method):
    """A slice of training images has none that finished networks have not learnt."""
    hidden = replace(roles, validation=Forbidden(), external_validation=Forbidden())
    pairs = {"temperatures": [10], "epsilons": [0.001], "alphas": [3], "tails": [5]}
    model = detector(method).model
    ready = detectors.make(PARAMETERS.replace(**pairs), hidden, model)
    assert ready.chosen == {}
    if method == "odin":
        score = scores.create("odin", temperature=10, epsilon=0.001)
    else:
        score = scores.create("openmax", alpha=3, tail=5, distance=PARAMETERS.distance)
        score.fit(model.outputs(roles.train), model.head)
    expected = scores.score(score, model, roles.test, model.outputs(roles.test))
    if method == "openmax":
        expected = expit(expected)
    assert ready.answer(roles.test).confidence == pytest.approx(expected)


def test_a_build_with_finished_networks_has_no_method_that_learns_from_held_out_images():
    """Mahalanobis weighs its layers by them; ODIN has fewer runs than the baseline's networks."""
    names = {tier: Counter() for tier in ("mini", "small")}
    for tier, counts in names.items():
        parts = experiment.parts(load("unknown_detection", tier))
        counts.update(part.identity["method"] for part in parts)
    assert names["small"]["mahalanobis"] == names["small"]["odin"] == 5
    assert names["mini"]["mahalanobis"] == 0
    ones = {"crl", "edl", "mc_dropout", "odin", "ensemble"}
    numbers = dict.fromkeys([*METHODS, "smoothness"], 5) | dict.fromkeys(ones, 1)
    assert names["mini"] == numbers | {"augmix": 2, "outlier_exposure": 2}


def test_the_best_of_all_pairs_is_chosen_and_noted(roles, table, detector):
    odin = detector("odin")
    openmax = detector("openmax")
    grid = detectors.odin_grid(PARAMETERS, odin.model, roles.visible)
    pair = odin.chosen["temperature"], odin.chosen["epsilon"]
    assert len(grid) == 4
    assert grid[pair] == max(grid.values())
    (notes,) = set(table.query("method == 'odin' and run == 0")["notes"])
    assert notes == f"chosen on held-out images: temperature {pair[0]:g}, epsilon {pair[1]:g}"
    grid = detectors.openmax_grid(PARAMETERS, openmax.model, roles.visible)
    assert set(grid) == {(alpha, tail) for alpha in (1, 3) for tail in (3, 5)}
    train, known, external = map(openmax.model.outputs, vars(roles.visible).values())
    for (alpha, tail), auroc in grid.items():
        score = scores.create("openmax", alpha=alpha, tail=tail, distance=PARAMETERS.distance)
        score.fit(train, None)
        assert auroc == metrics.auroc(score.score_samples(known), score.score_samples(external))


@pytest.mark.parametrize(("variant", "kind"), [("primary", OpenMax), ("authors", FlatOpenMax)])
def test_openmax_counts_unknown_as_a_wrong_answer(roles, detector, variant, kind):
    ready = detector("openmax", variant=variant)
    train, test = map(ready.model.outputs, (roles.train, roles.test))
    rule = kind(ready.chosen["tail"], ready.chosen["alpha"], PARAMETERS.distance)
    rule.fit(train.logits, train.labels)
    probabilities = rule.probabilities(test.logits)
    answer = ready.answer(roles.test)
    assert (answer.correct == (probabilities.argmax(axis=1) == test.labels)).all()
    assert answer.confidence == pytest.approx(1 - probabilities[:, -1])
    assert not ready.answer(roles.near.unknown()).correct.any()


def as_in_the_authors_code(known, unknown):
    """Step through both sorted lists as ``metrics_ood.py`` does."""
    merged = sorted([(score, 1) for score in known] + [(score, 0) for score in unknown])
    points = [(len(known), len(unknown))]
    for _, is_known in merged:
        points.append((points[-1][0] - is_known, points[-1][1] - (not is_known)))
    return min(points, key=lambda point: abs(point[0] / len(known) - 0.95))[1] / len(unknown)


@pytest.mark.parametrize("seed", range(20))
def test_the_false_positive_rate_of_the_authors(seed):
    generator = np.random.default_rng(seed)
    known = generator.integers(5, 40, generator.integers(1, 60))
    unknown = generator.integers(0, 35, generator.integers(1, 60))
    expected = as_in_the_authors_code(known - 0.5, unknown)
    assert fpr_at_nearest_tpr(known, unknown) == pytest.approx(expected)


def test_networks_of_an_ensemble(roles, detector):
    """An ensemble has the networks of one run, or the baselines of all runs."""
    ensembles = [[net.sha256 for net in detector("ensemble", n).model.networks] for n in (0, 1)]
    assert ensembles[0][0] == detector("baseline").model.networks[0].sha256
    assert len({*ensembles[0], *ensembles[1]}) == 4  # no network serves two runs
    given = {"methods": ["baseline", "ensemble"], "ensemble_of": "runs"}
    parameters = PARAMETERS.replace(**given)
    parts = [part.name for part in experiment.parts(parameters)]
    assert parts[-1] == "0/ensemble"
    assert not [name for name in parts[:-1] if "ensemble" in name]
    model = detectors.train_method(parameters, roles, "ensemble", 0)
    baselines = [detector("baseline", n).model.networks[0].sha256 for n in range(PARAMETERS.runs)]
    assert [network.sha256 for network in model.networks] == baselines
    assert methods.trained_in(parameters, 1) == ["baseline"]  # no run waits for another run
    assert methods.trained_in(parameters.replace(ensemble_of="run"), 1) == ["baseline", "ensemble"]
    assert set(rows(roles, **given).query("method == 'ensemble'")["run"]) == {0}


def test_test_sets_are_drawn_separately_but_resized_versions_equally():
    draw = Mock(return_value=np.ones((2, 4), np.uint16))
    answer = Answer(np.arange(4.0), np.ones(4, bool))
    names = ("test", "near", "plaid", "fixed", "aliased")
    list(experiment.measure(dict.fromkeys(names, answer), ["plaid"], draw))
    drawn = ["test", "near", "plaid", "fixed", "fixed"]
    assert draw.mock_calls == [call(name, 4) for name in drawn]


def test_a_union_is_weighted_to_the_papers_shares():
    """A weight counts an image several times; the paper's union does not change."""
    generator = np.random.default_rng(0)
    confidence = generator.random(600)
    correct = generator.random(600) < 0.7

    def unions(sizes):
        answers = {
            name: Answer(confidence[:size], correct[:size] & (name == "test"))
            for name, size in sizes.items()
        }
        far = ["svhn", "lsun_fix", "dtd"]
        rows = experiment.measure(answers, far, lambda name, n: np.ones((2, n), int), "cifar100")
        aurc = {row["test_set"]: row["value"] for row in rows if row["metric"] == "aurc"}
        return answers, aurc["union"], aurc["paper_union"]

    sizes = {"test": 400, "near": 600, "svhn": 400, "lsun_fix": 400, "dtd": 564}
    _, union, weighted = unions(sizes)
    assert weighted == pytest.approx(union, rel=2e-3)
    answers, union, weighted = unions(sizes | {"svhn": 40, "lsun_fix": 50, "dtd": 47})
    times = {"test": 1, "near": 1, "svhn": 10, "lsun_fix": 8, "dtd": 12}
    copies = [part for name, n in times.items() for part in [answers[name]] * n]
    sure, right = zip(*((part.confidence, part.correct) for part in copies), strict=True)
    expected = metrics.aurc(np.concatenate(sure), np.concatenate(right))
    assert weighted == pytest.approx(expected, rel=2e-3)
    assert abs(union - weighted) > 0.05


class MadeUpStages:
    """Scores of two stages: at a step of 0.0014 the first stage tells all images, else every other.

    The second stage says nothing there; at other steps, the two stages change places.
    """

    def __init__(self, model, train):
        pass

    def scores(self, images, epsilons):
        places = np.arange(len(images))
        sign = -1.0 if images.name == "external" else 1.0
        values = []
        for epsilon in epsilons:
            best = epsilon == 0.0014
            right = sign * np.where(best | (places % 2 == 0), 1, -1) + 0.01 * np.cos(places)
            pair = [right, np.sin(places)]
            values.append(np.column_stack(pair if best else pair[::-1]))
        return np.array(values)


def test_mahalanobis_chooses_the_step_on_images_that_gave_no_weights(roles, monkeypatch):
    monkeypatch.setattr(detectors, "StageDistances", MadeUpStages)
    model = SimpleNamespace(outputs=lambda images: SimpleNamespace(correct=images.labels >= 0))
    ready = detectors.detect_mahalanobis(PARAMETERS, roles, model)
    assert ready.chosen["epsilon"] == 0.0014
    assert ready.chosen["weight of stage 1"] > 5 * abs(ready.chosen["weight of stage 2"])
    known, unknown = (ready.answer(x).confidence for x in (roles.test, roles.external_validation))
    assert known.min() > 0 > unknown.max()


def test_weights_of_the_authors_openmax_by_hand():
    assert FlatOpenMax(2).rank_weights(3).tolist() == [0.5, 0.5, 0.5]


def test_a_replicate_with_weights_of_one_is_the_number():
    generator = np.random.default_rng(0)
    sizes = {"test": 40, "near": 60, "svhn": 30, "lsun_fix": 20, "dtd": 25}
    answers = {
        name: Answer(generator.random(size), (generator.random(size) < 0.7) & (name == "test"))
        for name, size in sizes.items()
    }
    far = ["svhn", "lsun_fix", "dtd"]
    for row in experiment.measure(
        answers, far, lambda _, size: np.ones((2, size), int), "cifar100"
    ):
        name = row["test_set"], row["metric"]
        assert row["bootstrap"] == pytest.approx(row["value"], rel=1e-5), name
