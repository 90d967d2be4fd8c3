"""Evaluate OpenMax of *Unknown detection* at each pair of alpha and tail, on the five baselines.

DATA_ROOT=... python workflow/openmax_grid.py

The paper chooses a pair on held-out images, and prints the result of this pair alone.  The rows of
results/small/unknown_detection-openmax.parquet have all pairs, with four kinds of OpenMax: weights
that fall with the rank, or the same weight for all ranks as in the authors' code; and statistics of
the training images as they are, or as in the authors' code: augmented, with batch statistics.
Networks are read from the exports; none is trained.
"""

import copy
import itertools
import os
from collections.abc import Iterator

import numpy as np
import torch
from step import ROOT

from helpers import metrics
from helpers.networks.devices import reproducible
from helpers.networks.model import Model
from helpers.papers import run
from helpers.papers.unknown_detection import detectors, experiment
from helpers.papers.unknown_detection.detectors import FlatOpenMax, OpenMax
from helpers.papers.unknown_detection.parameters import Parameters
from helpers.papers.unknown_detection.roles import Benchmark
from helpers.scores.openmax import openmax_answer
from helpers.tables import results
from helpers.training.batches import batches_of
from helpers.training.fitted import Fitted

WEIGHTS = {"falling weights": OpenMax, "flat weights": FlatOpenMax}
PLAIN = "plain statistics"
AUGMENTED = "augmented statistics"
OUT = ROOT / "results" / "small" / "unknown_detection-openmax.parquet"


def main() -> None:
    """Write the rows of all baselines."""
    parameters = Parameters.at_tier("unknown_detection", "small")
    roles = experiment.roles(parameters)
    records = []
    content = {"parameters": parameters.decisive(), "roles": run.digests(roles)}
    devices = []
    seconds = 0.0
    for number in range(parameters.runs):
        model = detectors.train_method(parameters, roles, "baseline", number)
        content[f"network {number}"] = model.sha256
        devices.append(model.device_name)
        seconds += model.seconds
        identity = {
            "tier": "small",
            "paper": parameters.paper,
            "data_set": parameters.data_set,
            "backbone": parameters.network,
            "run": number,
            "method": "openmax",
        }
        records += [identity | row for row in rows(parameters, roles, model)]
        print(number, flush=True)
    device = ", ".join(dict.fromkeys(devices))
    origin = results.provenance(content, seed=parameters.seed, device=device, seconds=seconds)
    results.write(results.tidy(records, origin), OUT)
    print(OUT)


def rows(parameters: Parameters, roles: Benchmark, model: Model) -> Iterator[dict]:
    """Yield accuracy and AURC on the test images, and AUROC near, of each kind and pair."""
    test = model.outputs(roles.test)
    near = model.outputs(roles.test_sets["near"])
    train = model.outputs(roles.train)
    statistics = {
        PLAIN: (train.logits, train.labels),
        AUGMENTED: augmented(model, roles, parameters.seed),
    }
    alphas = sorted({min(alpha, test.num_classes) for alpha in parameters.alphas})
    for (weights, kind), learned in itertools.product(WEIGHTS.items(), statistics):
        for tail, alpha in itertools.product(parameters.tails, alphas):
            rule = kind(tail, alpha, parameters.distance).fit(*statistics[learned])
            answers = rule.probabilities(test.logits)
            known = 1 - answers[:, -1]
            unknown = 1 - rule.probabilities(near.logits)[:, -1]
            correct = openmax_answer(answers) == test.labels
            columns = {"variant": f"{weights}, {learned}, alpha {alpha}, tail {tail}"}
            for name, metric, value, images in (
                ("test", "accuracy", correct.mean(), len(test)),
                ("test", "aurc", metrics.aurc(known, correct), len(test)),
                ("near", "auroc", metrics.auroc(known, unknown), len(test) + len(near)),
            ):
                yield columns | results.row(name, metric, value, images)


def augmented(model: Model, roles: Benchmark, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return logits and labels of one epoch as in training, without a step of the optimiser."""
    (network,) = model.networks
    assert isinstance(network, Fitted)
    classifier = copy.deepcopy(network.classifier).train()
    batches = batches_of(roles.train, network.recipe, network.device)
    generator = torch.Generator(network.device).manual_seed(seed)
    order = torch.randperm(len(roles.train), device=network.device, generator=generator)
    size = network.recipe.batch_size
    with reproducible(network.device, network.threads), torch.no_grad():
        shown = [classifier(batch).float() for batch in batches.take(order, size, generator)]
    return torch.cat(shown).cpu().numpy(), roles.train.labels[order.cpu().numpy()]


if __name__ == "__main__":
    os.environ["TRAINING"] = "refused"
    main()
