"""Store the outputs of finished networks on the images that were held out of their training.

DATA_ROOT=... python workflow/held_out.py small openset_calibration --only resnet20 densenet40

A tier with ``finished: small`` has a slice of the training images, all of which a finished network
may have learnt.  So thresholds, temperatures and choices of this tier use the stored outputs.
The files are in results/TIER/networks/PAPER/held_out.
After an interruption, start the script again: outputs are in the cache.  No network is trained.
"""

import argparse
import os

from step import ROOT

from helpers.papers import run
from helpers.training import finished_networks
from synthesis.chapters import load


def main() -> None:
    """Write a file for each exported network of a paper; print what is done."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("tier")
    parser.add_argument("paper")
    parser.add_argument("--only", nargs="+", metavar="PART", help="by default all parts")
    arguments = parser.parse_args()
    try:
        parameters = load(arguments.paper, arguments.tier, root=ROOT)
        parts = run.parts(parameters, arguments.only)
    except ValueError as error:
        parser.error(str(error))
    for part in parts:
        for network, images, further in run.experiment_of(parameters).held_out(parameters, part):
            file = finished_networks.save_held_out(network, images, **further)
            print(f"{file}: {len(images or ())} images", flush=True)


if __name__ == "__main__":
    os.environ["TRAINING"] = "refused"
    main()
