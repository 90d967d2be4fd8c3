"""The benchmarks of training, run where they can be: on a CPU, with next to nothing to train."""

import math
from dataclasses import replace

import pandas as pd
import pytest

from benchmarks import comparing, training, training_gpu
from helpers.networks.devices import reproducible
from helpers.networks.recipe import Recipe

SLOW = Recipe.from_parameters(training.RECIPE.as_dict(), batch_size=16, learning_rate=1e-4)


@pytest.fixture
def images():
    images = training_gpu.repeated(32)
    with reproducible("cpu", 1):
        yield replace(images, images=images.images[:, ::4, ::4])


@pytest.fixture
def comparison(monkeypatch, tmp_path):
    for module in (comparing, training_gpu):
        monkeypatch.setattr(module, "RESULTS", tmp_path)
    return comparing.Comparison(training_gpu.NAME)


def test_loops_are_checked_to_train_the_same_network(images):
    training.check(images, SLOW)
    with pytest.raises(AssertionError, match="not ours"):
        training.check(images, Recipe.from_parameters(SLOW.as_dict(), schedule="cosine"))


def test_loops_for_a_gpu_run_and_agree(images, comparison, monkeypatch):
    monkeypatch.setattr(training_gpu, "RECIPE", SLOW)
    monkeypatch.setattr(training_gpu, "ROUNDS", 1)
    monkeypatch.setattr(training_gpu, "TOLERANCE", 1.0)  # of two steps
    training_gpu.against_loops(comparison, images, 16, "cpu")
    loader, tuned = comparison.rows
    assert loader["peer"] == "DataLoader, 0 workers" and "images/s" in loader["note"]
    assert tuned["peer"] == "loop by hand, not compiled" and tuned["ratio"] > 0


def test_operations_of_a_step():
    """Three passes of 0.56 billion multiplications and additions, less the first layer's third."""
    assert 3.3e9 < training_gpu.operations((32, 32), 10) < 3.4e9


def test_without_a_gpu_nothing_measured_is_lost(comparison, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(training_gpu.torch.cuda, "is_available", lambda: False)
    path = tmp_path / "training_gpu.parquet"
    training_gpu.main()
    assert training_gpu.COMMAND in capsys.readouterr().out
    rows = pd.read_parquet(path)
    assert rows["ratio"].isna().all() and rows["note"].str.contains(training_gpu.COMMAND).all()
    rows.assign(ratio=2.0).to_parquet(path, index=False)
    training_gpu.main()
    assert pd.read_parquet(path)["ratio"].tolist() == [2.0] * len(rows)
    assert not any(math.isnan(one) for one in rows["wanted"])
