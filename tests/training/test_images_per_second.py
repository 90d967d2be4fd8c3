"""The benchmark of the training loop: both loops train one network, alone or several at a time."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from benchmarks import training
from helpers import checkpoints, data
from helpers.networks.devices import reproducible

SMALL = replace(training.RECIPE, width=4, stem_stride=2, batch_size=16, epochs=2)


@pytest.mark.exhaustive
def test_images_per_second_of_each_loop_alone_and_together():
    """Compiling, and starting processes, takes a minute."""
    table = training.measure("cpu", SMALL, 32, [2])
    assert (table > 0).all() and len(table) == 5
    assert table.drop("limit of the memory").max() < table["limit of the memory"]


def test_a_row_for_each_loop_and_for_several_networks(monkeypatch):
    def speed(device, recipe, count, loop=training.ours, *, compiled=False):
        return {training.ours: 7, training.bare: 6}[loop] + compiled / 2

    monkeypatch.setattr(training, "speed", speed)
    monkeypatch.setattr(training, "together", lambda networks, *given: 5 * networks)
    monkeypatch.setattr(training, "limit", lambda *given: 100)
    table = training.measure("cpu", SMALL, 32, (4, 8))
    assert table.to_dict() == {
        "our loop": 7,
        "bare loop": 6,
        "bare loop, torch.compile": 6.5,
        "our loop, 4 networks": 20,
        "our loop, 8 networks": 40,
        "limit of the memory": 100,
    }
    assert table.name.startswith("images per second, cpu, 1 thread, torch ")


def test_the_first_epoch_does_not_count():
    def loop(images, recipe, device):
        return None, [100.0, len(images) / 5, len(images) / 5, 1000.0]

    assert training.speed("cpu", SMALL, 64, loop) == pytest.approx(5)


@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=pytest.mark.exhaustive)])
def test_both_loops_train_the_same_network(compiled):
    """Up to rounding if it is compiled."""
    images = data.load("cifar10_mini", "train").subset(slice(64))
    recipe = replace(SMALL, epochs=1)
    order = torch.randperm(64, generator=torch.Generator().manual_seed(0)).numpy()
    with reproducible("cpu", 1):
        network, _ = training.ours(images, recipe, "cpu")
        other, _ = training.bare(images.subset(order), recipe, "cpu", compiled=compiled)
    states = network.state_dict(), other.state_dict()
    if not compiled:
        assert checkpoints.digest(states[0]) == checkpoints.digest(states[1])
    for name, tensor in states[0].items():
        np.testing.assert_allclose(states[1][name], tensor, rtol=1e-3, atol=1e-5)


def test_the_limit_counts_what_convolutions_read_and_write(monkeypatch):
    """Of a stem alone: 3 x 32² and 4 x 16² numbers, three times, in single precision."""
    stem = torch.nn.Conv2d(3, 4, 3, 2, 1)
    stem.forward = lambda images, forward=stem.forward: forward(images.float())
    monkeypatch.setattr(training.backbones, "create", lambda *_: stem)
    monkeypatch.setattr(training, "repeat", lambda call, number: [2, 1])
    monkeypatch.setattr(training, "_COPIED", 2**20)
    assert training.limit("cpu", SMALL) == 2 * 4 * 2**20 / (3 * 4 * (3 * 32**2 + 4 * 16**2))
