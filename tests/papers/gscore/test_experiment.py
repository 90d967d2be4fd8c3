"""Evaluation without labels, from images to rows."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from helpers import metrics
from helpers.labelfree import EVALUATORS, METRICS, TAUS, fit_regression, gscores
from helpers.networks.model import Model
from helpers.papers import run
from helpers.papers.gscore import experiment
from helpers.papers.gscore.experiment import best_tau, divide, predict
from helpers.papers.gscore.mixtures import (
    PRIMARY,
    DetectorScores,
    Mixtures,
    choose_images,
    evaluate_mixtures,
    printed_shares,
    redraw_mixtures,
    score_suite,
    variants,
)
from helpers.papers.gscore.parameters import DETECTORS
from helpers.papers.gscore.roles import Suite
from tests.papers import toys

PARAMETERS = toys.tiny("experiment", "gscore")
(PART,) = run.parts(PARAMETERS)
SETS = 14
UDE = "ude_wasserstein"


@pytest.fixture(scope="module")
def suite():
    sets = {f"set {k}": toys.images(16 + k, 10 + k, f"set {k}", shade=15 * k) for k in range(SETS)}
    id_images = [toys.images(n, seed) for seed, n in enumerate((90, 40, 30, 50))]
    shifted = {"fog/3": replace(id_images[3], images=255 - id_images[3].images)}
    return Suite(*id_images, sets, shifted)


@pytest.fixture(scope="module")
def network(suite):
    return Model("tiny", (experiment.models(PARAMETERS, PART, suite),))


@pytest.fixture(scope="module")
def table(suite):
    return toys.rows(experiment, suite, PARAMETERS)


def test_every_number_has_its_row(table):
    """Regressions of all runs, the variants, predictions."""
    plain = table.query("test_set == 'all' and variant == 'primary'")
    evaluators = (*EVALUATORS, "confidence", "auto_evaluation")
    methods = {f"{detector}/{name}" for detector in DETECTORS for name in evaluators}
    for metric in METRICS:  # τ of MSP may leave the sets of another detector with one Gscore
        rows = plain[plain["metric"].isin([f"rmse_{metric}", "failed"])]
        assert set(rows["method"]) == methods
        assert len(rows) == 2 * len(methods)
    taus = table[(table["metric"] == "tau") & table["method"].str.startswith("msp")]
    taus = taus.set_index(["variant", "run", "method"])["value"]
    assert taus["shared τ", 0, "msp/ude_kl"] == taus["primary", 0, f"msp/{UDE}"]
    usual = ["primary", "meta", "test", "shared τ"]
    other = table[~table["variant"].isin(usual)].groupby("variant")["method"]
    assert {variant.name for variant in variants(PARAMETERS)} == {*other.groups}
    assert set(other.get_group("validation 10")) == {f"msp/{UDE}"}
    predicted = table[table["metric"] == "predicted_auroc"].groupby("run")["test_set"].agg(set)
    tested = [divide(SETS, number, PARAMETERS)[1] for number in range(2)]
    assert predicted.tolist() == [{f"set {k}" for k in places} for places in tested]


def test_numbers_by_hand(table, network, suite):
    """The numbers of one set and one run follow from the network's outputs."""
    scores = score_suite(network, suite, "msp", PARAMETERS)
    places = choose_images(scores, PARAMETERS)["test"]["set 3"]
    every_known = network.outputs(suite.test).probabilities.max(axis=1)
    every_unknown = network.outputs(suite.sets["set 3"]).probabilities.max(axis=1)
    known = every_known[places[0]]
    unknown = every_unknown[places[1]]
    assert len(known) == len(unknown) == 19
    rows = table.query("variant == 'test' and test_set == 'set 3'")
    rows = rows.set_index(["method", "metric"])["value"]
    # true metrics are of all images; the AUPR, which depends on the ratio, of the mixture
    assert rows["msp", "auroc"] == pytest.approx(metrics.auroc(every_known, every_unknown))
    assert rows["msp", "fpr95"] == metrics.fpr_at_tpr(every_known, every_unknown)
    assert rows["msp", "aupr"] == pytest.approx(metrics.aupr(known, unknown, positive="known"))
    taus = table.query("metric == 'tau' and variant == 'primary' and run == 0")
    taus = taus.set_index("method")["value"]
    for name in EVALUATORS:  # at the threshold of run 0
        given = {"validation": scores.validation, "taus": [taus.get(f"msp/{name}", 0.0)]}
        value = gscores(np.concatenate([known, unknown]), [name], **given)[name][0]
        assert rows[f"msp/{name}", "gscore"] == pytest.approx(value)
    numbers = table.set_index(["variant", "run", "method", "metric"])["value"].sort_index()
    learnt, tested = divide(SETS, 1, PARAMETERS)
    truths, guesses = (numbers[part, 0, "msp", "auroc"].to_numpy() for part in ("meta", "test"))
    meta, test = (numbers[p, 0, "msp/kmeans_l2", "gscore"].to_numpy() for p in ("meta", "test"))
    wrong = np.polyval(np.polyfit(meta[learnt], truths[learnt], 1), test) - guesses
    rmse = numbers["primary", 1, "msp/kmeans_l2", "rmse_auroc"].item()
    assert rmse == pytest.approx(np.sqrt(np.mean(wrong[tested] ** 2)))


