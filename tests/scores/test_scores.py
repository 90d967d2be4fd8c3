"""What every registered score must keep to; a new score is tested here by being registered."""

import inspect
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import helpers.scores
from helpers.scores import base

FROM_OUTPUTS = [
    name for name in helpers.scores.names() if helpers.scores.create(name).info.needs != ("images",)
]


@pytest.mark.parametrize("name", FROM_OUTPUTS)
def test_a_batch_is_its_images_one_by_one_in_any_order(name, problem):
    """To the last bit, of 600 images, which are three blocks, the last one filled up."""
    score = helpers.scores.create(name).fit(*problem())
    test = problem(600, seed=3, score=name)[0]
    batch = score.score_samples(test)
    assert batch.dtype == np.float64 and batch.shape == (600,)
    assert np.isfinite(batch).all() and len(set(batch)) > 1
    singles = [score.score_samples(test.subset([i])) for i in range(60)]
    assert (batch[:60] == np.concatenate(singles)).all()
    order = np.random.default_rng(4).permutation(600)
    assert (score.score_samples(test.subset(order)) == batch[order]).all()


@pytest.mark.parametrize("name", FROM_OUTPUTS)
def test_the_level_of_the_logits_matters_where_the_score_says_so(name, problem):
    """A number is added to all logits of each image, which changes no probability."""
    first, second = (helpers.scores.create(name) for _ in range(2))
    (train, head), (test, _) = problem(), problem(60, seed=3, score=name)
    added = np.random.default_rng(3).normal(scale=3, size=(300, 1)).astype(np.float32)
    shifted = [replace(one, logits=one.logits + added[: len(one)]) for one in (train, test)]
    before = first.fit(train, head).score_samples(test)
    after = second.fit(shifted[0], head).score_samples(shifted[1])
    same = np.allclose(before, after, rtol=1e-4, atol=1e-5)
    assert same != ("level of the logits" in first.info.needs)


@pytest.mark.parametrize("name", helpers.scores.names())
class TestEach:
    def test_fit_returns_the_score_itself(self, name, problem):
        score = helpers.scores.create(name)
        assert score.fit(*problem()) is score

    def test_it_lives_in_a_file_of_its_own(self, name):
        module = inspect.getmodule(type(helpers.scores.create(name)))
        assert Path(module.__file__).stem == name

    def test_info_is_complete(self, name):
        score = helpers.scores.create(name)
        assert score.info.name == name
        for text in ("title", "paper", "authors", "key", "equation", "summary", "sign"):
            assert getattr(score.info, text)
        assert score.info.key.endswith(str(score.info.year))
        assert list(score.info.hyper_parameters) == list(inspect.signature(type(score)).parameters)

    def test_unknown_arguments_are_refused(self, name):
        with pytest.raises(ValueError, match=f"score '{name}'"):
            helpers.scores.create(name, wrong=1)


def test_openmax_is_what_is_not_unknown(problem):
    score = helpers.scores.create("openmax", tail=5, alpha=2).fit(*problem())
    test = problem(60, seed=3)[0]
    assert (score.openmax.tail, score.openmax.alpha) == (5, 2)
    expected = score.openmax.probabilities(test.logits)[:, :-1].sum(axis=1)
    assert score.score_samples(test) == pytest.approx(expected)


def test_an_unknown_name_is_refused_with_the_nearest():
    with pytest.raises(ValueError, match="unknown score 'openmx'; did you mean 'openmax'"):
        helpers.scores.create("openmx")


def test_a_name_is_registered_once(monkeypatch):
    monkeypatch.setattr(base, "_REGISTRY", dict(base._REGISTRY))
    taken = type(helpers.scores.create("msp"))
    with pytest.raises(ValueError, match="'msp' is registered already"):
        base.register(taken)
