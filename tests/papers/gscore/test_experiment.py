"""The protocol of evaluation without labels, from images to rows."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from helpers import metrics
from helpers.data import Images
from helpers.labelfree import EVALUATORS, METRICS, TAUS, fit_regression, gscores
from helpers.networks.recipe import Recipe
from helpers.papers.gscore import experiment
from helpers.papers.gscore.experiment import evaluate, network, parts
from helpers.papers.gscore.measuring import Scores, Variant, measured, mixed, scores_of, variants
from helpers.papers.gscore.protocol import DETECTORS, Protocol
from helpers.papers.gscore.regressing import divided, regressed, tau_of
from helpers.papers.gscore.suite import Roles

RECIPE = Recipe(width=4, stem_stride=2, epochs=6, batch_size=16, learning_rate=0.05)
NETWORKS = {"tiny": RECIPE}
PROTOCOL = Protocol(
    repeats=2, ratios=[[1, 2]], sizes=[20], validations=[10], validation_images=30,
    least_images=10, shifts=["fog/3"], score_arguments={"odin": {"epsilon": 0.01}},
)  # fmt: skip
SETS = 14


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("CACHE_ROOT", str(tmp_path / "cache"))


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
def roles():
    sets = {f"set {k}": images(16 + k, 10 + k, f"set {k}", 15 * k) for k in range(SETS)}
    test = images(50, 2)
    return Roles(
        images(90, 0), images(40, 1), images(30, 3), test, sets,
        shifted={"fog/3": replace(test, images=255 - test.images)},
    )  # fmt: skip


@pytest.fixture
def made():
    """Scores of two normal groups, the further apart the higher the number of the set."""
    generator = np.random.default_rng(0)
    known = {part: generator.normal(size=300) for part in ("meta", "test")}
    sets = {f"{k}": generator.normal(-k / 4, size=200) for k in range(20)}
    scores = Scores(known, generator.normal(size=200), sets)
    chosen = {name: (np.arange(200), np.arange(200)) for name in sets}
    return {part: measured(scores, part, chosen, list(EVALUATORS)) for part in known}, scores


def test_every_number_has_its_row(roles):
    """True metrics and Gscores of all sets, regressions of all runs, the variants, predictions."""
    table = evaluate(
        "mini", "tiny", roles, NETWORKS, list(DETECTORS), list(EVALUATORS), PROTOCOL,
        progress=False,
    )  # fmt: skip
    sets = table[table["method"].isin(DETECTORS)]
    assert len(sets) == SETS * len(DETECTORS) * 2 * len(METRICS) and set(sets["run"]) == {0}
    scored = table[table["metric"] == "gscore"]
    assert len(scored) == SETS * len(DETECTORS) * 2 * (len(EVALUATORS) + 1)
    plain = table.query("test_set == 'all' and variant == 'primary'")
    methods = {
        f"{a}/{b}" for a in DETECTORS for b in (*EVALUATORS, "confidence", "auto_evaluation")
    }
    for metric in METRICS:  # τ of MSP may leave the sets of another detector with one Gscore
        rows = plain[plain["metric"].isin([f"rmse_{metric}", "failed"])]
        assert set(rows["method"]) == methods and len(rows) == 2 * len(methods)
    failed = plain[plain["metric"] == "failed"]["method"]
    assert not failed.str.startswith("msp").any() and len(failed) < len(methods) / 2
    taus = plain[plain["metric"] == "tau"]
    assert taus.groupby(["run", taus["method"].str.split("/").str[1]])["value"].nunique().max() == 1
    assert set(taus["method"].str.split("/").str[1]) == set(EVALUATORS) - {"kmeans_l2"}
    other = table[~table["variant"].isin(["primary", "meta", "test"])]
    assert set(other["variant"]) == {v.name for v in variants(PROTOCOL)} == {
        "ratio 1:2", "size 20", "validation 10", "mixed", "shift fog/3",
    }  # fmt: skip
    assert set(other[other["variant"] == "validation 10"]["method"]) == {"msp/ude_wasserstein"}
    foretold = table[table["metric"] == "predicted_auroc"]
    for run in range(2):
        tested = {f"set {k}" for k in divided(SETS, run, PROTOCOL)[1]}
        assert set(foretold[foretold["run"] == run]["test_set"]) == tested
    again = evaluate(
        "mini", "tiny", roles, NETWORKS, list(DETECTORS), list(EVALUATORS), PROTOCOL,
        progress=False,
    )  # fmt: skip
    pd.testing.assert_frame_equal(table, again)


def test_numbers_by_hand(roles):
    """Of one set and one run, from the network's outputs."""
    table = evaluate(
        "mini", "tiny", roles, NETWORKS, ["msp"], ["kmeans_l2"], PROTOCOL, progress=False
    )
    fitted = network(roles, RECIPE, PROTOCOL, progress=False)
    chosen = mixed(roles, "test", Variant(), PROTOCOL)
    own, others = chosen["set 3"]
    assert len(own) == len(others) == 19
    every_known = fitted.outputs(roles.test).probabilities.max(axis=1)
    every_unknown = fitted.outputs(roles.sets["set 3"]).probabilities.max(axis=1)
    known, unknown = every_known[own], every_unknown[others]
    rows = table.query("variant == 'test' and test_set == 'set 3'")
    rows = rows.set_index(["method", "metric"])["value"]
    # labels say it of all images; the AUPR, which depends on the ratio, of the mixture
    assert rows["msp", "auroc"] == pytest.approx(metrics.auroc(every_known, every_unknown))
    assert rows["msp", "fpr95"] == metrics.fpr_at_tpr(every_known, every_unknown)
    assert rows["msp", "aupr"] == pytest.approx(metrics.aupr(known, unknown, positive="known"))
    together = np.concatenate([known, unknown])
    value = gscores(together, ["kmeans_l2"])["kmeans_l2"][0]
    assert rows["msp/kmeans_l2", "gscore"] == pytest.approx(value)

    def column(variant, method, metric):
        found = table[(table["variant"] == variant) & (table["metric"] == metric)]
        return found[found["method"] == method].set_index("test_set")["value"].to_numpy()

    learnt, tested = divided(SETS, 1, PROTOCOL)
    slope, intercept = np.polyfit(
        column("meta", "msp/kmeans_l2", "gscore")[learnt], column("meta", "msp", "auroc")[learnt], 1
    )
    wrong = slope * column("test", "msp/kmeans_l2", "gscore")[tested] + intercept
    wrong -= column("test", "msp", "auroc")[tested]
    rmse = table.query("run == 1 and variant == 'primary' and metric == 'rmse_auroc'")
    rmse = rmse.set_index("method")["value"]["msp/kmeans_l2"]
    assert rmse == pytest.approx(np.sqrt(np.mean(wrong**2)))


