"""The five papers together on a made-up problem, small enough to train in a second each."""

from dataclasses import replace

import numpy as np
import pytest

from helpers import metrics, scores
from helpers.data import Images
from helpers.networks.recipe import Recipe
from helpers.outputs import Outputs
from helpers.papers.synthesis import experiment, networks
from helpers.papers.synthesis.measuring import gscore_line, unknown_probability
from helpers.papers.synthesis.networks import model, recipe_of
from helpers.papers.synthesis.roles import MEASURES, Protocol, Roles
from helpers.papers.synthesis.seeing import Seen, applies, percentiles, scored, seen
from helpers.papers.unknown_detection import experiment as unknown_detection
from helpers.scores import openset

TRAINING = Recipe(width=4, stem_stride=2, epochs=3, batch_size=10, learning_rate=0.05)
OWN = {
    "mc_dropout": {"dropout": 0.2, "block_dropout": 0.1},
    "mimo": {"objective": "mimo"},
    "rbf": {"objective": "rbf"},
    "rnd": {"objective": "rnd"},
    "distillation": {"objective": "distillation"},
}
ALGORITHMS = ["baseline", "mc_dropout", "ensemble", "mimo", "rbf", "rnd", "distillation"]
DETECTORS = ["msp", "energy", "openmax", "odin", "tta", "knn", "vim", "jsd", "native"]
ARGUMENTS = {"odin": {"epsilon": 0.01}, "knn": {"k": 5}, "openmax": {"tail": 5}}
PROTOCOL = Protocol(members=2, passes=3, replicates=8, tta_copies=2)


def images(name, n, labels=None, *, seed=0, low=0, high=256):
    """Noise whose brightness tells its class."""
    generator = np.random.default_rng(seed)
    labels = np.arange(n) % 3 if labels is None else labels
    pixels = generator.integers(low, high, (n, 16, 16, 3)) // 3 + 60 * labels[:, None, None, None]
    return Images(pixels.astype(np.uint8), labels, ("a", "b", "c"), name, "test")


