"""Published networks against what their authors say of them, on whole data sets.

The files in the folder ``dice`` are from https://github.com/deeplearning-wisc/dice, at commit
8acfb8d5, where they lie in ``cache``; their licence lies beside them.  They hold the mean features
of all 50,000 training images, as the authors of DICE have computed and stored them.

The networks lie under NETWORK_ROOT and the data sets under DATA_ROOT; where one is not there, its
test is skipped.
"""

from pathlib import Path

import numpy as np
import pytest

from helpers import data
from helpers.networks import published, zoo

DICE = Path(__file__).parent / "dice"
DENSENETS = {"densenet100.dice_cifar10": "CIFAR-10", "densenet100.dice_cifar100": "CIFAR-100"}
PRINTED = {name: one.accuracy for name, one in published.records().items() if one.accuracy}
ROUNDING = 2e-6
"""Of a mean of 50,000 float32 numbers that are of the order of 1."""


def shown(name, split):
    """Return a network's outputs of a whole split of its data set."""
    try:
        published.find(name).locate()
        images = data.load(published.find(name).data_set, split)
    except FileNotFoundError as error:
        pytest.skip(str(error))
    if (count := len(images)) != {"train": 50_000, "test": 10_000}[split]:
        pytest.skip(f"{images.name}/{split} has {count} images, not all")
    return zoo.load(name, progress=False).outputs(images)


@pytest.mark.parametrize("name", PRINTED)
def test_as_many_test_images_are_classified_correctly_as_is_printed(name):
    assert round(100 * shown(name, "test").correct.mean(), 2) == PRINTED[name]


@pytest.mark.parametrize("name", DENSENETS)
def test_mean_features_are_those_that_the_authors_stored(name):
    stored = np.load(DICE / f"{DENSENETS[name]}_densenet_feat_stat.npy", allow_pickle=False)
    means = shown(name, "train").features.mean(axis=0, dtype=np.float64)
    assert stored.shape == means.shape == (342,)
    assert np.abs(means - stored).max() < ROUNDING * np.abs(stored).max()
