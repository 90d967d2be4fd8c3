"""Scores that compare with training images: knn, nnguide, relation."""

import numpy as np
import pytest

import helpers.scores
import helpers.scores.neighbours
from helpers.outputs import Outputs
from helpers.scores.neighbours import Bank, draw


def outputs(features, logits=None):
    features = np.asarray(features, float)
    logits = np.zeros((len(features), 2)) if logits is None else logits
    return Outputs(logits, features, np.full(len(features), -1))


def random_outputs(n, seed):
    generator = np.random.default_rng(seed)
    return outputs(generator.normal(size=(n, 5)), generator.normal(size=(n, 3)))


def unit(features):
    return features / np.linalg.norm(features.astype(float), axis=1, keepdims=True)


def test_knn_by_hand():
    """Directions at right angles are √2 apart, opposite ones 2."""
    train = outputs([[2, 0], [0, 5], [-1, 0]])
    test = outputs([[7, 0]])
    found = [
        helpers.scores.create("knn", k=k).fit(train, None).score_samples(test) for k in (1, 2, 3)
    ]
    assert np.ravel(found) == pytest.approx([0, -np.sqrt(2), -2], abs=1e-7)


def test_knn_with_images_without_features():
    """A row of zeros is at distance 1 from all others, and 0 from another one."""
    score = helpers.scores.create("knn", k=1)
    zero, other = outputs([[0, 0]]), outputs([[3, 4]])
    assert score.fit(other, None).score_samples(zero).tolist() == [-1]
    assert score.fit(zero, None).score_samples(other).tolist() == [-1]
    assert score.fit(zero, None).score_samples(zero).tolist() == [0]


@pytest.mark.parametrize("k", [1, 7, 50, 123])
def test_knn_is_the_kth_distance_whatever_the_blocks(k, monkeypatch):
    """Against all distances, sorted; the bank in blocks of 50, of which the last one is short."""
    monkeypatch.setattr(helpers.scores.neighbours, "_ROWS", 50)
    train, test = random_outputs(123, 0), random_outputs(20, 1)
    distances = np.linalg.norm(unit(test.features)[:, None] - unit(train.features), axis=2)
    found = helpers.scores.create("knn", k=k).fit(train, None).score_samples(test)
    assert found == pytest.approx(-np.sort(distances, axis=1)[:, k - 1])


@pytest.mark.parametrize(
    ("name", "arguments"), [("knn", {}), ("knn", {"bank": 7}), ("nnguide", {"bank": 7})]
)
def test_more_neighbours_than_images_are_refused(name, arguments):
    """Than there are, or than the bank holds."""
    images = arguments.get("bank", 9)
    with pytest.raises(ValueError, match=rf"k: at most {images} \(the .*\) expected, got 10"):
        helpers.scores.create(name, k=10, **arguments).fit(random_outputs(9, 0), None)


@pytest.mark.parametrize("k", [1, 5, 90, 300])
def test_the_bank_is_exact_where_single_precision_is_not(k):
    """Products that differ by less than it can tell, many of them equal, against all of them."""
    generator = np.random.default_rng(0)
    rows = 1 + 1e-7 * generator.integers(0, 50, size=(300, 20)).astype(np.float64)
    queries = generator.normal(size=(7, 20))
    bank = Bank(rows, np.ones(300), np.zeros(300), np.linalg.norm(rows, axis=1).max())
    expected = np.sort(queries @ rows.T, axis=1)[:, -k:]
    np.testing.assert_allclose(bank.largest(queries, k), expected, rtol=1e-12, atol=1e-13)
    found = bank.kth_largest(queries, k)
    np.testing.assert_allclose(found, expected[:, 0], rtol=1e-12, atol=1e-13)


HALF = np.log([0.5, 0.5])


@pytest.mark.parametrize(("power", "expected"), [(1, 0.3 + 0.8 * 0.5), (2, 0.09 + 0.16)])
def test_relation_by_hand(power, expected):
    """Cosines 0.6, 0.8, −0.6 and 0.05 at agreements of 1/2: the last relation, 0.025, is none."""
    along, across = np.array([0.6, 0.8]), np.array([0.8, -0.6])
    faint = 0.05 * along + np.sqrt(1 - 0.05**2) * across
    train = outputs([[2, 0], [0, 5], [-1, 0], faint], np.tile(HALF, (4, 1)))
    score = helpers.scores.create("relation", power=power).fit(train, None)
    assert score.score_samples(outputs([[3, 4]], HALF[None])) == pytest.approx([expected])


def test_relation_against_the_formula_whatever_the_blocks(monkeypatch):
    """Against all relations at once; the training images in blocks of 50, the last one short."""
    monkeypatch.setattr(helpers.scores.neighbours, "_ROWS", 50)
    train, test = random_outputs(123, 0), random_outputs(20, 1)
    relations = np.maximum(unit(test.features) @ unit(train.features).T, 0)
    relations *= test.probabilities @ train.probabilities.T
    assert (relations > 0.03).any() and ((0 < relations) & (relations < 0.03)).any()
    for power in (1, 4):
        found = helpers.scores.create("relation", power=power).fit(train, None)
        expected = np.where(relations > 0.03, relations, 0) ** power
        assert found.score_samples(test) == pytest.approx(expected.sum(axis=1))


def test_knn_with_a_bank_is_knn_of_the_drawn_images():
    """The same images that NNGuide draws."""
    train, test = random_outputs(60, 0), random_outputs(20, 1)
    found = helpers.scores.create("knn", k=3, bank=25).fit(train, None).score_samples(test)
    alone = helpers.scores.create("knn", k=3).fit(draw(train, 25), None)
    assert (found == alone.score_samples(test)).all()
    every = helpers.scores.create("knn", k=3).fit(train, None)
    assert (every.score_samples(test) > found).any()
