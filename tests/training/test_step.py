"""On a GPU, recorded steps learn what plain steps learn."""

import numpy as np
import pytest
import torch

from helpers.training import objectives

LONGER = {"epochs": 3, "n": 40, "dropout": 0.2}


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
