"""Train plain networks with half as many epochs more, and compare their accuracy.

    DATA_ROOT=... CACHE_ROOT=... python workflow/longer_schedule.py

A schedule is long enough if 50 % more epochs change the accuracy by less than one point
(`synthesis.preconditions`).  *What classifiers know what they don't?* has committed networks of
the chosen trial of ERM, one for each data seed.  This script trains each again, with its recipe,
its images and its seed, but with half as many epochs more; the learning rate decays over all of
them.  It writes both accuracies to ``results/small/uimnet-longer.csv``, after each network.
"""

import argparse
from dataclasses import replace

import pandas as pd
from step import ROOT

from helpers.files import atomic_path
from helpers.networks.recipe import Recipe
from helpers.papers.uimnet import experiment
from helpers.papers.uimnet.parameters import Parameters
from helpers.papers.uimnet.roles import DomainSplit
from helpers.training import finished_networks
from helpers.training.fitted import Fitted, fit

PAPER = "uimnet"
TIER = "small"
NETWORK = "resnet8"
#: How many more epochs, as a share of the tier's.
MORE = 0.5


def main() -> None:
    """Train the networks and write the table."""
    argparse.ArgumentParser(description=__doc__.partition("\n")[0]).parse_args()
    parameters = Parameters.at_tier(PAPER, TIER)
    folder = ROOT / f"results/{TIER}/networks/{PAPER}"
    records = []
    for data_seed, split in experiment.roles(parameters).items():
        _, about = finished_networks.load(folder / f"{NETWORK}-erm-none-{data_seed}.safetensors")
        recipe = Recipe.from_parameters(about["recipe"])
        pair = compared(split, recipe, about["origin"]["seed"])
        records += [
            {"network": NETWORK, "method": "erm", "data_seed": data_seed} | each for each in pair
        ]
        table = pd.DataFrame(records)
        with atomic_path(ROOT / f"results/{TIER}/{PAPER}-longer.csv") as temporary:
            table.to_csv(temporary, index=False, lineterminator="\n")
        print(table.to_string(), flush=True)


def compared(split: DomainSplit, recipe: Recipe, seed: int) -> list[dict]:
    """Return a record of a training, which may be committed, and of one with more epochs."""
    longer = replace(recipe, epochs=round((1 + MORE) * recipe.epochs))
    return [record(fit(split.train, each, seed=seed), split) for each in (recipe, longer)]


def record(fitted: Fitted, split: DomainSplit) -> dict:
    """Return what a training took and how many images it classifies correctly."""
    return {
        "seed": fitted.origin["seed"],
        "epochs": fitted.recipe.epochs,
        "test_accuracy": round(float(fitted.outputs(split.test).correct.mean()), 4),
        "training_accuracy": round(float(fitted.history["accuracy"].iloc[-1]), 4),
        "device": fitted.device_name,
        "seconds": round(fitted.seconds),
    }


if __name__ == "__main__":
    main()
