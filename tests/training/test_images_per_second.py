"""The benchmark of the training loop: both loops train one network, alone or several at a time."""

from dataclasses import replace

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
    assert 0 < table.min() and table.max() == table["limit of the memory"]


def test_both_loops_train_the_same_network():
    images = data.load("cifar10_mini", "train").subset(slice(64))
    order = torch.randperm(64, generator=torch.Generator().manual_seed(0)).numpy()
    recipe = replace(SMALL, epochs=1)
    with reproducible("cpu", 1):
        pairs = [training.ours(images, recipe, "cpu")]
        pairs.append(training.bare(images.subset(order), recipe, "cpu"))
    assert len({checkpoints.digest(network.state_dict()) for network, _ in pairs}) == 1


def test_the_first_epoch_does_not_count():
    assert training.speed("cpu", SMALL, 64, lambda *_: (None, [100, 16, 8, 64])) == 4


def test_the_limit_counts_what_a_convolution_reads_and_writes(monkeypatch):
    """3 x 32² and 4 x 16² numbers, three times, in single precision."""
    monkeypatch.setattr(
        training.backbones, "create", lambda *_: torch.nn.Conv2d(3, 4, 3, stride=2, padding=1)
    )
    monkeypatch.setattr(training, "repeat", lambda call, number: [1])
    assert training.limit("cpu", SMALL) == 2 * 4 * 2**27 / (12 * (3 * 32**2 + 4 * 16**2))
