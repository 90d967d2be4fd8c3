"""The five papers together on a made-up problem, small enough to train in a second each."""

from dataclasses import replace

import numpy as np
import pytest

from helpers import data, metrics, scores
from helpers.data import Images
from helpers.networks import zoo
from helpers.outputs import Outputs
from helpers.papers import PAPERS, run
from helpers.papers.unknown_detection.composition import PAPER_UNION
from helpers.papers.unknown_detection.roles import Benchmark
from helpers.scores import openset
from helpers.scores.calibration import fit_temperature, softmax
from known_unknowns.across import experiment
from known_unknowns.across.experiment import ModelOutputs, gscore_line, unknown_probability
from known_unknowns.across.measures import MEASURES
from known_unknowns.across.roles import ComparisonRoles
from known_unknowns.chapters import load

SHARED = {
    "networks": {"tiny": {"width": 4, "stem_stride": 2}}, "network": "tiny", "members": 2,
    "passes": 3, "replicates": 8, "epochs": 3, "batch_size": 10, "learning_rate": 0.05,
    "training": {"augmentation": []}, "far": ["digits", "plaid"],
}  # fmt: skip
ALGORITHMS = {
    "baseline": {},
    "mc_dropout": {"dropout": 0.2, "block_dropout": 0.1},
    "ensemble": {},
    **{name: {"objective": name} for name in ("mimo", "rbf", "rnd", "distillation")},
}
PARAMETERS = load("synthesis", "mini").replace(
    **SHARED,
    published={},
    algorithms=ALGORITHMS,
    scores=["msp", "energy", "openmax", "odin", "tta", "knn", "vim", "jsd", "native"],
    score_arguments={
        "odin": {"epsilon": 0.01}, "knn": {"k": 5}, "openmax": {"tail": 5}, "tta": {"copies": 2},
    },
)  # fmt: skip


def images(name, n, labels=None, *, seed=0, low=0, high=256):
    """Noise whose brightness tells its class."""
    generator = np.random.default_rng(seed)
    labels = np.arange(n) % 3 if labels is None else labels
    pixels = generator.integers(low, high, (n, 16, 16, 3)) // 3 + 60 * labels[:, None, None, None]
    return Images(pixels.astype(np.uint8), labels, ("a", "b", "c"), name, "test")


ROLES = ComparisonRoles(
    known=("a", "b", "c"),
    train=images("train", 60),
    thresholds=np.arange(60),
    validation=images("validation", 21, seed=1),
    test=images("test", 30, seed=2),
    external=images("external", 24, seed=3, low=200).unknown(),
    external_validation=images("external", 12, seed=4, low=200).unknown(),
    near={"near": images("near", 18, seed=5)},
    far={
        "digits": images("digits", 20, np.zeros(20, int), seed=6),
        "plaid": images("plaid", 15, seed=7),
    },
    families={f"{k}": images(f"{k}", 15, seed=10 + k, low=50 * k).unknown() for k in range(4)},
)


