"""The stages of the human-centric chapter, from networks to rows."""

from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from helpers import metrics, scores
from helpers.outputs import Head, Outputs
from helpers.papers import run
from helpers.papers.human_centric import experiment
from helpers.papers.human_centric.experiment import RoleOutputs, apply_fresh_threshold, apply_score
from helpers.papers.human_centric.roles import OwnClasses, ShiftRoles, outputs_with
from tests.papers import toys

TINY = toys.tiny("experiment", "human_centric")


@pytest.fixture(scope="module")
def roles():
    other = toys.images(20, 3, "other", classes=("x", "y", "z"))
    more = toys.images(10, 4, "more", classes=("u",))
    shifted = {"darker": toys.images(30, 2)}, {"other": other, "more": more}
    return ShiftRoles(toys.images(60), toys.images(40, 1), *shifted)


def outputs_of(roles, parameters=TINY):
    """Return the outputs of the first model on the images of each role."""
    part = run.parts(parameters)[0]
    model = experiment.models(parameters, part, roles)
    return experiment.outputs(parameters, part, roles, model)


@pytest.fixture
def seen():
    """Outputs of a model with two classes, in which the score is the first logit's lead."""
    generator = np.random.default_rng(0)

    def some(count, known=True):
        logits = generator.normal(size=(count, 2)).astype(np.float32) * 2
        labels = generator.integers(0, 2, count) if known else np.full(count, -1)
        return Outputs(logits, logits.copy(), labels)

    head = Head(np.eye(2, dtype=np.float32), np.zeros(2, np.float32))
    sizes = {"test": 200, "in": 50, "out": 30}
    sources = {name: (name, size, np.arange(size)) for name, size in sizes.items()}
    train = some(200)
    test = some(200)
    shifted = {"in": some(50)}, {"out": some(30, False)}
    return RoleOutputs(head, 4, train, test, *shifted, sources, near=("out",))


def rows_of(outputs, method, parameters=TINY, *, variant="primary"):
    """Return the rows of one score, by test set and metric."""
    parameters = parameters.replace(methods=[method])
    part = run.parts(parameters)[0]
    draw = run.draws(parameters)
    rows = experiment.rows(parameters, part, outputs, draw)
    rows = pd.DataFrame(rows).query("variant == @variant and method != 'network'")
    return rows.set_index(["test_set", "metric"])


def test_thresholds_are_percentiles_of_correct_training_images(seen):
    """The largest that keep 95 and 99 per cent of them: the fifth and first percentiles."""
    thresholds = apply_score(seen, "max_logit", TINY).thresholds
    right = seen.train.logits.max(axis=1)[seen.train.correct]
    for metric, keep in (("der95", 0.95), ("der99", 0.99)):
        assert (right >= thresholds[metric]).mean() >= keep > (right > thresholds[metric]).mean()


def test_rows_of_a_score_by_hand(seen):
    rows = rows_of(seen, "max_logit")
    assert ("out", "der95_accepted") not in rows.index  # it is DER itself
    threshold = apply_score(seen, "max_logit", TINY).thresholds["der95"]
    rates = []
    for name, outputs in seen.sets.items():
        accepted = outputs.logits.max(axis=1) >= threshold
        wrong = (accepted & ~outputs.correct) | (~accepted & outputs.correct)
        assert rows.loc[(name, "der95"), "value"] == wrong.mean()
        if name != "out":
            mistakes = (accepted & ~outputs.correct).mean()
            assert rows.loc[(name, "der95_accepted"), "value"] == mistakes > 0
        rates.append(wrong.mean())
    # of a label-shifted set, the share that is accepted
    assert rows.loc[("out", "der95"), "value"] == accepted.mean()
    assert rows.loc[("average", "der95"), "value"] == pytest.approx(np.mean(rates))
    assert rows.loc[("input-shifted", "der95"), "value"] == rates[1]
    assert rows.loc[("near", "der95"), "value"] == rates[2]
    known, unknown = (seen.sets[name].logits.max(axis=1) for name in ("test", "out"))
    right = seen.test.correct
    assert rows.loc[("out", "auroc"), "value"] == metrics.auroc(known, unknown)
    assert rows.loc[("out", "auroc_correct"), "value"] == metrics.auroc(known[right], unknown)
    expected = metrics.fpr_at_tpr(known[right], unknown)
    assert rows.loc[("label-shifted", "fpr_at_tpr_correct"), "value"] == expected
    drawn = rows[rows["bootstrap"].map(len) > 0]
    rankings = ("auroc", "fpr_at_tpr", "auroc_correct", "fpr_at_tpr_correct")
    assert set(drawn.index) == {
        *(("average", metric) for metric in ("der95", "der99")),
        *(("label-shifted", metric) for metric in rankings),
    }
    assert set(drawn["bootstrap"].map(len)) == {20}
    assert (drawn["bootstrap"].map(np.mean) - drawn["value"]).abs().max() < 0.1


