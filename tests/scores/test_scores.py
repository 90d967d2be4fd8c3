"""Contracts of all scores, the registry, and what scores share."""

from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest

import helpers.scores
from helpers.outputs import Head, Outputs
from helpers.scores import base
from helpers.scores.base import BlockwiseScore, class_means, parts, rowwise_product
from helpers.scores.info import LACKING, NEEDS, lacking
from known_unknowns.checks import parametrize_with_checks

SCORES = [helpers.scores.create(name) for name in helpers.scores.names()]
for score in SCORES:
    if score.info.name == "nnguide":
        score.bank = 1000  # the bank is kept in memory, up to its own size


@parametrize_with_checks(SCORES)
def test_what_must_hold_of_every_score(check):
    """Every check of `known_unknowns.checks` that applies to the score."""
    check()


@pytest.mark.parametrize("name", helpers.scores.names())
def test_records_and_arguments_of_each_score(name):
    info = helpers.scores.create(name).info
    assert info.name == name and info.key.endswith(str(info.year))
    for chosen in info.published.values():
        assert chosen and helpers.scores.create(name, **chosen)
    with pytest.raises(ValueError, match=f"score '{name}'"):
        helpers.scores.create(name, wrong=1)


def test_names_are_found_and_registered_once(monkeypatch):
    with pytest.raises(ValueError, match="unknown score 'openmx'; did you mean 'openmax'"):
        helpers.scores.create("openmx")
    monkeypatch.setattr(base, "_REGISTRY", dict(base._REGISTRY))
    with pytest.raises(ValueError, match="'msp' is registered already"):
        base.register(type(helpers.scores.create("msp")))


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize(("width", "columns"), [(8, 17), (33, 201), (512, 300), (64, 1)])
def test_a_row_of_a_product_is_the_same_wherever_it_is(kind, width, columns):
    """For the same row 500 times: twice as many as a block has, less a few."""
    generator = np.random.default_rng(0)
    row = generator.normal(size=(1, width)).astype(kind)
    matrix = generator.normal(size=(columns, width)).astype(kind).T
    found = rowwise_product(np.repeat(row, 500, axis=0), matrix)
    assert (found == rowwise_product(row, matrix)).all()
    np.testing.assert_allclose(found[:1], row.astype(float) @ matrix, rtol=1e-9, atol=1e-12)


def test_means_of_classes_over_several_blocks():
    """Of the even ones of 5,000 images; class 2 has none."""
    generator = np.random.default_rng(0)
    labels = generator.integers(0, 2, 5000) * 3
    outputs = Outputs(np.zeros((5000, 4)), generator.normal(size=(5000, 3)), labels)
    means, counts = class_means(outputs, lambda part: (part.features[::2], part.labels[::2]))
    for k in (0, 3):
        expected = outputs.features[::2][labels[::2] == k].mean(axis=0, dtype=float)
        np.testing.assert_allclose(means[k], expected, rtol=1e-12)
    assert counts.tolist() == np.bincount(labels[::2], minlength=4).tolist()
    assert (means[1:3] == 0).all()
    assert [len(part) for part in parts(outputs)] == [2048, 2048, 904]


def needing(need):
    """Return the names of blockwise scores that need something."""
    scores = (score for score in SCORES if isinstance(score, BlockwiseScore))
    return [score.info.name for score in scores if need in score.info.needs]


@pytest.mark.parametrize("name", needing("head"))
def test_a_head_that_does_not_fit_is_refused(name, problem):
    """None, a bias too long, a weight too narrow for the features."""
    train, head = problem(300)
    score = helpers.scores.create(name)
    with pytest.raises(ValueError, match="head: the last linear layer of the model expected"):
        score.fit(train, None)
    with pytest.raises(ValueError, match=r"head: weight of shape \(20, 40\).* got .*\(21,\)"):
        score.fit(train, Head(head.weight, np.zeros(21, np.float32)))
    if name in needing("training outputs"):
        with pytest.raises(ValueError, match=r"head: weight .* expected, got \(20, 39\)"):
            score.fit(train, Head(head.weight[:, :39], head.bias))


