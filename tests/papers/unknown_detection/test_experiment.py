"""The nine methods on a made-up problem, small enough to train in a second each."""

from collections import Counter
from dataclasses import fields, replace
from unittest.mock import Mock, call

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from helpers import metrics, scores
from helpers.data import Images, ImageStream
from helpers.data.features import FeatureImages, as_images
from helpers.data.pixels import smoothness
from helpers.networks.models import Classifier
from helpers.papers import run
from helpers.papers.parameters import load
from helpers.papers.unknown_detection import detectors, experiment, methods, selection, tables
from helpers.papers.unknown_detection.authors import FLAT, fpr_at_nearest_tpr
from helpers.papers.unknown_detection.detectors import Answer
from helpers.papers.unknown_detection.parameters import METHODS
from helpers.papers.unknown_detection.roles import Benchmark

PARAMETERS = load(
    "unknown_detection", "mini", far=["mazes", "plaid"], resized="", members=2, passes=3,
    networks={"tiny": {"width": 4, "stem_stride": 2}}, network="tiny", epochs=3, batch_size=10,
    method_recipes={"mc_dropout": {"dropout": 0.2, "block_dropout": 0.1}}, learning_rate=0.05,
    temperatures=[1, 100], epsilons=[0, 0.002], alphas=[1, 3], tails=[3, 5], replicates=8,
)  # fmt: skip


def images(name, n, labels=None, *, seed=0, low=0):
    """Noise whose brightness tells its class."""
    labels = np.arange(n) % 3 if labels is None else labels
    pixels = np.random.default_rng(seed).integers(low, 256, (n, 16, 16, 3)) // 3
    pixels += 60 * labels[:, None, None, None]
    return Images(pixels.astype(np.uint8), labels, ("a", "b", "c"), name, "test")