def test_the_sets_are_divided_differently_in_each_run(suite, monkeypatch):
    """Each set learns or tests; too few are refused before a network is trained."""
    divisions = [divide(20, number, PARAMETERS) for number in range(3)]
    for learnt, tested in divisions:
        assert (len(learnt), len(tested)) == (15, 5)
        assert {*learnt, *tested} == {*range(20)}
    assert len({tuple(tested) for _, tested in divisions}) == 3
    monkeypatch.setattr(experiment, "fit", lambda *_, **__: pytest.fail("trained"))
    few = replace(suite, sets={name: suite.sets[name] for name in ("set 1", "set 2", "set 3")})
    with pytest.raises(ValueError, match="sets: 3 give 2 to learn from and 1 to test"):
        experiment.models(PARAMETERS, PART, few)


def test_predictions_follow_from_the_line_and_from_redrawn_mixtures():
    """The line learns from its sets, and so do correlations; the coverage is of the others."""
    generator = np.random.default_rng(0)
    known = {part: generator.normal(size=60) for part in ("meta", "test")}
    sets = {f"{k}": generator.normal(-1 - k / 10, 1, 400) for k in range(24)}
    scores = DetectorScores(known, generator.normal(size=200), sets)
    chosen = dict.fromkeys(sets, (np.arange(60), np.arange(60)))
    mixtures = {part: evaluate_mixtures(scores, part, chosen, [UDE]) for part in known}
    redrawn = mixtures["redrawn"] = redraw_mixtures(scores, chosen, [UDE], 0)
    (learnt, tested) = divide(24, 0, PARAMETERS)
    meta = mixtures["meta"]
    line = fit_regression(meta.gscores[UDE][learnt], meta.truths["fpr95"][learnt], TAUS)
    tau = best_tau(meta, UDE, learnt)
    assert TAUS[tau] == pytest.approx(line.tau)
    meta.truths["fpr95"][tested] = 0  # the sets that test
    mixtures["test"].gscores[UDE][tested[-1]] += 100  # its prediction is clipped
    test = mixtures["test"].gscores[UDE][tested, tau]
    truths = mixtures["test"].truths["fpr95"][tested]
    predicted = line.predict(test).clip(0, 1)
    again = redrawn.gscores[UDE][learnt, tau], redrawn.truths["fpr95"][learnt]
    for given, expected in ((redrawn, again), (replace(redrawn, gscores={}), None)):
        redrawn_too = mixtures | {"redrawn": given}
        parts, numbers = predict(redrawn_too, UDE, "fpr95", tau, (learnt, tested), 0.6)
        low, high = line.interval(test, 0.6, redrawn=expected)
        values = [parts[name] for name in ("predicted", "lower", "upper")]
        np.testing.assert_allclose(values, [predicted, low, high])
        assert numbers["coverage"] == np.mean((low <= truths) & (truths <= high))
        pair = meta.gscores[UDE][learnt, tau], meta.truths["fpr95"][learnt]
        assert numbers["pearson"] == pytest.approx(np.corrcoef(*pair)[0, 1])
        assert numbers["spearman"] == pytest.approx(stats.spearmanr(*pair).statistic)
        assert numbers["width"] == pytest.approx(np.mean(high - low))
        assert numbers["rmse"] == pytest.approx(np.sqrt(np.mean((predicted - truths) ** 2)))
    # of two and two ID images one is drawn
    known = dict.fromkeys(("meta", "test"), np.array([0.0, 1.0]))
    scores = DetectorScores(known, known["test"], dict.fromkeys(sets, np.array([0.5])))
    pair = dict.fromkeys(sets, (np.arange(2), np.arange(1)))
    assert set(redraw_mixtures(scores, pair, [], 0).truths["auroc"]) == {0, 1}


def test_a_gscore_that_is_the_same_everywhere_fails_alone(suite, network, monkeypatch):
    """The row states why, and the other evaluators have their numbers."""
    monkeypatch.setattr(experiment.mixing, "feature_distances", lambda *_: np.ones(SETS))
    given = PARAMETERS.replace(detectors=["msp"], evaluators=["kmeans_l2"], ratios=[], shifts=[])
    outputs = experiment.outputs(given, PART, suite, network.networks[0])
    table = pd.DataFrame(experiment.rows(given, PART, outputs, None))
    failed = table[table["metric"] == "failed"]
    assert set(failed["method"]) == {"msp/auto_evaluation"}
    assert len(failed) == 2
    assert failed["notes"].str.startswith("ValueError: gscores").all()
    assert "rmse_auroc" in set(table[table["method"] == "msp/kmeans_l2"]["metric"])


