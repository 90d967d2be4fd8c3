"""A recorded step does what a plain one does: on a GPU, and with a stand-in for it here."""

import contextlib
from collections import Counter

import numpy as np
import pytest
import torch

from helpers.training import objectives
from helpers.training.step import Step

LONGER = {"epochs": 3, "n": 40, "dropout": 0.2}
WAITS = ("item", "tolist", "numpy", "cpu", "nonzero")
WAITS += ("__bool__", "__int__", "__float__", "__index__", "__array__")


@pytest.mark.parametrize("optimiser", ["sgd", "adamw"])
@pytest.mark.parametrize("name", sorted({*objectives.names()} - {"autoaugment"}))
def test_no_step_waits_for_the_device(name, optimiser, monkeypatch, trained):
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
        trained(name, n=n, epochs=1, dropout=0.2, optimiser=optimiser)
        found.append(Counter(asked))
    assert found[0] == found[1] and found[0]["__bool__"] > 0


class Graph:
    """Replays by doing the step again, on what was kept when it was recorded."""

    replays = 0

    def replay(self):
        Graph.replays += 1
        for kept, new in zip(self.step.results, self.step._step(self.step.kept), strict=True):
            kept.copy_(new)


@pytest.mark.parametrize("name", objectives.names())
def test_a_replayed_step_is_a_plain_one(name, monkeypatch, trained):
    """Recording itself must change nothing; all that a step reads must be copied before it."""
    plain = trained(name, **LONGER)
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
    replayed = trained(name, **LONGER)
    assert Graph.replays == 3 * 5 - 3  # all steps but the first few
    assert replayed.digest == plain.digest
    assert replayed.history["loss"].tolist() == plain.history["loss"].tolist()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("optimiser", ["sgd", "adamw"])
@pytest.mark.parametrize("name", objectives.names())
def test_on_a_gpu_recorded_steps_learn_like_plain_ones(name, optimiser, monkeypatch, trained):
    changed = LONGER | {"optimiser": optimiser, "options": {"device": "cuda"}}
    changed |= {"learning_rate": 0.001} if optimiser == "adamw" else {}
    recorded = trained(name, **changed).history
    monkeypatch.setattr("helpers.training.step._WARM_UP", 10**9)
    plain = trained(name, **changed).history
    assert np.allclose(recorded["loss"], plain["loss"], rtol=0.05)