@pytest.fixture(scope="module")
def roles(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CACHE_ROOT", str(tmp_path_factory.mktemp("cache")))
        zeros = np.zeros(20, np.int64)
        yield Benchmark(
            known=("a", "b", "c"),
            near_classes=("a", "b", "c"),
            superclass_of={},
            train=images("train", 60),
            validation=images("validation", 21, seed=1),
            test=images("test", 30, seed=2),
            external=images("external", 24, seed=3, low=200).unknown(),
            external_validation=images("external", 12, seed=4, low=200).unknown(),
            near=images("near", 18, seed=5),
            far={"mazes": images("mazes", 20, zeros, seed=6), "plaid": images("plaid", 15, seed=7)},
            aside={"gaussian": images("gaussian", 10, seed=8)},
        )


def rows(roles, **given):
    """The driver's table, the images being those of `roles`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(experiment, "roles", lambda *_: roles)
        return run.rows(PARAMETERS.replace(**given), progress=False)


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
    (found,) = table[table["variant"] == "primary"].query(query)["value"]
    return found


def test_every_method_run_and_test_set_has_its_rows(table):
    primary = table[table["variant"] == "primary"]
    assert set(primary["method"]) == {*METHODS, "smoothness"} and len(METHODS) == 9
    expected = {("test", "accuracy"), ("test", "mean_confidence")}
    expected |= {(one, "aurc") for one in ("test", "near", "far", "union")}
    expected |= {
        (one, metric)
        for one in ("near", "far", "mazes", "plaid", "gaussian")
        for metric in ("auroc", "fpr_at_tpr", "mean_confidence")
    }
    expected.add(("paper_union", "aurc"))
    for (method, _), one in primary.groupby(["method", "run"]):
        found = set(zip(one["test_set"], one["metric"], strict=True))
        unfit = {pair for pair in expected if method == "smoothness" and "confidence" in pair[1]}
        assert found == expected - unfit
    assert set(table[table["variant"] == "evidence"]["method"]) == {"edl"}
    authors = table["variant"] == "authors"
    assert (table.loc[~authors, "bootstrap"].map(len) == 8).all()
    assert set(table.loc[authors, "method"]) == set(primary["method"])
    other = table[authors & (table["metric"] != "fpr_at_tpr")]
    assert set(other["method"]) == {"openmax"}  # all else is as in the primary variant


def test_numbers_of_the_baseline_by_hand(roles, table, detector):
    network = detector("baseline", 1).model
    test = network.outputs(roles.test)
    others = [network.outputs(one.unknown()) for one in (roles.near, *roles.far.values())]
    every = [test, *others]  # not Gaussian
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


@pytest.mark.parametrize("number", [0, 1])
def test_methods_on_the_baselines_network_keep_its_accuracy(table, number):
    methods = "baseline", "odin", "openmax"
    baseline, odin, openmax = (value(table, one, "accuracy", run=number) for one in methods)
    assert odin == baseline >= openmax


def test_an_ensemble_has_the_runs_network_among_its_members(roles, detector):
    ensembles = [detector("ensemble", number) for number in (0, 1)]
    weights = [[network.sha256 for network in one.model.networks] for one in ensembles]
    assert weights[0][0] == detector("baseline").model.networks[0].sha256
    assert len({*weights[0], *weights[1]}) == 4  # no network serves two runs
    members = [one.outputs(roles.test).probabilities for one in ensembles[0].model.networks]
    found = ensembles[0].answer(roles.test).confidence
    assert found == pytest.approx(np.mean(members, axis=0).max(axis=1), rel=1e-6)


def test_mc_dropout_averages_its_passes_and_edl_takes_its_dirichlet_distributions(roles, detector):
    one = detector("mc_dropout")
    members = one.model.outputs(roles.test).members
    assert members.shape[0] == 3 and (members.std(axis=0) > 0).any()
    expected = members.mean(axis=0, dtype=np.float64).max(axis=1)
    assert one.answer(roles.test).confidence == pytest.approx(expected)

    one = detector("edl", variant="evidence")
    alpha = np.exp(np.clip(one.model.outputs(roles.test).logits, -10, 10)) + 1
    found = one.answer(roles.test).confidence
    assert found == pytest.approx((alpha / alpha.sum(axis=1, keepdims=True)).max(axis=1), rel=1e-5)


class Forbidden:
    """Stands for a test set; whoever looks at it fails."""

    def __getattribute__(self, name):
        raise AssertionError(f"selection looked at a test set ({name})")


@pytest.mark.parametrize("method", ["odin", "openmax"])
def test_selection_cannot_see_a_test_set(roles, detector, method):
    """Neither by what it is given, nor by what it chooses."""
    no = Forbidden()
    hidden = replace(roles, test=no, near=no, far={"mazes": no}, aside={"gaussian": no})
    assert set(vars(hidden.visible)) == {"train", "validation", "external_validation"}
    chosen = detector(method, given=hidden).chosen
    assert chosen == detector(method).chosen and len(chosen) == 2


def test_openmax_is_chosen_among_all_pairs(roles, detector):
    network = detector("baseline").model
    grid = selection.openmax_grid(PARAMETERS, network, roles.visible)
    assert set(grid) == {(alpha, tail) for alpha in (1, 3) for tail in (3, 5)}
    train, known, external = map(network.outputs, vars(roles.visible).values())
    for (alpha, tail), found in grid.items():
        score = scores.create("openmax", alpha=alpha, tail=tail, distance=PARAMETERS.distance)
        score.fit(train, None)
        assert found == metrics.auroc(score.score_samples(known), score.score_samples(external))


def test_the_best_pair_is_chosen_and_noted(roles, table, detector):
    one = detector("odin")
    grid = selection.odin_grid(PARAMETERS, one.model, roles.visible)
    pair = one.chosen["temperature"], one.chosen["epsilon"]
    assert len(grid) == 4 and grid[pair] == max(grid.values())
    (notes,) = set(table.query("method == 'odin' and run == 0")["notes"])
    assert notes == f"chosen on held-out images: temperature {pair[0]:g}, epsilon {pair[1]:g}"


def test_openmax_counts_unknown_as_a_wrong_answer(roles, detector):
    one = detector("openmax")
    train, test = map(one.model.outputs, (roles.train, roles.test))
    rule = selection.openmax(train, **one.chosen, distance=PARAMETERS.distance)
    answers = rule.probabilities(test.logits).argmax(axis=1)
    assert (one.answer(roles.test).correct == (answers == test.labels)).all()
    assert not one.answer(roles.near.unknown()).correct.any()


def test_evaluation_repeats_itself_from_nothing(roles, table, tmp_path, monkeypatch):
    """Without the cache: trained, computed and chosen anew."""
    monkeypatch.setenv("CACHE_ROOT", str(tmp_path))
    methods = ["crl", "mc_dropout", "augmix", "odin"]
    again = rows(roles, methods=methods, runs=1)
    same = table[table["method"].isin(methods) & (table["run"] == 0)].reset_index(drop=True)
    pd.testing.assert_frame_equal(again.drop(columns="seconds"), same.drop(columns="seconds"))


def test_a_network_sees_an_image_once(roles, tmp_path, monkeypatch):
    """In methods that need no more than outputs; and never again, once these are kept."""
    seen, features = Counter(), Classifier.features

    def count(classifier, batch):
        if not classifier.training:
            weights = classifier.head.weight.tobytes()
            # one of zeros, which is no image, tells how many to show at once
            seen.update((weights, one.numpy().tobytes()) for one in batch if one.any())
        return features(classifier, batch)

    monkeypatch.setenv("CACHE_ROOT", str(tmp_path))
    monkeypatch.setattr(Classifier, "features", count)
    given = {"methods": ["baseline", "ensemble", "openmax"], "runs": 1}
    rows(roles, **given)
    assert set(seen.values()) == {1}
    assert len({weights for weights, _ in seen}) == PARAMETERS.members
    seen.clear()
    rows(roles, **given, replicates=9)
    assert not seen


def test_all_methods_work_on_streams(roles, tmp_path, monkeypatch):
    """Folders of photographs instead of images in memory."""
    monkeypatch.setenv("CACHE_ROOT", str(tmp_path / "cache"))
    generator = np.random.default_rng(0)
    for number in range(24):
        path = tmp_path / "photographs" / "abc"[number % 3] / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        pixels = generator.integers(0, 100, (20, 24, 3)) + 70 * (number % 3)
        Image.fromarray(pixels.astype(np.uint8)).save(path)
    stream = ImageStream.scan(tmp_path / "photographs")
    train, validation = (stream.subset(slice(start, None, 2)) for start in (0, 1))
    unknown = stream.unknown()
    made = replace(
        roles, train=train, validation=validation, test=stream, near=stream, external=unknown,
        external_validation=unknown, far={"mazes": stream}, aside={},
    )  # fmt: skip
    few = {"runs": 1, "tails": [2], "epsilons": [0.002], "temperatures": [10]}
    found = rows(made, far=["mazes"], image_size=16, epochs=3, batch_size=6, **few)
    assert set(found["method"]) == {*METHODS, "smoothness"}
    assert set(found.loc[found["metric"] == "failed", "method"]) == {"smoothness"}  # not of streams


def test_any_score_is_a_method_on_the_networks_of_any(roles, detector):
    """A method is a training, and what is asked of its networks."""
    names = ["baseline", "baseline+energy", "crl+knn", "ensemble+max_logit", "mixup+msp", "mixup"]
    found = rows(roles, methods=names, runs=1)
    assert set(found["method"]) == {*names, "smoothness"}
    assert "failed" not in set(found["metric"])
    same = [value(found, one, "accuracy") for one in ("baseline", "baseline+energy")]
    assert same[0] == same[1]
    same = [value(found, one, "aurc", "union") for one in ("mixup", "mixup+msp")]
    assert same[0] == same[1] != value(found, "baseline", "aurc", "union")
    network = detector("crl").model
    score = scores.create("knn")
    score.fit(network.outputs(roles.train), network.head)
    test, near = (
        scores.score(score, network, one, network.outputs(one)) for one in (roles.test, roles.near)
    )
    assert value(found, "crl+knn", "auroc", "near") == metrics.auroc(test, near)
    for wrong, message in (
        ("odin+energy", r"the networks of 'odin' are those of 'baseline'; say baseline\+energy"),
        ("mixpu+energy", "unknown method 'mixpu'; did you mean 'mixup'"),
        ("smoothness", "unknown method 'smoothness'"),  # it comes by itself
        ("baseline+enrgy", "unknown score 'enrgy'; did you mean 'energy'"),
    ):
        with pytest.raises(ValueError, match=message):
            PARAMETERS.replace(methods=[wrong])


def test_what_learns_from_another_network_is_refused(roles):
    with pytest.raises(ValueError, match="distillation: it learns from another network"):
        experiment.parts(PARAMETERS.replace(methods=["baseline", "distillation"]))


def test_openmax_of_the_authors_has_one_factor_for_all_ranks(roles, detector):
    """On revised logits, by hand; with one logit revised it is half of what ours moves."""
    model = detector("baseline").model
    train, test = map(model.outputs, (roles.train, roles.test))
    ours, theirs = (
        selection.openmax(train, 1, 5, PARAMETERS.distance, kind)
        for kind in (selection.OpenMax, selection.FlatOpenMax)
    )
    moved = [rule.revised_logits(test.logits)[:, -1] for rule in (ours, theirs)]
    assert np.abs(moved[0]).max() > 0 and moved[1] == pytest.approx(FLAT * moved[0])
    one = detector("openmax", variant="authors")
    rule = selection.openmax(train, **one.chosen, distance=PARAMETERS.distance, kind=type(theirs))
    expected = 1 - rule.probabilities(test.logits)[:, -1]
    assert one.answer(roles.test).confidence == pytest.approx(expected)


def as_in_the_authors_code(known, unknown):
    """Step through both sorted lists as ``metrics_ood.py`` does."""
    known, unknown = sorted(known), sorted(unknown)
    points, k, u = [(len(known), len(unknown))], 0, 0
    while k < len(known) and u < len(unknown):
        if unknown[u] < known[k]:
            u += 1
        else:
            k += 1
        points.append((len(known) - k, len(unknown) - u))
    while k < len(known):  # nothing unknown is left
        k += 1
        points.append((len(known) - k, 0))
    while u < len(unknown):
        u += 1
        points.append((0, len(unknown) - u))
    nearest = min(points, key=lambda one: abs(one[0] / len(known) - 0.95))
    return nearest[1] / len(unknown)


@pytest.mark.parametrize("seed", range(20))
def test_the_false_positive_rate_of_the_authors(seed):
    generator = np.random.default_rng(seed)
    known = generator.integers(5, 40, generator.integers(1, 60))
    unknown = generator.integers(0, 35, generator.integers(1, 60))
    assert fpr_at_nearest_tpr(known, unknown) == as_in_the_authors_code(known, unknown)


def test_numbers_as_the_authors_compute_them(roles, table, detector):
    """OpenMax's own, other methods' false positive rate, and the primary ones for all else."""
    theirs = tables.as_authors(table)
    primary = table[table["variant"] == "primary"]
    assert len(theirs) == len(primary) and set(theirs["variant"]) == {"authors"}
    one = detector("baseline")
    known, near = (one.answer(images).confidence for images in (roles.test, roles.near.unknown()))
    query = "method == 'baseline' and metric == 'fpr_at_tpr' and test_set == 'near' and run == 0"
    (found,) = theirs.query(query)["value"]
    assert found == fpr_at_nearest_tpr(known, near)
    same = "method == 'crl' and metric == 'aurc'"
    assert theirs.query(same)["value"].tolist() == primary.query(same)["value"].tolist()
    assert set(theirs.query("method == 'openmax' and metric == 'aurc'")["row"]) <= set(
        table.query("variant == 'authors'")["row"]
    )


def test_one_ensemble_may_be_made_of_all_runs(roles, detector):
    """Of the runs' baselines: nothing is trained for it, and it is there once."""
    given = {"methods": ["baseline", "ensemble", "ensemble+energy"], "ensemble_of": "runs"}
    parameters = PARAMETERS.replace(**given)
    parts = [part.name for part in experiment.parts(parameters)]
    assert parts[-2:] == ["0/ensemble", "0/ensemble+energy"]
    assert not [one for one in parts[:-2] if "ensemble" in one]
    model = detectors.train_method(parameters, roles, "ensemble", 0)
    baselines = [detector("baseline", run).model.networks[0] for run in range(PARAMETERS.runs)]
    assert [one.sha256 for one in model.networks] == [one.sha256 for one in baselines]
    assert detector("ensemble").model.sha256 != model.sha256
    assert methods.trained_in(parameters, 1) == ["baseline"]  # no run waits for another one
    assert methods.trained_in(parameters.replace(ensemble_of="run"), 1) == ["baseline", "ensemble"]
    assert set(rows(roles, **given).query("method == 'ensemble'")["run"]) == {0}


def test_every_variant_and_every_function_is_of_a_method():
    """And the paper's nine come first."""
    assert list(METHODS) == list(methods.RECORDS)[:9] == methods.names()[:9]
    records = methods.RECORDS.items()
    variants = {(name, variant) for name, method in records for variant in method.variants}
    primary = {(name, "primary") for name in ("odin", "openmax", "smoothness")}
    assert detectors.DETECT.keys() == variants | primary


def test_smoothness_asks_the_images_alone(roles, table):
    expected = metrics.auroc(smoothness(roles.test.images), smoothness(roles.far["plaid"].images))
    assert value(table, "smoothness", "auroc", "plaid") == expected
    assert value(table, "smoothness", "accuracy") == value(table, "baseline", "accuracy")


def test_a_pair_of_resized_sets_adds_the_mahalanobis_score(roles):
    pair = {"fixed": images("f", 9, seed=9), "aliased": images("a", 9, seed=10)}
    aside = replace(roles, aside=pair)
    found = rows(aside, methods=["baseline"], resized="photographs", runs=1)
    assert set(found["method"]) == {"baseline", "mahalanobis", "smoothness"}
    with_confidence = found[found["metric"] == "mean_confidence"]
    assert set(with_confidence["method"]) == {"baseline"}  # a distance is none


def test_sets_are_drawn_alone_but_for_the_same_images_resized():
    draw = Mock(return_value=np.ones((2, 4), np.uint16))
    answer = Answer(np.arange(4.0), np.ones(4, bool))
    names = ("test", "near", "plaid", "fixed", "aliased")
    list(experiment.measure(dict.fromkeys(names, answer), ["plaid"], draw))
    drawn = ["test", "near", "plaid", "fixed", "fixed"]
    assert draw.mock_calls == [call(name, 4) for name in drawn]


def test_skipped_files_are_noted(roles, detector):
    class Skipping(Images):
        skipped = ("n01/broken.jpg",)

    test = Skipping(**{one.name: getattr(roles.test, one.name) for one in fields(Images)})
    said = experiment.ask(detector("baseline"), replace(roles, test=test))
    assert said.notes == "unreadable, left out: 1 (n01/broken.jpg)"


def test_wrong_arguments_of_an_objective_are_refused_before_anything_is_trained():
    wrong = {"edl": {"objective_arguments": {"wieght": 1.0}}}
    with pytest.raises(ValueError, match="did you mean 'weight'"):
        run.parts(PARAMETERS.replace(methods=["baseline", "edl"], method_recipes=wrong))


def test_augmix_of_heads_is_trained_on_stored_views(roles, monkeypatch):
    shown, fit = [], detectors.fit
    monkeypatch.setattr(
        detectors, "fit", lambda images, *a, **k: shown.append(images) or fit(images, *a, **k)
    )

    def seen(one, seed=0):
        codes = np.random.default_rng(seed).integers(0, 256, (len(one), 9), dtype=np.uint8)
        given = {each.name: getattr(one, each.name) for each in fields(Images)}
        return FeatureImages(**given | {"images": as_images(codes)}, pixels=one.images)

    own = {each.name: getattr(roles, each.name) for each in fields(Benchmark)}
    heads = Benchmark(**own | {"train": seen(roles.train), "external": seen(roles.external, 1)})
    heads = replace(heads, views=tuple(seen(roles.train, seed) for seed in (2, 3, 4)))
    parameters = PARAMETERS.replace(
        networks={"tiny": {"backbone": "head", "depth": 1, "image_size": 9}}, augmentation=[],
        method_recipes={"augmix": {"objective_arguments": {"stored": 2}}},
        methods=["baseline", "augmix"],
    )  # fmt: skip
    for method in parameters.methods:
        detectors.train_method(parameters, heads, method, 0)
    assert shown[0] is heads.train and shown[1].images.shape == (60, 3, 3, 3)
    assert np.array_equal(shown[1].images[:, 2:], heads.views[1].images)
    with pytest.raises(ValueError, match="2 views each expected, got 1 further rows"):
        detectors.train_method(parameters, replace(heads, views=heads.views[:1]), "augmix", 0)
    with pytest.raises(ValueError, match=r"'augmix' changes pixels, .* not at this tier"):
        parameters.replace(method_recipes={})