@pytest.fixture(scope="module", autouse=True)
def made_up_problem(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CACHE_ROOT", str(tmp_path_factory.mktemp("cache")))
        patch.setattr(experiment, "roles", lambda *_: ROLES)
        yield patch


@pytest.fixture(scope="module")
def table(made_up_problem):
    return run.rows(PARAMETERS, progress=False)


def said_by(algorithm, number=0):
    return run.outputs(PARAMETERS, run.parts(PARAMETERS, f"{number}/{algorithm}")[0])


def test_every_cell_that_applies_is_there_and_no_other(table):
    """Members make jsd; a head that is not linear, or several networks, leave features' scores."""
    have = {}
    for method in table["method"].unique():
        algorithm, _, score = method.partition("/")
        have.setdefault(algorithm, set()).add(score)
    plain = {"", "msp", "energy", "openmax", "odin", "tta", "knn", "vim"}
    assert have == {
        "baseline": plain,
        "distillation": plain,
        "rnd": {"", "native"},  # the others would be the baseline's again
        "rbf": plain - {"vim"},
        "mc_dropout": plain - {"odin", "tta"} | {"jsd"},
        "mimo": {"", "msp", "odin", "tta", "knn", "jsd"},
        "ensemble": {"", "msp", "tta", "knn", "jsd"},
    }
    primary = table[table["variant"] == "primary"]
    for one in MEASURES.values():
        if one.metric == "predicted_auroc":  # where there is a line
            continue
        rows = primary.query("metric == @one.metric and test_set == @one.test_set")
        alone = rows["method"].str.contains("/") == one.of_score
        assert set(rows["run"]) == {0, 1} and alone.any()
        assert alone.all() or one.metric == "passes"
    printed = table[table["variant"] == "paper"]
    assert set(printed["method"].str.partition("/")[2]) == {"msp", "openmax"}
    assert set(printed["metric"]) == {"open_set_brier", "open_set_ece"}


def test_numbers_are_those_of_the_benchmark_of_unknown_detection(table, monkeypatch):
    """The same networks, images and replicates: the two tables agree to the last digit."""
    methods = ["baseline", "mc_dropout", "ensemble"]
    benchmark = load("unknown_detection", "mini").replace(
        **SHARED,
        methods=methods,
        resized="",
        method_recipes={"mc_dropout": ALGORITHMS["mc_dropout"]},
    )
    own = {name: getattr(ROLES, name) for name in ("known", "train", "validation", "test", "far")}
    own |= {"external": ROLES.external, "external_validation": ROLES.external_validation}
    lent = Benchmark(
        **own, near_classes=ROLES.known, superclass_of={}, near=ROLES.near["near"], aside={}
    )
    monkeypatch.setattr(PAPERS["unknown_detection"].experiment, "roles", lambda *_: lent)
    theirs = run.rows(benchmark, progress=False).query("variant == 'primary'")
    keys = ["run", "method", "test_set", "metric"]
    alone = theirs["metric"].isin(["mean_confidence"]) | theirs["test_set"].isin([PAPER_UNION])
    theirs = theirs[theirs["method"].isin(methods) & ~alone].set_index(keys)
    ours = table[table["variant"] == "primary"]
    ours = ours.assign(method=ours["method"].str.removesuffix("/msp")).set_index(keys)
    ours = ours.loc[theirs.index]
    assert (ours["value"] == theirs["value"]).all()
    drawn = ours["bootstrap"].map(len) > 0
    assert drawn.sum() == 4 * len(methods) * 2
    for own, other in zip(ours["bootstrap"][drawn], theirs["bootstrap"][drawn], strict=True):
        assert np.array_equal(own, other)


def test_scaled_probabilities_by_hand(table):
    """The temperature is the validation images'; an ensemble's is of its mean's logarithms."""
    for algorithm in ("baseline", "ensemble"):
        found = said_by(algorithm, 1)
        held, test, near = (found.outputs[name] for name in ("validation", "test", "near"))
        if algorithm == "baseline":
            assert found.temperature == pytest.approx(fit_temperature(held.logits, held.labels))
            by_hand = softmax(test.logits, found.temperature)
        else:
            by_hand = test.probabilities ** (1 / found.temperature)
            by_hand /= by_hand.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(found.scaled(test), by_hand, rtol=1e-5)
        rows = table[(table["variant"] == "scaled") & (table["run"] == 1)]
        assert set(rows["calibration"]) == {"after"}
        alone = rows[rows["method"] == algorithm].set_index("metric")["value"]
        assert set(alone.index) == {"temperature", "nll", "ece", "brier"}
        assert alone["nll"] == pytest.approx(metrics.nll(by_hand, test.labels))
        values = found.score(scores.create("knn", k=5))
        unknown = np.concatenate(
            [
                unknown_probability(
                    values[one], values["validation"], values["external_validation"]
                )
                for one in ("test", "near")
            ]
        )
        known = np.concatenate([by_hand, found.scaled(near)]) * (1 - unknown)[:, None]
        labels = np.concatenate([test.labels, near.labels])
        error = rows.query("method == @algorithm + '/knn' and metric == 'open_set_brier'")
        assert error["value"].item() == pytest.approx(
            metrics.open_set_brier(known, unknown, labels), rel=1e-5
        )


def test_numbers_of_one_score_by_hand(table):
    """Each metric from the score's values, as its chapter defines it."""
    found = said_by("baseline", 1)
    values = found.score(scores.create("knn", k=5))
    own = table.query("run == 1 and method == 'baseline/knn' and variant == 'primary'")
    own = own.set_index(["metric", "test_set"])["value"]
    train, test, near = (found.outputs[name] for name in ("train", "test", "near"))
    threshold = metrics.rejection_threshold(values["train"][train.correct], keep=0.99)
    rates = [
        metrics.detection_error_rate(values[name], found.outputs[name].correct, threshold)
        for name in ("test", "near", "digits", "plaid")
    ]
    assert own["der99", "average"] == np.mean(rates)
    threshold = metrics.rejection_threshold(values["validation"])
    assert own["out_as_out", "near"] == pytest.approx((values["near"] < threshold).mean())
    assert own["in_as_in", "near"] == (values["test"] >= threshold).mean()
    held = values["validation"], values["external_validation"]
    unknown = unknown_probability(np.concatenate([values["test"], values["near"]]), *held)
    known = np.concatenate([test.probabilities, near.probabilities]) * (1 - unknown)[:, None]
    labels = np.concatenate([test.labels, near.labels])
    assert (near.labels == -1).all()
    assert own["open_set_brier", "near"] == metrics.open_set_brier(known, unknown, labels)
    everything = np.concatenate([values[name] for name in ("near", "digits", "plaid")])
    assert own["auroc", "union"] == metrics.auroc(values["test"], everything)


def test_open_set_numbers_as_printed_are_those_of_the_thresholded_softmax(table):
    """Variant "paper" of msp: the product of the complements, and the threshold's answers."""
    held, test, near = (
        said_by("baseline").outputs[name] for name in ("validation", "test", "near")
    )
    chances = np.concatenate([test.probabilities, near.probabilities])
    labels = np.concatenate([test.labels, near.labels])
    threshold = metrics.rejection_threshold(held.probabilities.max(axis=1))
    arrays = chances, openset.unknown_probability(chances), labels
    own = table.query("run == 0 and method == 'baseline/msp' and variant == 'paper'")
    own = own.set_index("metric")["value"]
    assert own["open_set_brier"] == metrics.open_set_brier(*arrays)
    answers = openset.open_set_answer(chances, threshold)
    assert own["open_set_ece"] == metrics.open_set_ece(*arrays, answers)


def test_costs_are_passes(table):
    """Networks times passes, and what a score shows to a network again."""
    cost = table[(table["metric"] == "passes") & (table["run"] == 0)].set_index("method")["value"]
    assert cost["baseline"] == cost["baseline/msp"] == cost["mimo"] == 1
    assert cost["ensemble/jsd"] == 2 and cost["mc_dropout/msp"] == 3
    assert cost["baseline/odin"] == 3 and cost["ensemble/tta"] == 2 * 2


def test_a_distilled_network_learns_from_the_second_member(monkeypatch):
    """Not from the baseline, whose first weights are its own."""
    distilled = said_by("distillation").model
    monkeypatch.setattr(experiment, "TEACHER", 0)
    assert said_by("distillation").model.sha256 != distilled.sha256


def test_what_of_a_model_is_its_own():
    """A plain network has no members; one that is trained beside leaves it as it is."""
    found, beside = (said_by(name) for name in ("baseline", "rnd"))
    assert {name for name in scores.names() if not found.applies(name)} == {"jsd", "native"}
    for own, other in zip(beside.outputs.values(), found.outputs.values(), strict=True):
        assert np.array_equal(own.logits, other.logits)
        assert np.array_equal(own.features, other.features)


def test_the_probability_of_unknown_falls_with_the_score():
    """Monotone, in [0, 1], about one half where both kinds are as frequent; flat if useless."""
    generator = np.random.default_rng(0)
    known, unknown = generator.normal(1, 1, 4000), generator.normal(-1, 1, 1000)
    at = np.linspace(-30, 30, 61)
    found = unknown_probability(at, known, unknown)
    assert (np.diff(found) <= 0).all() and 0 <= found.min() < 0.01 < 0.99 < found.max() <= 1
    # two normal groups of the same weight, 2 apart: the log odds are 2 s
    near = unknown_probability([-1, 0, 1], known, unknown)
    assert np.allclose(near, [0.88, 0.5, 0.12], atol=0.02)
    scaled = unknown_probability(1e6 * at + 7, 1e6 * known + 7, 1e6 * unknown + 7)
    assert np.allclose(scaled, found, atol=1e-3)
    assert np.ptp(unknown_probability(at, unknown, known)) < 1e-6
    assert np.isfinite(unknown_probability([0, 1], [1, 1], [1, 1])).all()


def test_an_auroc_is_predicted_without_labels():
    """Near the true one where mixtures are alike; nothing is said of a score that never varies."""
    generator = np.random.default_rng(1)
    values = {name: generator.normal(size=400) for name in ("validation", "test")}
    values |= {f"{k}": generator.normal(-0.1 * (k + 5), size=400) for k in range(12)}
    values |= {"near": generator.normal(-1.1, size=200), "one": generator.normal(-1.1, size=200)}
    few = Outputs(np.zeros((1, 2)), np.zeros((1, 1)), np.zeros(1, int))
    families = tuple(f"{k}" for k in range(12))
    found = ModelOutputs(None, few, {}, {"test": few}, ("near",), ("one",), families)
    truth = metrics.auroc(values["test"], np.concatenate([values["near"], values["one"]]))
    line, gscore = gscore_line(values, found, 0)
    predicted = line.predict([gscore])[0]
    assert abs(predicted - truth) < 0.05
    line, gscore = gscore_line({name: 2 * one for name, one in values.items()}, found, 0)
    assert line.predict([gscore])[0] == pytest.approx(predicted)
    assert gscore_line(values | {"validation": np.zeros(400)}, found, 0) is None


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"algorithms": {"basline": {}}}, "unknown algorithm 'basline'; did you mean 'baseline'"),
        ({"algorithms": {"mc_dropout": {}}}, "no dropout"),
        ({"scores": ["enrgy"]}, "unknown score 'enrgy'; did you mean 'energy'"),
        ({"score_arguments": {"knn": {"kk": 1}}}, "unknown .*'kk'"),
        ({"families": ["clocks", "trees"]}, "families: at least 3"),
        ({"keep": 1.0}, "keep: less than 1 expected"),
        ({"aside": ["mazes"]}, "aside: at most 0 values"),
        ({"network": "huge"}, "unknown network 'huge'"),
        ({"published": {"resnet20.akamaster_cifar01": "cifar10"}}, "did you mean 'resnet20.akam"),
        ({"published": {"resnet20.akamaster_cifar10": "cifar100"}}, "knows the classes of cifar10"),
        ({"algorithms": {}}, "algorithms, published: no network of either kind"),
    ],
)
def test_mistakes_are_refused_before_anything_is_trained(changed, message):
    with pytest.raises(ValueError, match=message):
        run.parts(PARAMETERS.replace(**changed))


