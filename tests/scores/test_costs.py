"""What fits and scores cost, counted: passes over the outputs, factorisations, products."""

from collections import Counter

import numpy as np
import pytest

import helpers.scores
from helpers.outputs import Outputs
from helpers.scores.gaussians import moments

# How often each fit reads its training outputs; OpenMax and the mixture have ways of their own.
PASSES = {
    "dice": 1, "fdbd": 1, "kl_matching": 1, "knn": 2, "mahalanobis": 2, "mahalanobis_pp": 2,
    "nci": 1, "nnguide": 2, "react": 2, "relation": 1, "rmds": 2, "rmds_pp": 2, "she": 1, "vim": 3,
    "vra": 4,
}  # fmt: skip
FACTORISATIONS = ("cholesky", "eig", "eigh", "inv", "lstsq", "pinv", "solve", "svd")
# Products with the features for each block of images.


@pytest.fixture
def rows_read(monkeypatch):
    """Count the rows that are taken out of the outputs; empty at first."""
    counts, subset = Counter(), Outputs.subset

    def counted(outputs, indices):
        part = subset(outputs, indices)
        counts["rows"] += len(part)
        return part

    monkeypatch.setattr(Outputs, "subset", counted)
    return counts


@pytest.fixture
def factorised(monkeypatch):
    """Count the factorisations by NumPy's name."""
    counts = Counter()

    def counted(name, factorise):
        def wrapped(*arguments, **more):
            counts[name] += 1
            return factorise(*arguments, **more)

        return wrapped

    for name in FACTORISATIONS:
        monkeypatch.setattr(np.linalg, name, counted(name, getattr(np.linalg, name)))
    return counts


@pytest.mark.parametrize("name", PASSES)
@pytest.mark.parametrize("n", [300, 6000])
def test_a_fit_reads_the_training_outputs_as_often_as_it_must(name, n, rows_read, problem):
    """However many there are: it is linear in them."""
    train, head = problem(n)
    helpers.scores.create(name).fit(train, head)
    assert rows_read["rows"] == PASSES[name] * n


def test_the_moments_are_taken_once_for_all_scores(rows_read, factorised, problem):
    """ViM alone has something of its own to read, and the covariance is factorised once."""
    train, head = problem()
    helpers.scores.create("mahalanobis").fit(train, head)
    rows_read.clear()
    assert factorised == {"eigh": 1}
    helpers.scores.create("rmds").fit(train, head)
    assert not rows_read and factorised == {"eigh": 2}
    helpers.scores.create("vim").fit(train, head)
    assert rows_read["rows"] == len(train)
    # normalised features have moments of their own, for both scores of them
    rows_read.clear()
    for name in ("mahalanobis_pp", "rmds_pp"):
        helpers.scores.create(name).fit(train, head)
    assert rows_read["rows"] == 2 * len(train)
    factorised.clear()
    # other outputs are others, though their arrays are the same
    helpers.scores.create("mahalanobis").fit(train.subset(slice(None)), head)
    assert factorised == {"eigh": 1}


@pytest.mark.parametrize("classes", [3, 12])
@pytest.mark.parametrize(
    ("name", "expected"),
    [("mahalanobis", {"eigh": 1}), ("rmds", {"eigh": 2}), ("vim", {"eigh": 1, "lstsq": 1})],
)
def test_factorisations_are_as_many_whatever_the_classes(
    name, expected, classes, factorised, problem
):
    """One for each covariance."""
    helpers.scores.create(name).fit(*problem(classes=classes))
    assert factorised == expected


def test_moments_against_their_definition():
    """Over several blocks, with images without label, about any point."""
    generator = np.random.default_rng(0)
    features = generator.normal(size=(5000, 4)).astype(np.float32) + 100
    labels = generator.integers(-1, 3, 5000)
    found = moments(Outputs(np.zeros((5000, 3)), features, labels))
    exact = features.astype(float)
    assert found.counts.tolist() == np.roll(np.bincount(labels + 1), -1).tolist()
    np.testing.assert_allclose(found.mean, exact.mean(axis=0), rtol=1e-12)
    point = np.array([1.0, 2.0, 3.0, 4.0])
    np.testing.assert_allclose(found.about(point), (exact - point).T @ (exact - point), rtol=1e-12)
    centred = exact - found.means[labels]
    np.testing.assert_allclose(found.within, centred.T @ centred, rtol=1e-9)
