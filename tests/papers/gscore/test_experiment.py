"""Evaluation without labels, from images to rows."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from helpers import metrics
from helpers.data import Images
from helpers.labelfree import EVALUATORS, METRICS, TAUS, fit_regression, gscores
from helpers.networks.model import Model
from helpers.papers import load, run
from helpers.papers.gscore import experiment
from helpers.papers.gscore.experiment import best_tau, divide, predict
from helpers.papers.gscore.mixtures import (
    PRIMARY,
    DetectorScores,
    choose_images,
    evaluate_mixtures,
    redraw_mixtures,
    score_suite,
    variants,
)
from helpers.papers.gscore.parameters import DETECTORS
from helpers.papers.gscore.roles import Suite

PARAMETERS = load(
    "gscore", "mini", networks={"tiny": {"width": 4, "stem_stride": 2, "objective": "erm"}},
    epochs=6, batch_size=16, learning_rate=0.05, augmentation=[], nesterov=False, momentum=0.9,
    repeats=2, ratios=[[1, 2]], sizes=[20], validations=[10], validation_images=30,
    least_images=10, shifts=["fog/3"], score_arguments={"odin": {"epsilon": 0.01}},
)  # fmt: skip
SETS = 14
UDE = "ude_wasserstein"


def images(n, seed, name="tiny", shade=None):
    """Images whose class is their brightness; of an unknown set of one shade if there is one."""
    generator = np.random.default_rng(seed)
    labels = np.arange(n) % 3
    level = labels * 80 if shade is None else np.full(n, shade)
    level = (level + generator.normal(0, 30, n)).clip(0, 200).astype(int)
    pixels = generator.integers(0, 40, (n, 16, 16, 3)) + level[:, None, None, None]
    labels = labels if shade is None else np.full(n, -1)
    return Images(pixels.astype(np.uint8), labels, ("a", "b", "c"), name, "test")


@pytest.fixture(scope="module")
def suite():
    sets = {f"set {k}": images(16 + k, 10 + k, f"set {k}", 15 * k) for k in range(SETS)}
    test = images(50, 2)
    shifted = {"fog/3": replace(test, images=255 - test.images)}
    return Suite(images(90, 0), images(40, 1), images(30, 3), test, sets, {}, shifted)


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory):
    """One cache for all tests, so that the network is trained once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CACHE_ROOT", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def rows_of(suite, monkeypatch):
    """Return a function that goes through the driver, with made-up images."""

    def rows_of(suite=suite, **given):
        monkeypatch.setattr(experiment, "roles", lambda *_: suite)
        return run.rows(PARAMETERS.replace(**given), progress=False)

    return rows_of


@pytest.fixture(scope="module")
def network(suite):
    (part,) = run.parts(PARAMETERS)
    return Model("tiny", (experiment.models(PARAMETERS, part, suite),))


def test_every_number_has_its_row(rows_of):
    """True metrics and Gscores of all sets, regressions of all runs, the variants, predictions."""
    table = rows_of()
    sets = table[table["method"].isin(DETECTORS)]
    assert len(sets) == SETS * len(DETECTORS) * 2 * len(METRICS) and set(sets["run"]) == {0}
    scored = table[table["metric"] == "gscore"]
    assert len(scored) == SETS * len(DETECTORS) * 2 * (len(EVALUATORS) + 1)
    plain = table.query("test_set == 'all' and variant == 'primary'")
    plain = plain.assign(evaluator=plain["method"].str.split("/").str[1])
    evaluators = (*EVALUATORS, "confidence", "auto_evaluation")
    methods = {f"{a}/{b}" for a in DETECTORS for b in evaluators}
    for metric in METRICS:  # τ of MSP may leave the sets of another detector with one Gscore
        rows = plain[plain["metric"].isin([f"rmse_{metric}", "failed"])]
        assert set(rows["method"]) == methods and len(rows) == 2 * len(methods)
    failed = plain[plain["metric"] == "failed"]["method"]
    assert not failed.str.startswith("msp").any() and len(failed) < len(methods) / 2
    taus = plain[plain["metric"] == "tau"]
    assert taus.groupby(["run", "evaluator"])["value"].nunique().max() == 1
    assert set(taus["evaluator"]) == set(EVALUATORS) - {"kmeans_l2"}
    other = table[~table["variant"].isin(["primary", "meta", "test"])]
    names = {"ratio 1:2", "size 20", "validation 10", "mixed", "shift fog/3"}
    names |= {"learnt", "one-sided"}
    assert {one.name for one in variants(PARAMETERS)} == names
    assert set(other["variant"]) == names
    for variant in ("validation 10", "learnt", "one-sided"):
        assert set(other[other["variant"] == variant]["method"]) == {"msp/ude_wasserstein"}
    predicted = table.query("metric == 'predicted_auroc'")
    for number in range(2):
        tested = {f"set {k}" for k in divide(SETS, number, PARAMETERS)[1]}
        assert set(predicted[predicted["run"] == number]["test_set"]) == tested
    pd.testing.assert_frame_equal(table, rows_of())


