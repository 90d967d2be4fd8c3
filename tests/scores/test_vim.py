import numpy as np
import pytest

import helpers.scores
from helpers.outputs import Head, Outputs


def problem(n=400, width=9, classes=4, rank=9, seed=0):
    generator = np.random.default_rng(seed)
    head = Head(generator.normal(size=(classes, width)), generator.normal(size=classes))
    directions = np.random.default_rng(9).normal(size=(rank, width))
    features = generator.normal(size=(n, rank)) * np.arange(1, rank + 1) @ directions
    return Outputs(features @ head.weight.T + head.bias, features, np.full(n, -1)), head


def test_by_hand():
    """Training features (±2, ±1), W = I, b = 0: the residual is |y|, and alpha 1/2 over 1."""
    head = Head(np.eye(2), np.zeros(2))
    features = np.array([[2, 1], [-2, 1], [2, -1], [-2, -1]])
    train = Outputs(features, features, np.full(4, -1))
    score = helpers.scores.create("vim", dim=1).fit(train, head)
    assert score.alpha == pytest.approx((2 + 1 + 2 - 1) / 4)
    test = np.array([[0, 3], [5, 0]])
    expected = np.log(np.exp(test).sum(axis=1)) - [3, 0]
    assert score.score_samples(Outputs(test, test, [-1, -1])) == pytest.approx(expected)


@pytest.mark.parametrize("dim", [1, 4, 8])
def test_against_the_definition_with_dense_projections(dim):
    """The part outside the first directions is what is left after they are projected out."""
    train, head = problem()
    test = Outputs(train.logits[:20] + 1, train.features[:20] * 2 - 1, np.full(20, -1))
    origin = -np.linalg.pinv(head.weight) @ head.bias

    def residuals(outputs):
        shifted = outputs.features - origin
        return np.linalg.norm(shifted - shifted @ principal @ principal.T, axis=1)

    second = (train.features - origin).T @ (train.features - origin)  # about o, not the mean
    values, vectors = np.linalg.eigh(second)
    principal = vectors[:, np.argsort(values)[::-1][:dim]]
    alpha = train.logits.max(axis=1).mean() / residuals(train).mean()
    expected = np.log(np.exp(test.logits.astype(float)).sum(axis=1)) - alpha * residuals(test)
    found = helpers.scores.create("vim", dim=dim).fit(train, head).score_samples(test)
    assert found == pytest.approx(expected, rel=1e-4)


def test_bad_dimensions_are_refused():
    """As many as there are features, or as many as the training features vary in."""
    with pytest.raises(ValueError, match=r"dim: below 9 \(the features\) expected, got 9"):
        helpers.scores.create("vim", dim=9).fit(*problem())
    head = Head(np.eye(3), np.zeros(3))
    flat = np.random.default_rng(0).normal(size=(50, 3)) * [1, 1, 0]
    with pytest.raises(ValueError, match="do not leave a subspace of 2 dimensions"):
        helpers.scores.create("vim", dim=2).fit(Outputs(flat, flat, np.full(50, -1)), head)
