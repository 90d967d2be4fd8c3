"""The five papers together, on a made-up problem (mistakes.yaml) that takes seconds to train."""

from dataclasses import replace

import numpy as np
import pytest

from helpers import data, metrics, scores
from helpers.networks import zoo
from helpers.papers import PAPERS, run
from helpers.papers.unknown_detection.composition import PAPER_UNION
from helpers.papers.unknown_detection.roles import Benchmark
from synthesis.across import experiment
from synthesis.across.experiment import ModelOutputs, gscore_line, unknown_probability
from synthesis.across.measures import MEASURES
from synthesis.across.roles import ComparisonRoles
from synthesis.chapters import load
from tests.mistakes import beside
from tests.papers.toys import images

GIVEN = beside(__file__, "mistakes.yaml")
PARAMETERS = load("synthesis", "mini").replace(**GIVEN["shared"], **GIVEN["own"])
PUBLISHED = "resnet20.akamaster_cifar10"


ROLES = ComparisonRoles(
    known=("a", "b", "c"), train=images(60), thresholds=np.arange(60),
    validation=images(21, 1), test=images(30, 2),
    external=images(24, 3, shade=200), external_validation=images(12, 4, shade=200),
    near={"near": images(18, 5)}, far={"digits": images(20, 6, shade=0), "plaid": images(15, 7)},
    families={f"{k}": images(15, 10 + k, shade=50 * k) for k in range(4)},
)  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def made_up_problem(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CACHE_ROOT", str(tmp_path_factory.mktemp("cache")))
        patch.setattr(experiment, "roles", lambda *_: ROLES)
        yield patch


@pytest.fixture(scope="module")
def table(made_up_problem):
    return run.rows(PARAMETERS, progress=False)


def outputs_of(algorithm, number=0):
    return run.outputs(PARAMETERS, run.parts(PARAMETERS, f"{number}/{algorithm}")[0])


def test_every_cell_that_applies_is_there_and_no_other(table):
    """Members make jsd; a head that is not linear, or several networks, leave features' scores."""
    scored = table["method"].str.partition("/").groupby(0)[2].agg(set)
    assert scored.to_dict() == {name: {*scores} for name, scores in GIVEN["scored"].items()}
    always = [each for each in MEASURES.values() if each.metric != "predicted_auroc"]
    for measure in always:  # and the other, where there is a line
        rows = table.query("metric == @measure.metric and test_set == @measure.test_set")
        assert set(rows["run"]) == {0, 1}
        assert (rows["method"].str.contains("/") == measure.of_score).all()


def test_numbers_are_those_of_the_benchmark_of_unknown_detection(table, monkeypatch):
    """The same networks, images and replicates: the two tables agree to the last digit."""
    methods = ["baseline", "mc_dropout", "ensemble"]
    recipes = {"mc_dropout": PARAMETERS.algorithms["mc_dropout"]}
    changes = {"methods": methods, "resized": "", "method_recipes": recipes}
    benchmark = load("unknown_detection", "mini").replace(**GIVEN["shared"], **changes)
    fields = ("known", "train", "validation", "test", "far", "external", "external_validation")
    lent = {name: getattr(ROLES, name) for name in fields}
    lent = Benchmark(**lent, near_classes=ROLES.known, near=ROLES.near["near"])
    monkeypatch.setattr(PAPERS["unknown_detection"].experiment, "roles", lambda *_: lent)
    other = run.rows(benchmark, progress=False).query("variant == 'primary'")
    keys = ["run", "method", "test_set", "metric"]
    alone = (other["metric"] == "mean_confidence") | (other["test_set"] == PAPER_UNION)
    other = other[other["method"].isin(methods) & ~alone].set_index(keys)
    ours = table.replace({"method": "/msp$"}, "", regex=True)
    ours = ours.set_index(keys).loc[other.index]
    assert (ours["value"] == other["value"]).all()
    drawn = (ours["bootstrap"].map(len) > 0) & (other["bootstrap"].map(len) > 0)
    # two runs of the baseline; mini trains one MC dropout, and both runs are one ensemble
    assert drawn.sum() == 10 * 4
    for pair in zip(ours["bootstrap"][drawn], other["bootstrap"][drawn], strict=True):
        assert np.array_equal(*pair)


@pytest.mark.parametrize("algorithm", ["baseline", "ensemble"])
def test_numbers_of_a_score_by_hand(table, algorithm):
    """From the score's values, and the measures of the algorithm alone."""
    outputs = outputs_of(algorithm, 1)
    values = outputs.score(scores.create("knn", k=5))
    test, near = (outputs.outputs[name] for name in ("test", "near"))
    rows = table.query("run == 1 and method == @algorithm + '/knn'")
    value = rows.set_index(["metric", "test_set"])["value"]
    everything = np.concatenate([values[name] for name in ("near", "digits", "plaid")])
    assert value["auroc", "union"] == metrics.auroc(values["test"], everything)
    threshold = metrics.rejection_threshold(values["validation"])
    assert value["in_as_in", "near"] == (values["test"] >= threshold).mean()
    rejected = (values["near"] < threshold).mean()
    assert value["out_as_out", "near"] == pytest.approx(rejected)
    shown = np.concatenate([values["test"], values["near"]])
    unknown = unknown_probability(shown, values["validation"], values["external_validation"])
    labels = np.concatenate([test.labels, near.labels])
    assert (near.labels == -1).all()
    known = np.concatenate([test.probabilities, near.probabilities]) * (1 - unknown)[:, None]
    brier = metrics.open_set_brier(known, unknown, labels)
    assert value["open_set_brier", "near"] == pytest.approx(brier, rel=1e-5)
    answers = np.where(unknown > known.max(axis=1), -1, known.argmax(axis=1))
    ece = metrics.open_set_ece(known, unknown, labels, answers, bins=PARAMETERS.bins)
    assert value["open_set_ece", "near"] == pytest.approx(ece, rel=1e-5)
    alone = table.query("run == 1 and method == @algorithm").set_index("metric")["value"]
    for metric in ("nll", "brier"):
        expected = getattr(metrics, metric)(test.probabilities, test.labels)
        assert alone[metric] == pytest.approx(expected, rel=1e-4)
    errors = metrics.ece(test.probabilities, test.labels, bins=PARAMETERS.bins)
    assert alone["ece"] == pytest.approx(errors, rel=1e-4)


def test_the_probability_of_unknown_falls_with_the_score():
    """Monotone, in [0, 1], about one half where both kinds are as frequent; flat if useless."""
    generator = np.random.default_rng(0)
    known, unknown = generator.normal(1, 1, 4000), generator.normal(-1, 1, 1000)
    at = np.linspace(-30, 30, 61)
    chances = unknown_probability(at, known, unknown)
    assert (np.diff(chances) <= 0).all() and 0 <= chances.min() < 0.01 < 0.99 < chances.max() <= 1
    # two normal groups of the same weight, 2 apart: the log odds are 2 s
    assert np.allclose(chances[[29, 30, 31]], [0.88, 0.5, 0.12], atol=0.02)
    scaled = unknown_probability(1e6 * at + 7, 1e6 * known + 7, 1e6 * unknown + 7)
    assert np.allclose(scaled, chances, atol=1e-3)
    assert np.ptp(unknown_probability(at, unknown, known)) < 1e-6
    assert np.isfinite(unknown_probability([0, 1], [1, 1], [1, 1])).all()


def test_an_auroc_is_predicted_without_labels():
    """Near the true one where mixtures are alike; nothing is predicted for a constant score."""
    generator = np.random.default_rng(1)
    values = {name: generator.normal(size=400) for name in ("validation", "test")}
    values |= {f"{k}": generator.normal(-0.1 * (k + 5), size=400) for k in range(12)}
    values |= {name: generator.normal(-1.1, size=200) for name in ("near", "far")}
    outputs = ModelOutputs(None, None, {}, {}, ("near",), ("far",), tuple(map(str, range(12))))
    truth = metrics.auroc(values["test"], np.concatenate([values["near"], values["far"]]))
    for factor in (1, 2):
        scaled = {name: factor * scores for name, scores in values.items()}
        line, gscore = gscore_line(scaled, outputs, 0)
        assert line.predict([gscore])[0] == pytest.approx(truth, abs=0.05)
    assert gscore_line(values | {"validation": np.zeros(400)}, outputs, 0) is None


@pytest.mark.parametrize("near", [("one", "two"), ()])
def test_a_published_network_is_a_baseline_with_its_own_name(monkeypatch, near):
    """Near sets count together and separately; thresholds come from some training images."""
    train, test = (data.load("cifar10_mini", split) for split in ("train", "test"))
    near = {name: images(9, k) for k, name in enumerate(near, 30)}
    roles = replace(
        ROLES, known=train.class_names, train=train.subset(np.arange(150)), external=None,
        near=near, thresholds=np.arange(0, 150, 5),
        validation=test.subset(np.arange(30)), test=test.subset(np.arange(30, 70)),
    )  # fmt: skip
    monkeypatch.setattr(experiment, "roles", lambda *_: roles)
    chosen = PARAMETERS.replace(published={PUBLISHED: "cifar10_mini"}, scores=["msp", "vim"])
    table = run.rows(chosen, only=PUBLISHED, progress=False)
    assert set(table["backbone"]) == {PUBLISHED} and set(table["data_set"]) == {"cifar10_mini"}
    assert {"baseline/msp", "baseline/vim", "baseline"} <= set(table["method"])
    msp = table.query("method == 'baseline/msp'")
    value, network = msp.set_index(["test_set", "metric"])["value"], zoo.load(PUBLISHED)
    assert {"far", "union", "average", "digits", "plaid"} <= set(msp["test_set"])
    if not near:
        assert "near" not in set(table["test_set"])
        assert not {"out_as_out", "failed"} & set(table["metric"])
        return
    sets = {name: each.unknown() for name, each in (near | ROLES.far).items()}
    sets["test"] = roles.test
    outputs = {name: network.outputs(each) for name, each in sets.items()}
    confidence = {name: each.probabilities.max(axis=1) for name, each in outputs.items()}
    for name, group in (("one", ["one"]), ("near", ["one", "two"])):
        unknown = np.concatenate([confidence[each] for each in group])
        assert value[name, "auroc"] == metrics.auroc(confidence["test"], unknown)
    seen = network.outputs(roles.train.subset(roles.thresholds))
    threshold = metrics.rejection_threshold(seen.probabilities.max(axis=1)[seen.correct], keep=0.99)
    rates = [((confidence[name] >= threshold) != outputs[name].correct).mean() for name in sets]
    assert value["average", "der99"] == pytest.approx(np.mean(rates))


@pytest.mark.parametrize("message", GIVEN["mistakes"])
def test_parameters_that_make_no_sense_are_refused(message):
    with pytest.raises(ValueError, match=message):
        run.parts(PARAMETERS.replace(**GIVEN["mistakes"][message]))
