"""A recorded step does what a plain one does: on a GPU, and with a stand-in for it here."""

import contextlib
from collections import Counter

import numpy as np
import pytest
import torch

from helpers import checkpoints
from helpers.data import Images
from helpers.networks import models
from helpers.networks.recipe import Recipe
from helpers.training import objectives
from helpers.training.loop import train
from helpers.training.step import Step

RECIPE = Recipe(width=4, stem_stride=2, epochs=3, batch_size=8, learning_rate=0.05, dropout=0.2)


def images(n=40, seed=0):
    pixels = np.random.default_rng(seed).integers(0, 256, (n, 16, 16, 3), dtype=np.uint8)
    return Images(pixels, np.arange(n) % 3, ("a", "b", "c"), "noise", "train")


def trained(name, device="cpu", n=40, **changed):
    recipe = Recipe.from_parameters(RECIPE.as_dict(), objective=name, **changed)
    classifier = models.create(recipe, 3)
    history = train(
        classifier, images(n), recipe, outliers=images(seed=1),
        teacher=models.create(RECIPE, 3, seed=9), device=device, progress=False,
    )  # fmt: skip
    return checkpoints.digest(classifier.state_dict()), history


WAITS = ("item", "tolist", "numpy", "cpu", "nonzero")
WAITS += ("__bool__", "__int__", "__float__", "__index__", "__array__")


@pytest.mark.parametrize("optimiser", ["sgd", "adamw"])
@pytest.mark.parametrize("name", sorted({*objectives.names()} - {"autoaugment"}))
def test_no_step_waits_for_the_device(name, optimiser, monkeypatch):
    """What would wait for a GPU is asked for as often in twice as many steps.

    AutoAugment draws its operations outside the device, and asks for these numbers alone.
    """
    asked = []

    def counted(operation):
        function = getattr(torch.Tensor, operation)
        return lambda *a, **k: asked.append(operation) or function(*a, **k)

    for operation in WAITS:
        monkeypatch.setattr(torch.Tensor, operation, counted(operation))
    found = []
    for n in (16, 32):
        asked.clear()
        trained(name, n=n, epochs=1, optimiser=optimiser)
        found.append(Counter(asked))
    assert found[0] == found[1] and found[0]["__bool__"] > 0


def test_an_epoch_calls_the_network_once_a_step(monkeypatch):
    shown, features = [], models.Classifier.features
    monkeypatch.setattr(
        models.Classifier, "features", lambda *a: shown.append(len(a[1])) or features(*a)
    )
    trained("erm", epochs=2)
    assert shown == [RECIPE.batch_size] * 2 * (40 // RECIPE.batch_size)


class Graph:
    """Replays by doing the step again, on what was kept when it was recorded."""

    replays = 0

    def replay(self):
        Graph.replays += 1
        for kept, new in zip(self.step.results, self.step._step(self.step.kept), strict=True):
            kept.copy_(new)


@pytest.mark.parametrize("name", objectives.names())
def test_a_replayed_step_is_a_plain_one(name, monkeypatch):
    """Recording itself must change nothing; all that a step reads must be copied before it."""
    plain, history = trained(name)
    record = Step._record

    @contextlib.contextmanager
    def graph(made, capture_error_mode):
        assert capture_error_mode == "thread_local"
        yield

    def recorded(step, batch):
        """Record, with what a real recording would not have done put back."""
        tensors = [*step.classifier.state_dict().values(), *step.objective.state().values()]
        tensors += [one["momentum_buffer"] for one in step.optimiser.state.values()]
        before = [tensor.clone() for tensor in tensors]
        with torch.random.fork_rng():
            record(step, batch)
        for tensor, value in zip(tensors, before, strict=True):
            tensor.copy_(value)
        step.graph.step = step

    def as_on_a_gpu(step, *arguments):
        start(step, *arguments)
        step.kind = "cuda"

    def plain_step(step, batch):
        with monkeypatch.context() as patch:
            patch.setattr(step, "kind", "cpu")
            return do(step, batch)

    start, do = Step.__init__, Step._step
    monkeypatch.setattr(Step, "__init__", as_on_a_gpu)
    monkeypatch.setattr(Step, "_step", plain_step)
    monkeypatch.setattr(Step, "_record", recorded)
    monkeypatch.setattr(torch.cuda, "CUDAGraph", Graph)
    monkeypatch.setattr(torch.cuda, "graph", graph)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(Graph, "replays", 0)
    replayed, again = trained(name)
    assert Graph.replays == 3 * 5 - 3  # all steps but the first few
    assert replayed == plain
    assert again["loss"].tolist() == history["loss"].tolist()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("optimiser", ["sgd", "adamw"])
@pytest.mark.parametrize("name", objectives.names())
def test_on_a_gpu_recorded_steps_learn_like_plain_ones(name, optimiser, monkeypatch):
    changed = {"optimiser": optimiser}
    changed |= {"learning_rate": 0.001} if optimiser == "adamw" else {}
    _, recorded = trained(name, "cuda", **changed)
    monkeypatch.setattr("helpers.training.step._WARM_UP", 10**9)
    _, plain = trained(name, "cuda", **changed)
    assert np.allclose(recorded["loss"], plain["loss"], rtol=0.05)