GIVEN = "resnet20.akamaster_cifar10"


@pytest.fixture
def given(made_up_problem):
    """Return a function that judges the embedded network on few images, near sets as told."""

    def rows(near):
        train, test = (data.load("cifar10_mini", split) for split in ("train", "test"))
        found = replace(
            ROLES,
            known=train.class_names,
            train=train.subset(np.arange(150)),
            thresholds=np.arange(0, 150, 5),
            validation=test.subset(np.arange(30)),
            test=test.subset(np.arange(30, 70)),
            external=None,
            near=near,
        )
        made_up_problem.setattr(experiment, "roles", lambda *_: found)
        chosen = PARAMETERS.replace(
            published={GIVEN: "cifar10_mini"}, scores=["msp", "vim", "openmax"], replicates=8
        )
        try:
            return found, run.rows(chosen, only=GIVEN, progress=False)
        finally:
            made_up_problem.setattr(experiment, "roles", lambda *_: ROLES)

    return rows


def test_a_published_network_is_a_baseline_with_a_name_of_its_own(given):
    """Near sets count together and on their own; thresholds come from some training images."""
    near = {name: images(name, 9, seed=k) for k, name in enumerate(("one", "two"), 30)}
    found, table = given(near)
    assert set(table["backbone"]) == {GIVEN} and set(table["data_set"]) == {"cifar10_mini"}
    assert {"baseline/msp", "baseline/vim", "baseline"} <= set(table["method"])
    msp = table[(table["method"] == "baseline/msp") & (table["variant"] == "primary")]
    value = msp.set_index(["test_set", "metric"])["value"]
    network = zoo.load(GIVEN)
    said = {
        name: network.outputs(one).probabilities.max(axis=1)
        for name, one in {"test": found.test, "one": near["one"].unknown()}.items()
    }
    said["two"] = network.outputs(near["two"].unknown()).probabilities.max(axis=1)
    assert value["one", "auroc"] == metrics.auroc(said["test"], said["one"])
    both = np.concatenate([said["one"], said["two"]])
    assert value["near", "auroc"] == metrics.auroc(said["test"], both)
    assert {"one", "two", "digits", "plaid", "near", "far", "union"} <= set(msp["test_set"])
    seen = network.outputs(found.train.subset(found.thresholds))
    held = seen.probabilities.max(axis=1)[seen.correct]
    threshold, rates = metrics.rejection_threshold(held, keep=0.99), []
    sets = {"test": found.test} | {name: one.unknown() for name, one in (near | ROLES.far).items()}
    for one in map(network.outputs, sets.values()):
        accepted = one.probabilities.max(axis=1) >= threshold
        rates.append((accepted != one.correct).mean())
    assert value["average", "der99"] == pytest.approx(np.mean(rates))


def test_without_near_images_there_are_no_numbers_of_them(given):
    _, table = given({})
    assert "near" not in set(table["test_set"])
    assert {"far", "union", "average"} <= set(table["test_set"])
    assert "out_as_out" not in set(table["metric"]) and "failed" not in set(table["metric"])
