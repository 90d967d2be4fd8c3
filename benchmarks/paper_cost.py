"""What tier `paper` costs in each chapter: networks, images, operations, disk and jobs.

Everything is counted from `params/paper`, nothing is trained: operations by PyTorch's counter, on
networks without weights.  How many hours that is, the rates say that `benchmarks.streaming` and
`benchmarks.training_gpu` measure.

    python -m benchmarks.paper_cost
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pandas as pd
import torch
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.comparing import RESULTS
from helpers.data.cards import find
from helpers.networks import models
from helpers.networks.recipe import Recipe
from helpers.papers import load, run
from helpers.papers.uimnet.trials import algorithm_of
from helpers.papers.unknown_detection import methods
from helpers.training import objectives

TIER, NAME = "paper", "paper_cost"
IMAGENET = find("imagenet").splits
BACKWARD = 3  # a step's operations, forward and backward, by those of its forward pass


@dataclass(frozen=True)
class Network:
    """What one network costs.

    Attributes
    ----------
    operations : float
        Of a forward pass of one image.
    trained, seen : float
        Images that its training reads, and those that pass through it then.
    asked : float
        Images that it is asked about.
    values : int
        Numbers that are kept of each of these: logits and features.
    streamed : bool
        Whether images are decoded from files.
    """

    operations: float
    trained: float
    seen: float
    asked: float
    values: int
    streamed: bool = True


def counted(network: torch.nn.Module, size: tuple[int, ...]) -> float:
    """Return the operations of a forward pass of one image, two to a multiplication."""
    counter = FlopCounterMode(display=False)
    with counter, torch.inference_mode():
        network(torch.zeros(1, *size, device="meta"))
    return float(counter.get_total_flops())


def of_recipe(recipe: Recipe, classes: int, size: int) -> tuple[float, int]:
    """Return operations of a forward pass, and how many logits and features an image has."""
    with torch.device("meta"):
        network = models.create(replace(recipe, spectral_norm=0.0), classes).eval()
    features = network.backbone.get_classifier().weight.shape[1]
    return counted(network, (3, size, size)), classes + features


def shown(recipe: Recipe, images: float) -> tuple[float, float]:
    """Return how many images a training reads, and how many pass through the network."""
    objective = objectives.create(recipe.objective, **recipe.objective_arguments)
    if objective.beside:  # ERM's network, which is asked once more
        return images, images / BACKWARD
    read = images * recipe.epochs * (1 + (objective.ratio if objective.needs_outliers else 0))
    return read, read * (3 if recipe.objective == "augmix" else 1)


def unknown_detection() -> Iterator[Network]:
    """Yield each network of all runs once, whatever methods share it."""
    parameters, known = load("unknown_detection", TIER), 200  # Tiny ImageNet's classes
    each = IMAGENET["train"] / 1000 - parameters.held_out_per_class
    images, held = (known * one for one in (min(each, parameters.train_per_class),
                                            parameters.held_out_per_class))  # fmt: skip
    tests = 2 * known * IMAGENET["val"] / 1000 + len(parameters.far) * parameters.far_images
    asked = images + held + parameters.external_validation + tests
    found = {}
    for part in run.parts(parameters):
        method = methods.named(part.identity["method"])
        recipe = parameters.method_recipe(part.identity["method"])
        for which in method.networks(parameters, part.identity["run"]):
            found[repr(recipe), which] = recipe
    for recipe in found.values():
        operations, values = of_recipe(recipe, known, recipe.image_size)
        yield Network(operations, *shown(recipe, images), asked, values)


def uimnet() -> Iterator[Network]:
    """Yield each trial of each algorithm."""
    parameters, classes = load("uimnet", TIER), 266
    images = classes * IMAGENET["train"] / 1000
    train, asked = images * (1 - parameters.validation_share), images
    asked += 2 * classes * IMAGENET["val"] / 1000
    for network in parameters.sizes:
        cost = None
        for name in parameters.algorithms:
            for form in parameters.spectral:
                recipe = algorithm_of(parameters, network, name, form).recipe
                cost = cost or of_recipe(replace(recipe, objective="erm"), classes, 224)
                one = Network(cost[0], *shown(recipe, train), asked, cost[1])
                yield from [one] * (parameters.trials * parameters.runs)


def human_centric() -> Iterator[Network]:
    """Yield each pretrained network, which is asked alone."""
    import timm

    parameters = load("human_centric", TIER)
    asked = 1000 * parameters.train_per_class + IMAGENET["val"]
    for names, most in (
        (parameters.input_shifted, parameters.input_shifted_images),
        (parameters.label_shifted, parameters.label_shifted_images),
    ):
        asked += sum(min(most, sum(find(name).splits.values())) for name in names)
    for name in parameters.names:
        with torch.device("meta"):
            model = timm.create_model(parameters.pretrained[name].partition(".")[0]).eval()
        size = model.default_cfg["input_size"]
        yield Network(counted(model, size), 0.0, 0.0, asked, 1000 + model.num_features)


def gscore() -> Iterator[Network]:
    """Yield each network on its set of small images, all of which are in memory."""
    parameters = load("gscore", TIER)
    for part in run.parts(parameters):
        recipe = parameters.recipe(parameters.networks[part.identity["backbone"]])
        card = find(part.identity["data_set"])
        operations, values = of_recipe(recipe, card.classes, 32)
        train = card.splits["train"] * (1 - parameters.fold_share) - parameters.validation_images
        others = sum(min(500, parameters.set_images) for _ in parameters.sets)
        asked = sum(card.splits.values()) + others
        yield Network(operations, *shown(recipe, train), asked, values, streamed=False)


CHAPTERS = (unknown_detection, human_centric, uimnet, gscore)


def row(chapter: str, networks: list[Network]) -> dict:
    """Return the sums over the networks of a chapter.

    Examples
    --------
    >>> one = Network(operations=2.0, trained=10, seen=20, asked=5, values=100)
    >>> found = row("a", [one, one])
    >>> [found[name] for name in ("networks", "read", "operations", "kept")]
    [2, 30.0, 260.0, 4000.0]
    """
    return {
        "chapter": chapter,
        "networks": len(networks),
        "read": float(sum(one.trained + one.asked for one in networks if one.streamed)),
        "operations": sum(one.operations * (BACKWARD * one.seen + one.asked) for one in networks),
        "kept": float(sum(4 * one.values * one.asked for one in networks)),
    }


def main() -> None:
    """Count everything, and keep it."""
    warnings.simplefilter("ignore")  # optional parts of timm
    rows = []
    for chapter in CHAPTERS:
        rows.append(row(chapter.__name__, list(chapter())))
        print(rows[-1], flush=True)
    pd.DataFrame(rows).to_parquet(RESULTS / f"{NAME}.parquet", index=False)


if __name__ == "__main__":
    main()
