"""Train the networks of a tier's chapter, without notebooks; on several GPUs each network on all.

    python workflow/train.py paper unknown_detection --only 0
    torchrun --standalone --nproc-per-node 4 workflow/train.py paper unknown_detection --only 0

Started by torchrun, all processes train one network after the other together: same batches, same
learning curve up to rounding, see `helpers/training/distributed.py`.  Networks come into the cache,
where notebooks and sweeps find them.  Interrupted, or ended since one of the processes died, it
goes on from the last checkpoint when started again.
"""

import argparse
import sys
import time
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from helpers.papers import PAPERS, run  # noqa: E402
from helpers.papers.parameters import load  # noqa: E402
from helpers.training import distributed  # noqa: E402


def main() -> None:
    """Train what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("tier")
    parser.add_argument("paper")
    several = {"nargs": "+", "action": "extend"}
    parser.add_argument("--only", **several, metavar="PART", help="by default all parts")
    parser.add_argument(
        "--set", **several, metavar="NAME=VALUE", default=[], help="instead of the file's values"
    )
    arguments = parser.parse_args()
    given = dict(one.partition("=")[::2] for one in arguments.set)
    given = {name: yaml.safe_load(value) for name, value in given.items()}
    with distributed.joined() as device:
        try:
            given |= {"device": device} if device else {}
            parameters = load(arguments.paper, arguments.tier, root=ROOT, **given)
            parts = run.parts(parameters, arguments.only)
        except ValueError as error:
            parser.error(str(error))
        train(parameters, parts)


def train(parameters, parts) -> None:
    """Have each part's networks trained; the first process says when they are."""
    experiment = PAPERS[parameters.paper].experiment
    for number, part in enumerate(parts, start=1):
        start = time.monotonic()
        experiment.models(parameters, part, experiment.roles(parameters, part))
        if distributed.rank() == 0:
            seconds = time.monotonic() - start
            print(f"{part.name}: {seconds:.0f} s; {number} of {len(parts)} parts", flush=True)


if __name__ == "__main__":
    main()
