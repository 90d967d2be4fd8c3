"""Train committed networks of *What classifiers know what they don't?* with half as many epochs more.

DATA_ROOT=... python workflow/longer.py small resnet8 erm rbf

A schedule is long enough if this changes the accuracy by less than one point.  The script appends
both accuracies to synthesis/schedules.csv, a line for each network, from the same test images.
"""

import argparse
import csv
from dataclasses import replace

import numpy as np
from step import ROOT

from helpers.networks.recipe import Recipe
from helpers.papers.uimnet import experiment
from helpers.training import exports
from helpers.training.fitted import fit
from synthesis.chapters import load

FILE = ROOT / "synthesis" / "schedules.csv"


def main() -> None:
    """Train the networks of the first data seed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("tier")
    parser.add_argument("network")
    parser.add_argument("algorithms", nargs="+")
    arguments = parser.parse_args()
    parameters = load("uimnet", arguments.tier, root=ROOT)
    split = experiment.roles(parameters)[0]
    folder = ROOT / "results" / arguments.tier / "networks" / "uimnet"
    for name in arguments.algorithms:
        _, about = exports.load(folder / f"{arguments.network}-{name}-none-0.safetensors")
        recipe = Recipe(**about["recipe"])
        longer = replace(recipe, epochs=recipe.epochs * 3 // 2)
        network = fit(split.train, longer, seed=about["origin"]["seed"])
        outputs = network.outputs(split.test)
        right = float(np.mean(outputs.logits.argmax(axis=1) == outputs.labels))
        row = [parameters.paper, arguments.tier, parameters.data_set, arguments.network, name, 0]
        row += [recipe.epochs, longer.epochs, round(about["test_accuracy"], 5), round(right, 5)]
        with FILE.open("a", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerow(row)
        print(row, flush=True)


if __name__ == "__main__":
    main()