def test_scores_on_several_threads_have_the_same_rows_in_the_same_order(seen):
    parameters = TINY.replace(methods=["msp", "mahalanobis", "knn", "vim", "energy", "gradnorm"])
    part = run.parts(parameters)[0]
    tables = []
    for threads in (1, 4):
        given = parameters.replace(threads=threads)
        assert given.recipe().threads == threads
        rows = experiment.rows(given, part, seen, run.draws(given))
        tables.append(pd.DataFrame(rows))
    pd.testing.assert_frame_equal(*tables)


def test_single_sets_have_intervals_if_a_build_is_compared_with_committed_rows(seen):
    compared = TINY.replace(finished="pretrained")
    rows = rows_of(seen, "max_logit", compared)
    for name, metric in product(("test", "in", "out"), ("der95", "der99")):
        assert len(rows["bootstrap"][name, metric]) == 20, (name, metric)
    for metric in ("auroc", "fpr_at_tpr_correct"):
        assert len(rows["bootstrap"]["out", metric]) == 20, metric
    of_sets = [rows["bootstrap"][name, "der99"] for name in ("test", "in", "out")]
    expected = np.mean(of_sets, axis=0)
    assert rows["bootstrap"]["average", "der99"] == pytest.approx(expected, rel=1e-5)
    assert rows["value"].equals(rows_of(seen, "max_logit")["value"])
    assert compared.decisive() != TINY.decisive()


def test_a_fresh_threshold_uses_separate_test_images(seen):
    """Nor are their corrupted versions; all other images are."""
    versions = np.arange(100) % 50  # of the first 50 test images, twice
    corrupted = seen.test.subset(versions)
    seen = replace(
        seen,
        input_shifted={"in": seen.input_shifted["in"], "corrupted": corrupted},
        sources=seen.sources | {"corrupted": ("test", 200, versions)},
    )
    values = apply_score(seen, "max_logit", TINY)
    fresh, judged = apply_fresh_threshold(seen, values, TINY)
    reference = np.setdiff1d(np.arange(200), judged["test"])
    assert len(reference) == len(judged["test"]) == 100
    right = np.sort(values.sets["test"][reference][seen.test.correct[reference]])
    assert fresh.thresholds["der99"] == right[int(len(right) * 0.01)]
    kept = judged["corrupted"]
    assert set(versions[kept]) == {*range(50)} - {*reference}
    assert len(judged["in"]) == 50
    assert len(judged["out"]) == 30
    rows = rows_of(seen, "max_logit", variant="fresh threshold")
    wrong = (values.sets["corrupted"] >= fresh.thresholds["der99"]) != corrupted.correct
    row = rows.loc[("corrupted", "der99"), ["value", "images"]].tolist()
    assert row == [wrong[kept].mean(), len(kept)]
    assert len(rows.loc[("average", "der99"), "bootstrap"]) == 20
    assert not rows.index.isin([("out", "auroc")]).any()


def test_a_failure_is_a_row_and_the_other_parts_continue(roles):
    """A model without weights, and a score without training images of a class."""
    few = replace(roles, train=roles.train.subset(roles.train.labels < 2))
    names = ["tf_efficientnet_lite3", "resnet8"]
    methods = ["msp", "mahalanobis"]
    table = toys.rows(experiment, few, TINY.replace(names=names, methods=methods))
    failed = table[table["metric"] == "failed"].groupby(["backbone", "method"])["notes"].agg(list)
    assert set(failed.index) == {(names[0], "network"), (names[1], "mahalanobis")}
    (notes,) = failed[names[0], "network"]
    assert "FileNotFoundError: weights of 'tf_efficientnet_lite3'" in notes
    assert len(failed[names[1], "mahalanobis"]) == 2  # in both variants
    for notes in failed[names[1], "mahalanobis"]:
        assert "at least one image of each class expected, got none of class 2" in notes


