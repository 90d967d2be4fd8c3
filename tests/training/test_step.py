"""A recorded step does what a plain one does: on a GPU, and with a stand-in for it here."""

from collections import Counter

import numpy as np
import pytest
import torch

from helpers.training import objectives

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