@pytest.mark.parametrize("name", needing("labels"))
def test_training_images_without_label_or_class_are_refused(name, problem):
    """SHE leaves the class out."""
    train, head = problem(300)
    score = helpers.scores.create(name)
    unknown = Outputs(train.logits, train.features, np.where(train.labels == 7, -1, train.labels))
    with pytest.raises(ValueError, match="train_outputs: a label for each image expected"):
        score.fit(unknown, head)
    without = train.subset(train.labels != 7)
    if name == "she":
        assert np.isfinite(score.fit(without, head).score_samples(train)).all()
        return
    with pytest.raises(ValueError, match=r"train_outputs: at least one .* none of class 7; add"):
        score.fit(without, head)


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        *[(name, {argument: value}, f"{argument}: .* expected, got {value}")
          for name, argument, value in [
            ("react", "percentile", 100), ("dice", "percentile", -1), ("ash", "percentile", 100.0),
            ("scale", "percentile", float("nan")), ("gen", "gamma", 0), ("gen", "top", 0),
            ("knn", "k", 1.5), ("knn", "bank", 0), ("nnguide", "k", 0), ("nnguide", "bank", 0),
            ("vim", "dim", 0), ("nci", "alpha", -0.1), ("nci", "alpha", float("nan")),
            ("relation", "power", 0), ("relation", "bank", 0), ("gmm", "ridge", 0),
            ("tta", "copies", 0), ("odin", "epsilon", -0.1), ("odin", "temperature", 0)]],
        *[("vra", {"low": low, "high": high}, f"low < high .* got {low} and {high}")
          for low, high in [(-1, 90), (90, 90), (95, 60), (60, 101)]],
    ],
)  # fmt: skip
def test_arguments_out_of_range_are_refused(name, arguments, message):
    with pytest.raises(ValueError, match=message):
        helpers.scores.create(name, **arguments)


PASSES = {
    "dice": 1, "fdbd": 1, "kl_matching": 1, "knn": 2, "mahalanobis": 2, "mahalanobis_pp": 2,
    "nci": 1, "nnguide": 2, "react": 2, "relation": 1, "rmds": 2, "rmds_pp": 2, "she": 1, "vim": 3,
    "vra": 4,
}  # fmt: skip


@pytest.fixture
def costs(monkeypatch):
    """Count the rows that are read from outputs, and the eigenvalue problems."""
    counts, subset, eigh = Counter(), Outputs.subset, np.linalg.eigh

    def counted(outputs, indices):
        counts["rows"] += len(part := subset(outputs, indices))
        return part

    monkeypatch.setattr(Outputs, "subset", counted)
    monkeypatch.setattr(np.linalg, "eigh", lambda matrix: counts.update(["eigh"]) or eigh(matrix))
    return counts


@pytest.mark.parametrize("name", PASSES)
@pytest.mark.parametrize("n", [300, 6000])
def test_a_fit_is_linear_in_the_training_images(name, n, costs, problem):
    helpers.scores.create(name).fit(*problem(n))
    assert costs["rows"] == PASSES[name] * n


def test_moments_and_gaussians_are_computed_once_for_all_scores(costs, problem):
    train, head = problem()
    for name, rows, eigh in (
        ("mahalanobis", 2, 1), ("rmds", 0, 1), ("vim", 1, 1), ("mahalanobis_pp", 2, 1),
        ("rmds_pp", 0, 1), ("mahalanobis", 0, 0),
    ):  # fmt: skip
        costs.clear()
        helpers.scores.create(name).fit(train, head)
        assert (costs["rows"], costs["eigh"]) == (rows * len(train), eigh), name


HEAD = Head(np.eye(3), np.zeros(3))
MEMBERS = np.full((2, 4, 3), 1 / 3)
KINDS = {  # networks, passes, head, members; and what is lacking
    "one network": ((1, 0, HEAD, None), {"members", "native"}),
    "several heads": ((1, 0, None, MEMBERS), {"native", "head", "level of the logits"}),
    "passes": ((1, 2, HEAD, MEMBERS), {"native", "images"}),
    "an ensemble": (
        (2, 0, None, MEMBERS),
        {"native", "head", "level of the logits", "one network"},
    ),
    # the mean over networks of means over passes has lost the level as well
    "an ensemble with passes": (
        (2, 2, None, MEMBERS),
        {"native", "head", "level of the logits", "one network", "images"},
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_kind_of_model_lacks(kind):
    (networks, passes, head, members), expected = KINDS[kind]
    model = SimpleNamespace(networks=(None,) * networks, passes=passes, head=head)
    outputs = Outputs(np.zeros((4, 3)), np.zeros((4, 3)), np.zeros(4, int), members)
    assert set(lacking(NEEDS, model, outputs)) == expected <= LACKING.keys()
