"""Measure the CPU milliseconds of each score for an image: the network's passes and the score.

    python -m benchmarks.costs     a minute; writes benchmarks/results/costs.csv

The network is a ResNet-20 for CIFAR-10.  Scores of outputs get its feature pack, and their fit is
not counted.  The number is the lowest of some rounds, since other processes only add time.
"""

import os
import tempfile
import time
from collections.abc import Callable

import pandas as pd
import torch

from benchmarks.comparing import RESULTS, machine
from helpers import data, scores
from helpers.networks import inference, zoo
from helpers.networks.model import Model
from known_unknowns.bench.feature_packs import EMBEDDED, FeaturePack
from synthesis import chapters

NAME = "resnet20.akamaster_cifar10"
IMAGES = 250
ROUNDS = 4


def milliseconds(work: Callable, inputs: list) -> float:
    """Return the lowest CPU time of `work` for one image, over inputs of many images."""
    seconds = []
    for part in inputs:
        began = time.process_time()
        work(part)
        seconds.append((time.process_time() - began) / len(part))
    return 1000 * min(seconds)


def main() -> None:
    """Write a row for each score of the leaderboard."""
    torch.set_num_threads(1)
    network = zoo.load(NAME, device="cpu", threads=1)
    pack = FeaturePack.read(EMBEDDED / f"{NAME}.safetensors")
    images = data.load("cifar10_mini", "test")
    starts = range(0, ROUNDS * IMAGES, IMAGES)
    parts = [images.subset(range(start, start + IMAGES)) for start in starts]
    forward = milliseconds(lambda part: inference.compute(network.classifier, part), parts)
    model = Model("baseline", (network,))
    costs = {}
    parameters = chapters.load("synthesis", "pretrained")
    for name in parameters.scores:
        score = scores.create(name, **parameters.score_arguments.get(name, {}))
        if "images" in score.info.needs:
            costs[name] = milliseconds(lambda part, s=score: s.score_images(model, part), parts)
        else:
            if score.info.fits:
                score.fit(pack.train, pack.head)
            costs[name] = forward + milliseconds(score.score_samples, ROUNDS * [pack.test])
    table = pd.DataFrame({"milliseconds": costs}).rename_axis("score").round(4)
    table.assign(machine=machine()).to_csv(RESULTS / "costs.csv")
    print(table)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.environ["CACHE_ROOT"] = folder  # nothing is read that an earlier run has computed
        main()
