"""The nine methods on a made-up problem, small enough to train in a second each."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from helpers import metrics, scores
from helpers.data import Images, ImageStream
from helpers.networks.models import Classifier
from helpers.networks.recipe import Recipe
from helpers.papers.unknown_detection import detectors, selection
from helpers.papers.unknown_detection import experiment as evaluation
from helpers.papers.unknown_detection.protocol import METHODS, Protocol, Roles

TRAINING = Recipe(width=4, stem_stride=2, epochs=3, batch_size=10, learning_rate=0.05)
OWN = {"mc_dropout": {"dropout": 0.2, "block_dropout": 0.1}}
PROTOCOL = Protocol(
    members=2, passes=3, temperatures=(1, 100), epsilons=(0, 0.002), alphas=(1, 3), tails=(3, 5),
    replicates=8,
)  # fmt: skip


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
            aside={"gaussian": images("gaussian", 10, seed=8)},
        )


@pytest.fixture(scope="module")
def table(roles):
    return evaluation.evaluate(
        "mini", "made_up", "resnet8", roles, list(METHODS), [0, 1], TRAINING, PROTOCOL, own=OWN,
        progress=False,
    )  # fmt: skip


def value(table, method, metric, test_set="test", run=0, variant="primary"):
    query = (
        "method == @method and metric == @metric and test_set == @test_set and run == @run"
        " and variant == @variant"
    )
    (found,) = table.query(query)["value"]
    return found


def test_every_method_run_and_test_set_has_its_rows(table):
    primary = table[table["variant"] == "primary"]
    assert set(primary["method"]) == set(METHODS)
    expected = {("test", "accuracy"), ("test", "mean_confidence")}
    expected |= {(one, "aurc") for one in ("test", "near", "far", "union")}
    expected |= {
        (one, metric)
        for one in ("near", "far", "one", "two", "gaussian")
        for metric in ("auroc", "fpr_at_tpr", "mean_confidence")
    }
    for _, rows in primary.groupby(["method", "run"]):
        assert set(zip(rows["test_set"], rows["metric"], strict=True)) == expected
    assert set(table[table["variant"] == "evidence"]["method"]) == {"edl"}
    assert (table["bootstrap"].map(len) == 8).all()


def test_numbers_of_the_baseline_by_hand(roles, table):
    one = detectors.detector("baseline", roles, TRAINING, PROTOCOL, run=1, own=OWN, progress=False)
    network = one.model.networks[0]
    test, near = network.outputs(roles.test), network.outputs(roles.near.unknown())
    others = [network.outputs(one.unknown()) for one in roles.far.values()]
    assert value(table, "baseline", "accuracy", run=1) == test.correct.mean()
    every = [test, near, *others]  # not Gaussian
    confidence = np.concatenate([outputs.probabilities.max(axis=1) for outputs in every])
    correct = np.concatenate([outputs.correct for outputs in every])
    assert correct[30:].sum() == 0
    union = value(table, "baseline", "aurc", "union", run=1)
    assert union == metrics.aurc(confidence, correct)
    own = value(table, "baseline", "aurc", run=1)
    assert own == metrics.aurc(confidence[:30], correct[:30])
    auroc = value(table, "baseline", "auroc", "near", run=1)
    assert auroc == metrics.auroc(confidence[:30], confidence[30:48])
    far = value(table, "baseline", "fpr_at_tpr", "far", run=1)
    assert far == metrics.fpr_at_tpr(confidence[:30], confidence[48:])


def test_methods_on_the_baselines_network_keep_its_accuracy(table):
    for run in (0, 1):
        assert value(table, "odin", "accuracy", run=run) == value(
            table, "baseline", "accuracy", run=run
        )
        assert value(table, "openmax", "accuracy", run=run) <= value(
            table, "baseline", "accuracy", run=run
        )


def test_an_ensemble_has_the_runs_network_among_its_members(roles):
    arguments = {"roles": roles, "training": TRAINING, "protocol": PROTOCOL, "progress": False}
    baseline = detectors.detector("baseline", run=0, **arguments)
    ensembles = [detectors.detector("ensemble", run=run, **arguments) for run in (0, 1)]
    weights = [[network.sha256 for network in one.model.networks] for one in ensembles]
    assert weights[0][0] == baseline.model.networks[0].sha256
    assert len({*weights[0], *weights[1]}) == 4  # no network serves two runs
    mean = np.mean(
        [n.outputs(roles.test).probabilities for n in ensembles[0].model.networks], axis=0
    )
    found = ensembles[0].answer(roles.test).confidence
    assert found == pytest.approx(mean.max(axis=1), rel=1e-6)


def test_mc_dropout_averages_its_passes(roles):
    one = detectors.detector(
        "mc_dropout", roles, TRAINING, PROTOCOL, run=0, own=OWN, progress=False
    )
    members = one.model.outputs(roles.test).members
    assert members.shape[0] == 3 and (members.std(axis=0) > 0).any()
    expected = members.mean(axis=0, dtype=np.float64).max(axis=1)
    assert one.answer(roles.test).confidence == pytest.approx(expected)


def test_edl_by_its_dirichlet_distributions(roles):
    one = detectors.detector("edl", roles, TRAINING, PROTOCOL, run=0, progress=False)
    alpha = np.exp(np.clip(one.model.outputs(roles.test).logits, -10, 10)) + 1
    found = detectors.evidence(one).answer(roles.test).confidence
    assert found == pytest.approx((alpha / alpha.sum(axis=1, keepdims=True)).max(axis=1), rel=1e-5)


class Forbidden:
    """Stands for a test set; whoever looks at it fails."""

    def __getattribute__(self, name):
        raise AssertionError(f"selection looked at a test set ({name})")


@pytest.mark.parametrize("method", ["odin", "openmax"])
def test_selection_cannot_see_a_test_set(roles, method):
    """Neither by what it is given, nor by what it chooses."""
    hidden = replace(
        roles, test=Forbidden(), near=Forbidden(), far={"one": Forbidden()},
        aside={"gaussian": Forbidden()},
    )  # fmt: skip
    assert not {"test", "near", "far", "aside"} & set(vars(hidden.visible))
    chosen = [
        detectors.detector(method, one, TRAINING, PROTOCOL, run=0, progress=False).chosen
        for one in (hidden, roles)
    ]
    assert chosen[0] == chosen[1] and len(chosen[0]) == 2


def test_openmax_is_chosen_among_all_pairs(roles):
    network = detectors.network(roles, TRAINING, run=0, progress=False)
    grid = selection.openmax_grid(network, roles.visible, PROTOCOL)
    assert set(grid) == {(alpha, tail) for alpha in (1, 3) for tail in (3, 5)}
    train, known, external = (
        network.outputs(one) for one in (roles.train, roles.validation, roles.external_validation)
    )
    for (alpha, tail), found in grid.items():
        score = scores.create("openmax", alpha=alpha, tail=tail, distance=PROTOCOL.distance)
        score.fit(train, None)
        alone = metrics.auroc(score.score_samples(known), score.score_samples(external))
        assert found == alone


def test_the_best_pair_is_chosen_and_noted(roles, table):
    one = detectors.detector("odin", roles, TRAINING, PROTOCOL, run=0, progress=False)
    grid = selection.odin_grid(one.model, roles.visible, PROTOCOL)
    assert len(grid) == 4
    pair = one.chosen["temperature"], one.chosen["epsilon"]
    assert grid[pair] == max(grid.values())
    (notes,) = set(table.query("method == 'odin' and run == 0")["notes"])
    assert notes == f"chosen on held-out images: temperature {pair[0]:g}, epsilon {pair[1]:g}"


def test_openmax_counts_unknown_as_a_wrong_answer(roles):
    one = detectors.detector("openmax", roles, TRAINING, PROTOCOL, run=0, progress=False)
    model = selection.openmax(
        one.model.networks[0].outputs(roles.train), one.chosen["alpha"], one.chosen["tail"],
        PROTOCOL.distance,
    )  # fmt: skip
    outputs = one.model.networks[0].outputs(roles.test)
    answers = model.probabilities(outputs.logits).argmax(axis=1)
    assert (one.answer(roles.test).correct == (answers == outputs.labels)).all()
    assert not one.answer(roles.near.unknown()).correct.any()


def test_the_same_images_are_drawn_for_all_methods_and_runs(roles):
    answers = {"test": detectors.Answer(np.zeros(5), np.ones(5, bool))}
    one, two = (evaluation.resampled(answers, replicates=4, seed=0) for _ in range(2))
    assert np.array_equal(one["test"], two["test"])
    other = evaluation.resampled({"near": answers["test"]}, replicates=4, seed=0)
    assert not np.array_equal(one["test"], other["near"])


def test_evaluation_repeats_itself_from_nothing(roles, table, tmp_path, monkeypatch):
    """Without the cache: trained, computed and chosen anew."""
    monkeypatch.setenv("CACHE_ROOT", str(tmp_path))
    methods = ["crl", "mc_dropout", "augmix", "odin"]
    again = evaluation.evaluate(
        "mini", "made_up", "resnet8", roles, methods, [1], TRAINING, PROTOCOL, own=OWN,
        progress=False,
    )  # fmt: skip
    same = table[table["method"].isin(methods) & (table["run"] == 1)].reset_index(drop=True)
    ours, others = (one.drop(columns="seconds") for one in (again, same))
    pd.testing.assert_frame_equal(ours, others)


def test_a_network_sees_an_image_once(roles, tmp_path, monkeypatch):
    """In methods that need no more than outputs; and never again, once these are kept."""
    seen, features = Counter(), Classifier.features

    def counted(classifier, batch):
        if not classifier.training:
            weights = classifier.head.weight.tobytes()
            seen.update((weights, image.numpy().tobytes()) for image in batch)
        return features(classifier, batch)

    monkeypatch.setenv("CACHE_ROOT", str(tmp_path))
    monkeypatch.setattr(Classifier, "features", counted)

    def evaluated():
        seen.clear()
        evaluation.evaluate(
            "mini", "made_up", "resnet8", roles, ["baseline", "ensemble", "openmax"], [0],
            TRAINING, PROTOCOL, own=OWN, progress=False,
        )  # fmt: skip
        return set(seen.values()), len({weights for weights, _ in seen})

    assert evaluated() == ({1}, PROTOCOL.members)
    assert evaluated() == (set(), 0)


def test_provenance_tells_training_images_apart(roles):
    """Also those that a method never saw in its test."""
    other = replace(roles, external=images("external", 24, seed=99, low=200).unknown())
    hashes = {
        evaluation.evaluate(
            "mini", "made_up", "resnet8", one, ["baseline"], [0], TRAINING, PROTOCOL, progress=False
        )["parameters"].iloc[0]
        for one in (roles, other)
    }
    assert len(hashes) == 2


def test_all_methods_work_on_streams(tmp_path, monkeypatch):
    """Folders of photographs instead of images in memory."""
    monkeypatch.setenv("CACHE_ROOT", str(tmp_path / "cache"))
    generator = np.random.default_rng(0)
    for number in range(24):
        path = tmp_path / "photographs" / "abc"[number % 3] / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        pixels = generator.integers(0, 100, (20, 24, 3)) + 70 * (number % 3)
        Image.fromarray(pixels.astype(np.uint8)).save(path)
    stream = ImageStream.scan(tmp_path / "photographs")
    parts = {
        name: stream.subset(slice(start, None, 2))
        for start, name in enumerate(("train", "validation"))
    }
    others = {name: stream.unknown() for name in ("external", "external_validation")}
    made = Roles(
        known=("a", "b", "c"), near_classes=("a", "b", "c"), superclass_of={}, test=stream,
        near=stream, far={"one": stream}, aside={}, **parts, **others,
    )  # fmt: skip
    training = replace(TRAINING, image_size=16, epochs=6, batch_size=6)
    protocol = replace(PROTOCOL, tails=(2,), epsilons=(0.002,), temperatures=(10,))
    found = evaluation.evaluate(
        "mini", "made_up", "resnet8", made, list(METHODS), [0], training, protocol, own=OWN,
        progress=False,
    )  # fmt: skip
    assert set(found["method"]) == set(METHODS)


def test_a_pair_of_resized_sets_adds_the_mahalanobis_score(roles):
    pair = {"fixed": images("f", 9, seed=9), "aliased": images("a", 9, seed=10)}
    paired = replace(roles, aside=pair)
    found = evaluation.evaluate(
        "mini", "made_up", "resnet8", paired, ["baseline"], [0], TRAINING, PROTOCOL, progress=False
    )
    assert set(found["method"]) == {"baseline", "mahalanobis"}
    with_confidence = found[found["metric"] == "mean_confidence"]
    assert set(with_confidence["method"]) == {"baseline"}  # a distance is none
    answers = {name: detectors.Answer(np.zeros(9), np.zeros(9, bool)) for name in pair}
    drawn = evaluation.resampled(answers, replicates=4, seed=0)
    assert np.array_equal(drawn["fixed"], drawn["aliased"])  # the same images, drawn alike


def test_skipped_files_are_noted(roles):
    class Skipping(Images):
        skipped = ("n01/broken.jpg",)

    test = Skipping(**{name: getattr(roles.test, name) for name in Images.__dataclass_fields__})
    one = detectors.detector("baseline", roles, TRAINING, PROTOCOL, run=0, progress=False)
    said = evaluation.notes(one, replace(roles, test=test))
    assert said == "unreadable, left out: 1 (n01/broken.jpg)"


def test_unknown_names_are_refused(roles):
    with pytest.raises(ValueError, match="unknown method 'odni'; did you mean 'odin'"):
        detectors.detector("odni", roles, TRAINING, PROTOCOL, run=0)
    with pytest.raises(ValueError, match="unknown training parameter 'epoch'"):
        evaluation.recipe_of("crl", TRAINING, {"crl": {"epoch": 3}})
    with pytest.raises(ValueError, match="mc_dropout: its recipe has no dropout"):
        evaluation.recipe_of("mc_dropout", TRAINING, {})
    wrong = {"edl": {"objective_arguments": {"wieght": 1.0}}}
    with pytest.raises(ValueError, match="did you mean 'weight'"):  # before anything is trained
        evaluation.evaluate("mini", "made_up", "resnet8", roles, ["baseline", "edl"], [0], TRAINING,
                            PROTOCOL, own=wrong)  # fmt: skip
