"""Trainings that torchrun starts in several processes, one after the other.

python -m tests.training.together FOLDER RECIPES: a JSON object of recipes by name.  With that of a
name that begins with "own", each process takes batch statistics of its own.  DIES in the
environment: the epoch in which the last process is killed.
"""

import json
import os
import signal
import sys
from pathlib import Path

import numpy as np

from helpers import checkpoints
from helpers.data import Images
from helpers.networks import models
from helpers.networks.recipe import Recipe
from helpers.training import distributed, loop


def problem(n=40, classes=3, size=16):
    """Images whose class is their brightness, so that a few steps learn something."""
    labels = np.arange(n) % classes
    pixels = np.random.default_rng(0).integers(0, 40, (n, size, size, 3))
    pixels = (pixels + labels[:, None, None, None] * 80).astype(np.uint8)
    return Images(pixels, labels, tuple(map(str, range(classes))), "brightness", "train")


def train(recipe, checkpoint=None):
    """Return the tensors that a training of this recipe makes, and its learning curve."""
    classifier = models.create(recipe, 3, seed=0)
    history = loop.train(
        classifier, problem(), recipe, outliers=problem(23), device="cpu", checkpoint=checkpoint,
        checkpoint_seconds=0, progress=False,
    )  # fmt: skip
    return classifier.state_dict(), history.to_dict("list")


def die_in(epoch):
    """Have the last process killed when it begins an epoch."""
    epoch_of = loop._epoch

    def killed(training, number):
        if number + 1 == epoch and distributed.rank() == distributed.processes() - 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return epoch_of(training, number)

    loop._epoch = killed


def main():
    folder, recipes = Path(sys.argv[1]), json.loads(sys.argv[2])
    die_in(int(os.environ.get("DIES", 0)))
    with distributed.joined():
        for name, recipe in recipes.items():
            os.environ["BATCH_STATISTICS"] = "own" if name.startswith("own") else ""
            try:
                tensors, curve = train(Recipe(**recipe), folder / f"{name}.partial")
            except ValueError as error:
                print(error)
            else:
                path = folder / f"{name}-{distributed.rank()}"
                checkpoints.save(path, tensors, curve=curve)


if __name__ == "__main__":
    main()
