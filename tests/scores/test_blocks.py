"""What the scores share: products, blocks of images, checks."""

import numpy as np
import pytest

import helpers.scores
from helpers.outputs import Head, Outputs
from helpers.scores.base import BlockwiseScore, class_means, parts, rowwise_product

BLOCKWISE = [
    name
    for name in helpers.scores.names()
    if isinstance(helpers.scores.create(name), BlockwiseScore)
]


def needing(what):
    return [name for name in BLOCKWISE if what in helpers.scores.create(name).info.needs]


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
    """Of 5,000 images, of which only even ones are taken; class 2 has none."""
    generator = np.random.default_rng(0)
    labels = generator.integers(0, 2, 5000) * 3
    outputs = Outputs(np.zeros((5000, 4)), generator.normal(size=(5000, 3)), labels)

    def even(part):
        return part.features[::2], part.labels[::2]

    means, counts = class_means(outputs, even)
    for k in (0, 3):
        expected = outputs.features[::2][labels[::2] == k].mean(axis=0, dtype=float)
        np.testing.assert_allclose(means[k], expected, rtol=1e-12)
    assert counts.tolist() == np.bincount(labels[::2], minlength=4).tolist()
    assert (means[1:3] == 0).all()
    assert [len(part) for part in parts(outputs)] == [2048, 2048, 904]


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
    """The class is named; SHE leaves it out."""
    train, head = problem(300)
    score = helpers.scores.create(name)
    unknown = Outputs(train.logits, train.features, np.where(train.labels == 7, -1, train.labels))
    with pytest.raises(ValueError, match="train_outputs: a label for each image expected"):
        score.fit(unknown, head)
    if name == "she":
        assert np.isfinite(
            score.fit(train.subset(train.labels != 7), head).score_samples(train)
        ).all()
        return
    with pytest.raises(ValueError, match=r"train_outputs: at least one .* none of class 7; add"):
        score.fit(train.subset(train.labels != 7), head)


@pytest.mark.parametrize(
    ("name", "argument", "value"),
    [
        ("react", "percentile", 100),
        ("dice", "percentile", -1),
        ("ash", "percentile", 100.0),
        ("scale", "percentile", float("nan")),
        ("gen", "gamma", 0),
        ("gen", "top", 0),
        ("knn", "k", 1.5),
        ("knn", "bank", 0),
        ("nnguide", "k", 0),
        ("nnguide", "bank", 0),
        ("vim", "dim", 0),
        ("nci", "alpha", -0.1),
        ("nci", "alpha", float("nan")),
        ("relation", "power", 0),
        ("relation", "bank", 0),
        ("gmm", "ridge", 0),
        ("tta", "copies", 0),
    ],
)
def test_arguments_out_of_range_are_refused(name, argument, value):
    """With the argument and what was got."""
    with pytest.raises(ValueError, match=f"{argument}: .* expected, got {value}"):
        helpers.scores.create(name, **{argument: value})


@pytest.mark.parametrize(("low", "high"), [(-1, 90), (90, 90), (95, 60), (60, 101)])
def test_percentiles_out_of_order_are_refused(low, high):
    with pytest.raises(ValueError, match=f"low < high .* got {low} and {high}"):
        helpers.scores.create("vra", low=low, high=high)