@pytest.fixture(scope="module")
def roles(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CACHE_ROOT", str(tmp_path_factory.mktemp("cache")))
        zeros = np.zeros(20, np.int64)
        yield Roles(
            known=("a", "b", "c"),
            near_classes=("a", "b", "c"),
            superclass_of={},
            train=images("train", 60),
            validation=images("validation", 21, seed=1),
            test=images("test", 30, seed=2),
            external=images("external", 24, seed=3, low=200).unknown(),
            external_validation=images("external", 12, seed=4, low=200).unknown(),
            near=images("near", 18, seed=5),
            far={"one": images("one", 20, zeros, seed=6), "two": images("two", 15, seed=7)},
            aside={},
        )


@pytest.fixture(scope="module")
def families():
    return {f"{k}": images(f"{k}", 15, seed=10 + k, low=50 * k).unknown() for k in range(4)}


@pytest.fixture(scope="module")
def table(roles, families):
    return experiment.evaluate(
        "mini", "made_up", "resnet8", roles, families, ALGORITHMS, DETECTORS, [0, 1], TRAINING,
        PROTOCOL, own=OWN, score_arguments=ARGUMENTS, progress=False,
    )  # fmt: skip


def trained(algorithm, roles, run=0):
    return model(algorithm, roles, TRAINING, PROTOCOL, run=run, own=OWN, progress=False)


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


def test_numbers_are_those_of_the_benchmark_of_unknown_detection(roles, table):
    """The same networks, images and replicates: the two tables agree to the last digit."""
    methods = ["baseline", "mc_dropout", "ensemble"]
    theirs = unknown_detection.evaluate(
        "mini", "made_up", "resnet8", roles, methods, [0, 1], TRAINING, PROTOCOL, own=OWN,
        progress=False,
    )  # fmt: skip
    keys = ["run", "method", "test_set", "metric"]
    theirs = theirs[~theirs["metric"].isin(["mean_confidence"])].set_index(keys)
    ours = table[table["variant"] == "primary"]
    ours = ours.assign(method=ours["method"].str.removesuffix("/msp")).set_index(keys)
    ours = ours.loc[theirs.index]
    assert (ours["value"] == theirs["value"]).all()
    drawn = ours["bootstrap"].map(len) > 0
    assert drawn.sum() == 4 * len(methods) * 2
    for own, other in zip(ours["bootstrap"][drawn], theirs["bootstrap"][drawn], strict=True):
        assert np.array_equal(own, other)


def test_numbers_of_one_score_by_hand(roles, families, table):
    """Each metric from the score's values, as its chapter defines it."""
    found = seen(trained("baseline", roles, run=1), roles, families)
    values = scored(scores.create("knn", **ARGUMENTS["knn"]), found)
    own = table.query("run == 1 and method == 'baseline/knn' and variant == 'primary'")
    own = own.set_index(["metric", "test_set"])["value"]
    train, test, near = (found.outputs[name] for name in ("train", "test", "near"))
    threshold = metrics.rejection_threshold(values["train"][train.correct], keep=0.99)
    rates = [
        metrics.detection_error_rate(values[name], found.outputs[name].correct, threshold)
        for name in ("test", "near", "one", "two")
    ]
    assert own["der99", "average"] == np.mean(rates)
    threshold = metrics.rejection_threshold(values["validation"])
    assert own["out_as_out", "near"] == (values["near"] < threshold).mean()
    assert own["in_as_in", "near"] == (values["test"] >= threshold).mean()
    held = values["validation"], values["external_validation"]
    both = np.concatenate([values["test"], values["near"]])
    unknown = unknown_probability(both, *held)
    known = np.concatenate([test.probabilities, near.probabilities]) * (1 - unknown)[:, None]
    labels = np.concatenate([test.labels, near.labels])
    assert (near.labels == -1).all()
    assert own["open_set_brier", "near"] == metrics.open_set_brier(known, unknown, labels)
    everything = np.concatenate([values[name] for name in ("near", "one", "two")])
    assert own["auroc", "union"] == metrics.auroc(values["test"], everything)


def test_open_set_numbers_as_printed_are_those_of_the_thresholded_softmax(roles, families, table):
    """Variant "paper" of msp: the product of the complements, and the threshold's answers."""
    found = seen(trained("baseline", roles), roles, families)
    held = found.outputs["validation"].probabilities.max(axis=1)
    chances = np.concatenate([found.outputs[name].probabilities for name in ("test", "near")])
    labels = np.concatenate([found.outputs[name].labels for name in ("test", "near")])
    unknown = openset.unknown_probability(chances)
    answers = openset.open_set_answer(chances, metrics.rejection_threshold(held))
    own = table.query("run == 0 and method == 'baseline/msp' and variant == 'paper'")
    own = own.set_index("metric")["value"]
    assert own["open_set_brier"] == metrics.open_set_brier(chances, unknown, labels)
    assert own["open_set_ece"] == metrics.open_set_ece(chances, unknown, labels, answers)


def test_costs_are_passes(table):
    """Networks times passes, and what a score shows to a network again."""
    cost = table[(table["metric"] == "passes") & (table["run"] == 0)].set_index("method")["value"]
    assert cost["baseline"] == cost["baseline/msp"] == cost["mimo"] == 1
    assert cost["ensemble/jsd"] == 2 and cost["mc_dropout/msp"] == 3
    assert cost["baseline/odin"] == 3 and cost["ensemble/tta"] == 2 * 2


def test_a_distilled_network_learns_from_the_second_member(roles):
    """Not from the baseline, whose first weights are its own."""
    distilled, teacher = trained("distillation", roles), trained("ensemble", roles).networks[1]
    from_baseline = networks.fit(
        roles.train, distilled.networks[0].recipe, teacher=trained("baseline", roles).networks[0],
        seed=0, progress=False,
    )  # fmt: skip
    again = networks.fit(
        roles.train, distilled.networks[0].recipe, teacher=teacher, seed=0, progress=False
    )
    assert distilled.networks[0].sha256 == again.sha256 != from_baseline.sha256


def test_mistakes_are_refused_before_anything_is_trained(roles, families):
    """Whatever is wrong with recipes, scores or their arguments."""
    arguments = [TRAINING, PROTOCOL]
    with pytest.raises(ValueError, match="unknown algorithm 'basline'; did you mean 'baseline'"):
        recipe_of("basline", TRAINING, {})
    with pytest.raises(ValueError, match="no dropout, so that all passes are the same"):
        experiment.evaluate("t", "d", "b", roles, families, ["mc_dropout"], [], [0], *arguments)
    with pytest.raises(ValueError, match="unknown score 'enrgy'; did you mean 'energy'"):
        experiment.evaluate("t", "d", "b", roles, families, ["rnd"], ["enrgy"], [0], *arguments)


def test_the_probability_of_unknown_falls_with_the_score():
    """Monotone, in [0, 1], about one half where both kinds are as frequent; flat if useless."""
    generator = np.random.default_rng(0)
    known, unknown = generator.normal(1, 1, 4000), generator.normal(-1, 1, 1000)
    at = np.linspace(-30, 30, 61)
    found = unknown_probability(at, known, unknown)
    assert (np.diff(found) <= 0).all() and 0 <= found.min() < 0.01 < 0.99 < found.max() <= 1
    # two normal groups of the same weight, 2 apart: the log odds are 2 s
    assert np.allclose(
        unknown_probability([-1, 0, 1], known, unknown), [0.88, 0.5, 0.12], atol=0.02
    )
    scaled = unknown_probability(1e6 * at + 7, 1e6 * known + 7, 1e6 * unknown + 7)
    assert np.allclose(scaled, found, atol=1e-3)
    assert np.ptp(unknown_probability(at, unknown, known)) < 1e-6
    assert np.isfinite(unknown_probability([0, 1], [1, 1], [1, 1])).all()


@pytest.fixture
def made_up():
    """Scores of ID images and of sets that lie the lower, the easier they are."""
    generator = np.random.default_rng(1)
    values = {name: generator.normal(size=400) for name in ("validation", "test")}
    values |= {f"{k}": generator.normal(-0.1 * (k + 5), size=400) for k in range(12)}
    values |= {"near": generator.normal(-1.1, size=200), "one": generator.normal(-1.1, size=200)}
    few = Outputs(np.zeros((1, 2)), np.zeros((1, 1)), np.zeros(1, int))
    return values, Seen(None, {}, {"test": few}, ("one",), tuple(f"{k}" for k in range(12)))


def test_an_auroc_is_predicted_without_labels(made_up):
    """Near the true one where mixtures are alike; nothing is said of a score that never varies."""
    values, found = made_up
    unknown = np.concatenate([values["near"], values["one"]])
    truth = metrics.auroc(values["test"], unknown)
    line, gscore = gscore_line(values, found, PROTOCOL)
    predicted = line.predict([gscore])[0]
    assert abs(predicted - truth) < 0.05
    line, gscore = gscore_line({name: 2 * one for name, one in values.items()}, found, PROTOCOL)
    assert line.predict([gscore])[0] == pytest.approx(predicted)
    assert gscore_line(values | {"validation": np.zeros(400)}, found, PROTOCOL) is None


def test_percentiles_say_where_an_image_lies_among_known_ones(roles, families):
    """The share of validation images that are not scored higher; one row per image and score."""
    found = seen(trained("mc_dropout", roles), roles, families)
    chosen = {"test": [3, 0], "near": [5]}
    rows = percentiles(found, {"msp": {}, "odin": {}, "jsd": {}}, chosen, PROTOCOL)
    assert list(rows["score"].unique()) == ["msp", "jsd"] and len(rows) == 6
    held = found.outputs["validation"].probabilities.max(axis=1)
    own = found.outputs["test"].probabilities.max(axis=1)
    first = rows.iloc[0]
    assert (first["test_set"], first["place"]) == ("test", 3)
    assert first["percentile"] == (held <= own[3]).mean()
    assert first["correct"] == found.outputs["test"].correct[3]
    assert not rows["correct"][rows["test_set"] == "near"].any()
    with pytest.raises(ValueError, match="unknown test set 'nera'; did you mean 'near'"):
        percentiles(found, {"msp": {}}, {"nera": [0]}, PROTOCOL)


def test_every_registered_score_is_either_there_or_left_out_for_a_reason(roles, families):
    """A plain network has all scores but those of members and of training algorithms."""
    found = seen(trained("baseline", roles), roles, families)
    missing = {
        name for name in scores.names() if not applies(name, found.model, found.outputs["test"])
    }
    assert missing == {"jsd", "native"}


def test_a_classifier_that_another_network_learns_beside_stays_the_baselines(roles):
    """Which is why its scores are not counted again."""
    own, baseline = (trained(name, roles).outputs(roles.test) for name in ("rnd", "baseline"))
    assert np.array_equal(own.logits, baseline.logits) and np.array_equal(
        own.features, baseline.features
    )


def test_parts_are_algorithms_and_rows_come_from_the_cache(roles, families, table, monkeypatch):
    """A second evaluation reads what the first has written."""
    assert experiment.parts({"algorithms": {"baseline": {}, "rnd": {}}}) == ["baseline", "rnd"]
    monkeypatch.setattr(experiment, "_rows", None)
    again = experiment.evaluate(
        "mini", "made_up", "resnet8", roles, families, ["rbf"], DETECTORS, [1], TRAINING,
        PROTOCOL, own=OWN, score_arguments=ARGUMENTS, progress=False,
    )  # fmt: skip
    kept = table[(table["run"] == 1) & table["method"].str.startswith("rbf")]
    assert again["value"].tolist() == kept["value"].tolist()
    with pytest.raises(TypeError):
        experiment.evaluate(
            "mini", "made_up", "resnet8", replace(roles, test=roles.train), families, ["rbf"],
            DETECTORS, [1], TRAINING, PROTOCOL, own=OWN, progress=False,
        )  # fmt: skip