def test_an_image_is_drawn_together_with_its_corrupted_versions(roles):
    """So that the mean over the same images, all shown twice, has the same replicates."""
    twice = roles.test.subset(np.arange(80) // 2)
    versions = {"corrupted": np.arange(80) // 2}
    given = outputs_of(ShiftRoles(roles.train, roles.test, {"corrupted": twice}, {}, versions))
    twice_drawn = rows_of(given, "msp")["bootstrap"]["average", "der95"]
    once = rows_of(outputs_of(ShiftRoles(roles.train, roles.test, {}, {}, {})), "msp")
    np.testing.assert_allclose(twice_drawn, once["bootstrap"]["average", "der95"], atol=1e-6)
    assert np.ptp(twice_drawn) > 0


def test_missing_classes_and_weights_are_refused(roles):
    """The error comes before a training."""
    other = replace(roles, input_shifted={"v2": toys.images(6, 0, "v2", classes=("0", "1"))})
    both = {"net": "test_resnet", "net+augmix": "test_resnet"}  # timm has the plain network alone
    with pytest.raises(
        ValueError, match="v2: 'resnet8' has no class with the name of a class there"
    ):
        outputs_of(other)
    with pytest.raises(
        FileNotFoundError, match=r"weights of 'net\+augmix': .* expected, found neither"
    ):
        outputs_of(roles, TINY.replace(names=["net+augmix"], pretrained=both))


NAMES = ("a", "b", "c", "d")
HEAD = Head(np.eye(4, dtype=np.float32), np.zeros(4, np.float32))


def says(images):
    """Logits by a generator that is the same for each set; half of the answers are right."""
    generator = np.random.default_rng(len(images))
    labels = np.array([NAMES.index(name) for name in images.class_names])[images.labels]
    logits = generator.normal(size=(len(images), 4)).astype(np.float32)
    logits[np.arange(len(images)), labels] += 1
    return Outputs(logits, logits, labels)


MODEL = SimpleNamespace(name="net", class_names=NAMES, outputs=says, head=HEAD, parameters=1)


def roles_with(*own_classes):
    # the renditions show three of the classes, in another order, and one that nobody knows
    renditions = toys.images(60, name="renditions", classes=("d", "b", "a"))
    images = toys.images(80, classes=NAMES)
    return ShiftRoles(images, images, {"renditions": renditions}, {}, own_classes=own_classes)


def test_an_answer_is_one_of_the_sets_own_classes():
    every, some = (outputs_with(MODEL, roles_with(*names), NAMES) for names in ((), ["renditions"]))
    images = every.input_shifted["renditions"]
    expected = np.array([0, 1, 3])[images.logits[:, [0, 1, 3]].argmax(axis=1)] == images.labels
    judged = some.input_shifted["renditions"]
    assert judged.correct.tolist() == expected.tolist()
    assert judged.correct.sum() > images.correct.sum() > 0
    assert not (images.correct & ~judged.correct).any()
    few = outputs_with(MODEL, roles_with(), NAMES[1:])  # images of other classes are left out
    assert few.test.num_classes == few.head.weight.shape[0] == 3
    assert len(few.test) == 60
    # nothing else changes: not the other sets, nor what a score reads
    assert type(some.test) is type(some.train) is Outputs
    assert (judged.predictions == images.predictions).all()
    assert 2 in judged.predictions
    assert judged.logits is images.logits or (judged.logits == images.logits).all()
    for method in ("msp", "energy", "fdbd", "vim"):
        score = scores.create(method).fit(every.train, HEAD)
        assert (score.score_samples(judged) == score.score_samples(images)).all(), method


def test_halves_for_a_fresh_threshold_are_of_images_whose_classes_the_network_knows():
    """Both halves have 30 of the 60 images; versions of the same images are evaluated."""
    images = toys.images(80, classes=NAMES)
    backwards = np.arange(80)[::-1]
    shifted = {"corrupted": images.subset(backwards)}
    roles = ShiftRoles(images, images, shifted, {}, {"corrupted": backwards})
    few = outputs_with(MODEL, roles, NAMES[1:])
    judged = apply_fresh_threshold(few, apply_score(few, "msp", TINY), TINY)[1]
    shown = {name: few.sources[name][2][indices] for name, indices in judged.items()}
    assert len(shown["test"]) == 30
    assert sorted(shown["corrupted"]) == sorted(shown["test"])


def test_members_answer_together():
    """Their mean probabilities decide, not their first logits."""
    members = np.array([[[0.3, 0.3, 0.4]], [[0.5, 0.1, 0.4]]])
    whole = Outputs(np.zeros((1, 3)), np.zeros((1, 2)), np.array([0]), members)
    assert OwnClasses.of(whole, [0, 1]).correct.tolist() == [True]
    assert OwnClasses.of(whole, [1, 2]).correct.tolist() == [False]


def test_a_network_without_a_linear_head_has_the_scores_that_do_not_need_a_head(seen):
    """The others are rows with the reason, which is no error."""
    seen = replace(seen, head=None)
    assert rows_of(seen, "max_logit")["value"]["test", "der99"] > 0
    for method in ("react", "gradnorm"):
        rows = rows_of(seen, method)
        assert rows.index.tolist() == [("test", "failed")]
        reason = f"'{method}' needs a linear layer as the last one, of one network"
        assert rows["notes"].tolist() == [reason]