def test_odin_steps_towards_its_answer(roles):
    """Its scores are then higher than those of the images as they are; others need one pass."""
    fitted = network(roles, RECIPE, PROTOCOL, progress=False)
    stepped = scores_of(fitted, roles, "odin", PROTOCOL)
    plain = scores_of(fitted, roles, "odin", Protocol())
    assert stepped.validation.mean() > plain.validation.mean()
    assert len(stepped.known["fog/3"]) == len(roles.test)
    assert len(scores_of(fitted, roles, "knn", Protocol()).sets) == SETS
    with pytest.raises(ValueError, match="detector 'jsd' needs members"):
        scores_of(fitted, roles, "jsd", PROTOCOL)


def test_the_sets_are_divided_anew_in_each_run():
    """Each set learns or tests; too few are refused."""
    divisions = [divided(20, run, PROTOCOL) for run in range(3)]
    for learnt, tested in divisions:
        assert len(learnt) == 15 and set(learnt) | set(tested) == set(range(20))
        assert len(tested) == 5
    assert len({tuple(tested) for _, tested in divisions}) == 3
    with pytest.raises(ValueError, match="sets: 3 give 2 to learn from and 1 to test"):
        divided(3, 0, PROTOCOL)


def test_a_regression_learns_from_its_sets_alone(made):
    """What it is tested on can be anything, and its own error falls with the evaluator's."""
    found, _ = made
    division = np.arange(15), np.arange(15, 20)
    place = tau_of(found["meta"], "ude_wasserstein", division[0])
    arguments = "ude_wasserstein", "auroc", place, division, 0.9
    one = regressed(found["meta"], found["test"], *arguments)
    assert one.pearson > 0.7 and one.spearman > 0.7
    assert np.array_equal(one.truths, found["test"].truths["auroc"][15:])
    assert (one.lower <= one.predicted).all() and (one.predicted <= one.upper + 1).all()
    spoilt = replace(found["meta"], truths=dict(found["meta"].truths))
    spoilt.truths["auroc"] = found["meta"].truths["auroc"].copy()
    spoilt.truths["auroc"][15:] = 0
    again = regressed(spoilt, found["test"], *arguments)
    assert np.array_equal(one.predicted, again.predicted)
    own = found["meta"].gscores["ude_wasserstein"][:15]
    line = fit_regression(own, found["meta"].truths["fpr95"][:15], TAUS)
    assert TAUS[place] == pytest.approx(line.tau)