def test_mixtures_of_the_variants(suite, network):
    """Variants change ratios, sizes or validation images."""
    scores = score_suite(network, suite, "msp", PARAMETERS)
    kinds = {variant.name: variant for variant in (PRIMARY, *variants(PARAMETERS))}
    chosen = {name: choose_images(scores, PARAMETERS, kinds[name])["test"] for name in kinds}
    sizes = {name: [*map(len, places["set 13"])] for name, places in chosen.items()}
    assert sizes["primary"] == sizes["shift fog/3"] == [29, 29]
    assert sizes["size 20"] == [10, 10]
    assert sizes["ratio 1:2"] == [14, 29]
    assert np.abs(printed_shares() - sizes["mixed"][1] / sum(sizes["mixed"])).min() < 0.02
    assert sizes["mixed"][0] == 50 or sizes["mixed"][1] == 29
    assert printed_shares()[0] == 3255 / (6990 + 3255)
    assert len(printed_shares()) == 150
    assert len(scores.known["fog/3"]) == len(suite.test)
    pair = np.concatenate(next(scores.mixtures("test", chosen["primary"])))
    values = set()
    for name, images in (("primary", 30), ("validation 10", 10)):
        mixtures = evaluate_mixtures(scores, "test", chosen["primary"], [UDE], kinds[name])
        expected = gscores(pair, [UDE], validation=scores.validation[:images])[UDE]
        assert np.array_equal(mixtures.gscores[UDE][0], expected)
        values.add(expected.tobytes())
    assert len(values) == 2


def test_a_detector_may_be_shown_fewer_images(network, suite):
    """Its scores belong to some of the images, and MSP uses the same images."""
    again = {"meta": np.arange(5), "test": np.arange(3, 9), "set 3": np.array([0, 7])}
    few = replace(suite, again=again)
    whole, part = (score_suite(network, images, "odin", PARAMETERS) for images in (suite, few))
    plain = score_suite(network, suite, "odin", PARAMETERS.replace(score_arguments={}))
    assert whole.validation.mean() > plain.validation.mean()
    assert np.allclose(part.known["test"], whole.known["test"][3:9])
    assert np.allclose(part.sets["set 3"], whole.sets["set 3"][[0, 7]])
    assert len(part.sets["set 4"]) == len(whole.sets["set 4"])
    outputs = experiment.outputs(PARAMETERS, PART, few, network.networks[0])
    sizes = {name: len(outputs.confidence[name].known["meta"]) for name in ("odin", "energy")}
    assert sizes == {"odin": 5, "energy": 40}
    confidence = outputs.detectors["msp"].sets["set 3"][[0, 7]]
    assert np.array_equal(outputs.confidence["odin"].sets["set 3"], confidence)


def test_parts_are_networks_on_their_id_sets():
    """A published network on its ID set; the first trained one on the other ID sets, too."""
    first = "resnet20.akamaster_cifar10"
    last = "densenet100.dice_cifar100"
    networks = {first: {}, "a": {}, last: {}}
    parameters = PARAMETERS.replace(networks=networks, other_data_sets=["cifar100"])
    parts = {part.name: part.roles for part in run.parts(parameters)}
    assert parts == {
        f"cifar10_mini/{first}": first,
        "cifar10_mini/a": "cifar10_mini",
        f"cifar100/{last}": last,
        "cifar100/a": "cifar100",
    }
    assert parameters.trainings() == {"a": {"network": "a"}}
    parameters = parameters.replace(data_set="cifar10", other_data_sets=[])
    assert parameters.id_set_of(first) == "cifar10"


def test_the_error_of_a_guess_by_hand():
    test = Mixtures(np.array([10, 20, 30]), {"auroc": np.array([0.9, 0.8, 0.5])}, {})
    guesses = {"auroc": np.array([1.0, 0.2, 0.9])}
    (row,) = experiment._rows_of_guesses(guesses, test, np.array([0, 2]))
    assert row["value"] == pytest.approx(np.sqrt((0.1**2 + 0.4**2) / 2))
    assert row["images"] == 40


def test_a_replicate_with_weights_of_one_is_the_number():
    generator = np.random.default_rng(0)
    known = {half: generator.normal(size=size) for half, size in (("meta", 40), ("test", 30))}
    scores = DetectorScores(known, known["meta"], {"s": generator.normal(-1, 1, 50)})
    drawn = experiment._replicates(scores, lambda _, size: np.ones((2, size), int))
    for half, values in known.items():
        pair = values, scores.sets["s"]
        assert drawn[half, "auroc", "s"] == pytest.approx(metrics.auroc(*pair))
        assert drawn[half, "fpr95", "s"] == pytest.approx(metrics.fpr_at_tpr(*pair))