def test_numbers_by_hand(rows_of, network, suite):
    """Of one set and one run, from the network's outputs."""
    table = rows_of(detectors=["msp"], evaluators=["kmeans_l2"])
    scores = score_suite(network, suite, "msp", PARAMETERS)
    own, others = choose_images(scores, PARAMETERS)["test"]["set 3"]
    assert len(own) == len(others) == 19
    every_known = network.outputs(suite.test).probabilities.max(axis=1)
    every_unknown = network.outputs(suite.sets["set 3"]).probabilities.max(axis=1)
    known, unknown = every_known[own], every_unknown[others]
    rows = table.query("variant == 'test' and test_set == 'set 3'")
    rows = rows.set_index(["method", "metric"])["value"]
    # labels say it of all images; the AUPR, which depends on the ratio, of the mixture
    assert rows["msp", "auroc"] == pytest.approx(metrics.auroc(every_known, every_unknown))
    assert rows["msp", "fpr95"] == metrics.fpr_at_tpr(every_known, every_unknown)
    assert rows["msp", "aupr"] == pytest.approx(metrics.aupr(known, unknown, positive="known"))
    value = gscores(np.concatenate([known, unknown]), ["kmeans_l2"])["kmeans_l2"][0]
    assert rows["msp/kmeans_l2", "gscore"] == pytest.approx(value)

    def column(variant, method, metric):
        found = table[(table["variant"] == variant) & (table["metric"] == metric)]
        return found[found["method"] == method].set_index("test_set")["value"].to_numpy()

    learnt, tested = divide(SETS, 1, PARAMETERS)
    own = column("meta", "msp/kmeans_l2", "gscore"), column("meta", "msp", "auroc")
    line = np.polyfit(own[0][learnt], own[1][learnt], 1)
    wrong = np.polyval(line, column("test", "msp/kmeans_l2", "gscore")[tested])
    wrong -= column("test", "msp", "auroc")[tested]
    rmse = table.query("run == 1 and variant == 'primary' and metric == 'rmse_auroc'")
    rmse = rmse.set_index("method")["value"]["msp/kmeans_l2"]
    assert rmse == pytest.approx(np.sqrt(np.mean(wrong**2)))


def test_odin_steps_towards_its_answer(network, suite):
    """Its scores are then higher than those of the images as they are; others need one pass."""
    stepped = score_suite(network, suite, "odin", PARAMETERS)
    plain = score_suite(network, suite, "odin", PARAMETERS.replace(score_arguments={}))
    assert stepped.validation.mean() > plain.validation.mean()
    assert set(stepped.known) == {"meta", "test"} and stepped.learnt is None
    first = score_suite(network, suite, "msp", PARAMETERS)
    assert len(first.known["fog/3"]) == len(suite.test)
    assert len(score_suite(network, suite, "knn", PARAMETERS).sets) == SETS


def test_the_sets_are_divided_anew_in_each_run(rows_of, suite, monkeypatch):
    """Each set learns or tests; too few are refused before a network is trained."""
    divisions = [divide(20, number, PARAMETERS) for number in range(3)]
    for learnt, tested in divisions:
        assert (len(learnt), len(tested)) == (15, 5)
        assert set(learnt) | set(tested) == set(range(20))
    assert len({tuple(tested) for _, tested in divisions}) == 3
    with pytest.raises(ValueError, match="sets: 3 give 2 to learn from and 1 to test"):
        divide(3, 0, PARAMETERS)
    monkeypatch.setattr(experiment, "fit", lambda *_, **__: pytest.fail("trained"))
    few = replace(suite, sets={name: suite.sets[name] for name in ("set 1", "set 2")})
    with pytest.raises(ValueError, match="sets: 2 give 2 to learn from"):
        rows_of(few)