def test_a_gscore_that_is_the_same_everywhere_fails_alone(made, monkeypatch, roles):
    """The row says why, and the other evaluators have their numbers."""
    from helpers.papers.gscore import rows

    constant = np.ones((SETS, 1))
    monkeypatch.setattr(rows, "distances", lambda *_: constant[:, 0])
    own = rows.measured

    def flat(*arguments, **options):  # at every threshold
        found = own(*arguments, **options)
        one = {"ude_l2": np.zeros((SETS, len(TAUS)))} if "ude_l2" in found.gscores else {}
        return replace(found, gscores=found.gscores | one)

    monkeypatch.setattr(rows, "measured", flat)
    evaluators = ["kmeans_l2", "ude_l2", "ude_wasserstein"]
    table = evaluate("mini", "tiny", roles, NETWORKS, ["msp"], evaluators, PROTOCOL, progress=False)
    failed = table[table["metric"] == "failed"]
    assert set(failed["method"]) == {"msp/auto_evaluation", "msp/ude_l2"} and len(failed) == 4
    assert failed["notes"].str.startswith("ValueError: gscores").all()
    assert "rmse_auroc" in set(table[table["method"] == "msp/kmeans_l2"]["metric"])


def test_mixtures_of_the_variants(roles):
    """Ratios, sizes and random numbers of images; a shift changes no choice."""
    plain, mixture = {}, {}
    for variant in (Variant(), *variants(PROTOCOL)):
        found = mixed(roles, "test", variant, PROTOCOL)
        mixture[variant.name] = found["set 13"]
        plain[variant.name] = [len(part) for part in found["set 13"]]
    assert plain["primary"] == [29, 29] and plain["ratio 1:2"] == [14, 29]
    assert plain["size 20"] == [10, 10]
    assert 10 <= plain["mixed"][0] <= 50 and 10 <= plain["mixed"][1] <= 29
    for one, other in zip(mixture["primary"], mixture["shift fog/3"], strict=True):
        assert np.array_equal(one, other)


def test_what_is_wrong_is_said_before_a_network_is_trained(roles, monkeypatch):
    """Unknown evaluators, and too few sets."""
    monkeypatch.setattr(experiment, "network", lambda *_, **__: pytest.fail("trained"))
    few = replace(roles, sets={name: roles.sets[name] for name in ("set 1", "set 2")})
    for given, evaluators, message in (
        (roles, ["ude_l1"], "unknown evaluator 'ude_l1'; did you mean 'ude_l2'"),
        (few, ["ude_l2"], "sets: 2 give 2 to learn from"),
    ):
        with pytest.raises(ValueError, match=message):
            evaluate("mini", "tiny", given, NETWORKS, ["msp"], evaluators, PROTOCOL)


def test_the_order_of_the_sets_is_not_taken_from_the_cache(roles):
    """It decides which sets learn and which test: other numbers, whatever was made before."""
    arguments = NETWORKS, ["msp"], ["kmeans_l2"], PROTOCOL
    names = list(roles.sets)[::-1]
    turned = replace(roles, sets={name: roles.sets[name] for name in names})
    evaluate("mini", "tiny", roles, *arguments, progress=False)
    table = evaluate("mini", "tiny", turned, *arguments, progress=False)
    sets = table.query("method == 'msp' and metric == 'auroc' and variant == 'meta'")["test_set"]
    assert sets.tolist() == names


def test_parts_are_networks_and_other_id_sets():
    """The other ID sets are evaluated with the first network."""
    section = {
        "data_set": "cifar10", "other_data_sets": ["cifar100"], "networks": {"a": {}, "b": {}},
    }  # fmt: skip
    assert parts(section) == ["cifar10/a", "cifar10/b", "cifar100/a"]
