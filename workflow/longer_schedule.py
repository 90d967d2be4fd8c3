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

from helpers.networks.recipe import Recipe
from helpers.papers.uimnet import experiment
from helpers.papers.uimnet.parameters import Parameters
from helpers.papers.uimnet.roles import DomainSplit
from helpers.training import finished_networks
from helpers.training.fitted import Fitted, fit
from synthesis.chapters import load

PAPER = "uimnet"
TIER = "small"
NETWORK = "resnet8"
#: How many more epochs, as a share of the tier's.
MORE = 0.5


def main() -> None:
    """Train the networks and write the table."""
    argparse.ArgumentParser(description=__doc__.partition("\n")[0]).parse_args()
    parameters = load(PAPER, TIER, root=ROOT)
    assert isinstance(parameters, Parameters)
    records = []
    for data_seed, split in experiment.roles(parameters).items():
        records += compared(split, data_seed)
        path = ROOT / "results" / TIER / f"{PAPER}-longer.csv"
        pd.DataFrame(records).to_csv(path, index=False, lineterminator="\n")
        print(pd.DataFrame(records).to_string(), flush=True)


def compared(split: DomainSplit, data_seed: int) -> list[dict]:
    """Return a record of the committed network of a data seed, and of the longer training."""
    folder = ROOT / "results" / TIER / "networks" / PAPER
    _, about = finished_networks.load(folder / f"{NETWORK}-erm-none-{data_seed}.safetensors")
    recipe = Recipe.from_parameters(about["recipe"])
    seed = about["origin"]["seed"]
    longer = replace(recipe, epochs=round((1 + MORE) * recipe.epochs))
    committed = fit(split.train, recipe, seed=seed)
    trained = fit(split.train, longer, seed=seed)
    return [record(fitted, split, data_seed) for fitted in (committed, trained)]


def record(fitted: Fitted, split: DomainSplit, data_seed: int) -> dict:
    """Return what a training took and how many images it classifies correctly."""
    return {
        "network": NETWORK,
        "method": "erm",
        "data_seed": data_seed,
        "seed": fitted.origin["seed"],
        "epochs": fitted.recipe.epochs,
        "test_accuracy": round(float(fitted.outputs(split.test).correct.mean()), 4),
        "training_accuracy": round(float(fitted.history["accuracy"].iloc[-1]), 4),
        "device": fitted.device_name,
        "seconds": round(fitted.seconds),
    }


if __name__ == "__main__":
    main()