def test_a_regression_learns_from_its_sets_alone():
    """What it is tested on can be anything, and its own error falls with the evaluator's."""
    generator, names = np.random.default_rng(0), [f"{k}" for k in range(20)]
    known = {part: generator.normal(size=300) for part in ("meta", "test")}
    sets = {name: generator.normal(-int(name) / 4, size=200) for name in names}  # ever further
    scores = DetectorScores(known, generator.normal(size=200), sets)
    chosen = dict.fromkeys(names, (np.arange(200), np.arange(200)))
    made = {part: evaluate_mixtures(scores, part, chosen, list(EVALUATORS)) for part in known}
    made["redrawn"] = redraw_mixtures(scores, chosen, list(EVALUATORS), 0)
    division, meta = (np.arange(15), np.arange(15, 20)), made["meta"]
    tau = best_tau(meta, "ude_wasserstein", division[0])
    one = predict(made, "ude_wasserstein", "auroc", tau, division, 0.9)
    assert one.pearson > 0.7 and one.spearman > 0.7
    assert np.array_equal(one.truths, made["test"].truths["auroc"][15:])
    assert (one.lower <= one.predicted).all() and (one.predicted <= one.upper + 1).all()
    truths = np.where(np.arange(20) < 15, meta.truths["auroc"], 0)
    spoilt = made | {"meta": replace(meta, truths=meta.truths | {"auroc": truths})}
    again = predict(spoilt, "ude_wasserstein", "auroc", tau, division, 0.9)
    assert np.array_equal(one.predicted, again.predicted)
    line = fit_regression(meta.gscores["ude_wasserstein"][:15], meta.truths["fpr95"][:15], TAUS)
    assert TAUS[tau] == pytest.approx(line.tau)


def test_intervals_hold_for_other_id_images():
    """Where the network scores the test's a little otherwise: few, and a detector that is good."""
    covered = []
    for seed in range(15):
        generator = np.random.default_rng(seed)
        known = {part: generator.normal(size=60) for part in ("meta", "test")}
        sets = {f"{k}": generator.normal(-1 - k / 10, 1, 400) for k in range(24)}
        scores = DetectorScores(known, generator.normal(size=200), sets)
        chosen = dict.fromkeys(sets, (np.arange(60), np.arange(60)))
        made = {part: evaluate_mixtures(scores, part, chosen, [UDE]) for part in known}
        made["redrawn"] = redraw_mixtures(scores, chosen, [UDE], seed)
        division = divide(24, seed, PARAMETERS)
        tau = best_tau(made["meta"], UDE, division[0])
        alone = made | {"redrawn": replace(made["redrawn"], gscores={})}
        for one in (made, alone):
            covered.append(predict(one, UDE, "fpr95", tau, division, 0.9).numbers["coverage"])
    told, untold = np.reshape(covered, (-1, 2)).mean(axis=0)
    assert untold < 0.87 < 0.9 <= told < 0.99


def test_a_gscore_that_is_the_same_everywhere_fails_alone(rows_of, monkeypatch, tmp_path):
    """The row says why, and the other evaluators have their numbers."""
    monkeypatch.setenv("CACHE_ROOT", str(tmp_path))
    monkeypatch.setattr(experiment, "feature_distances", lambda *_: np.ones(SETS))
    own = experiment.evaluate_mixtures

    def flat(*arguments, **options):  # at every threshold
        found = own(*arguments, **options)
        one = {"ude_l2": np.zeros((SETS, len(TAUS)))} if "ude_l2" in found.gscores else {}
        return replace(found, gscores=found.gscores | one)

    monkeypatch.setattr(experiment, "evaluate_mixtures", flat)
    table = rows_of(detectors=["msp"], evaluators=["kmeans_l2", "ude_l2", "ude_wasserstein"])
    failed = table[table["metric"] == "failed"]
    assert set(failed["method"]) == {"msp/auto_evaluation", "msp/ude_l2"} and len(failed) == 4
    assert failed["notes"].str.startswith("ValueError: gscores").all()
    assert "rmse_auroc" in set(table[table["method"] == "msp/kmeans_l2"]["metric"])


def test_mixtures_of_the_variants(suite):
    """Ratios, sizes and random numbers of images; a shift changes no choice."""
    known = {part: np.zeros(len(getattr(suite, part))) for part in ("meta", "test")}
    sets = {name: np.zeros(len(one)) for name, one in suite.sets.items()}
    scores = DetectorScores(known, np.zeros(1), sets)
    mixture = {
        variant.name: choose_images(scores, PARAMETERS, variant)["test"]["set 13"]
        for variant in (PRIMARY, *variants(PARAMETERS))
    }
    sizes = {name: [len(part) for part in one] for name, one in mixture.items()}
    assert sizes["primary"] == [29, 29] and sizes["ratio 1:2"] == [14, 29]
    assert sizes["size 20"] == [10, 10]
    assert 10 <= sizes["mixed"][0] <= 50 and 10 <= sizes["mixed"][1] <= 29
    for one, other in zip(mixture["primary"], mixture["shift fog/3"], strict=True):
        assert np.array_equal(one, other)


def test_the_order_of_the_sets_is_not_taken_from_the_cache(rows_of, suite):
    """It decides which sets learn and which test: other numbers, whatever was made before."""
    given = {"detectors": ["msp"], "evaluators": ["kmeans_l2"]}
    turned = replace(suite, sets=dict(reversed(suite.sets.items())))
    rows_of(**given)
    sets = rows_of(turned, **given).query("method + metric + variant == 'mspaurocmeta'")
    assert sets["test_set"].tolist() == list(turned.sets)


def test_parts_are_networks_and_other_id_sets():
    """The other ID sets are evaluated with the first network, and train none for a page."""
    own = PARAMETERS.replace(other_data_sets=["digits"], networks={"a": {}, "b": {}})
    names = ["cifar10_mini/a", "cifar10_mini/b", "digits/a"]
    assert [part.name for part in run.parts(own)] == names
    assert list(own.trainings().values()) == [{"network": "a"}, {"network": "b"}]


def test_a_published_network_is_a_part_on_its_own_id_set():
    """Its embedded part, where that is the ID set; the other ID sets are for trained ones."""
    first, last = "resnet20.akamaster_cifar10", "densenet100.dice_cifar100"
    own = PARAMETERS.replace(networks={first: {}, "a": {}, last: {}}, other_data_sets=["cifar100"])
    parts = {part.name: part.roles for part in run.parts(own)}
    assert parts == {f"cifar10_mini/{first}": first, "cifar10_mini/a": "cifar10_mini",
                     f"cifar100/{last}": last, "cifar100/a": "cifar100"}  # fmt: skip
    assert own.trainings() == {"a": {"network": "a"}}
    assert own.replace(data_set="cifar10", other_data_sets=[]).id_set_of(first) == "cifar10"


def test_a_published_network_is_judged_as_any(tmp_path, monkeypatch):
    """The embedded one, from images to rows: it is right on most of the embedded test images."""
    monkeypatch.setenv("CACHE_ROOT", str(tmp_path))
    name = "resnet20.akamaster_cifar10"
    division = {"fold_share": 0.45, "validation_images": 450, "set_images": 12, "shown_again": 6}
    given = {"detectors": ["msp", "odin"], "evaluators": ["ude_wasserstein"], "repeats": 1}
    own = PARAMETERS.replace(
        networks={name: division}, sets=["plaid", "dice", "fire", "digits"], **given
    )
    table = run.rows(own, progress=False)
    accuracy = table[table["metric"] == "accuracy"].iloc[0]
    assert accuracy["images"] == 100 and accuracy["value"] > 0.85
    sets = table[(table["metric"] == "auroc") & (table["variant"] == "test")]
    assert sets.groupby("method")["images"].agg(set).to_dict() == {"msp": {24}, "odin": {12}}
    assert table.query("metric == 'gscore'")["value"].ge(0).all()


def test_a_detector_may_be_shown_fewer_images(network, suite):
    """Its scores are those of some of the images; MSP of the same ones labels by confidence."""
    again = {"meta": np.arange(5), "test": np.arange(3, 9), "set 3": np.array([0, 7])}
    few = replace(suite, again=again)
    whole, part = (score_suite(network, one, "odin", PARAMETERS) for one in (suite, few))
    assert np.allclose(part.known["test"], whole.known["test"][3:9])
    assert np.allclose(part.sets["set 3"], whole.sets["set 3"][[0, 7]])
    assert len(part.sets["set 4"]) == len(whole.sets["set 4"])
    msp = score_suite(network, few, "msp", PARAMETERS)
    assert len(msp.known["test"]) == len(suite.test)
    assert np.array_equal(msp.of(again).sets["set 3"], msp.sets["set 3"][[0, 7]])
    (own,) = run.parts(PARAMETERS)
    made = experiment.outputs(PARAMETERS, own, few, network.networks[0])
    sure = made.confidence["odin"]
    assert len(sure.known["meta"]) == 5 and len(made.confidence["energy"].known["meta"]) == 40


def test_variants_of_the_validation(network, suite):
    """One-sided, what is surer than the validation images is no longer taken for unknown."""
    scores = score_suite(network, suite, "msp", PARAMETERS)
    assert len(scores.learnt) == len(scores.validation)
    seen = network.outputs(suite.train).probabilities.max(axis=1)
    assert set(scores.learnt) <= set(seen) and set(scores.learnt) != set(scores.validation)
    chosen = choose_images(scores, PARAMETERS)["test"]
    kinds = {one.name: one for one in variants(PARAMETERS)}
    made = {
        name: evaluate_mixtures(scores, "test", chosen, [UDE], variant=kinds.get(name, PRIMARY))
        for name in ("primary", "learnt", "one-sided")
    }
    values = [made[name].gscores[UDE] for name in made]
    assert not np.array_equal(values[0], values[1]) and not np.array_equal(values[0], values[2])
    sure = replace(scores, validation=np.array([0.0, 1e-3]))  # all images are surer
    one = evaluate_mixtures(sure, "test", chosen, [UDE], variant=kinds["one-sided"])
    assert (one.gscores[UDE] == 0).all()
