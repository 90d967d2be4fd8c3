"""Train the networks of a tier's chapter, without notebooks; on several GPUs each network on all.

    python workflow/train.py paper unknown_detection --only 0/crl
    torchrun --standalone --nproc-per-node 4 workflow/train.py paper unknown_detection --only 0/crl

Started by torchrun, all processes train one network after the other together: same batches, same
learning curve up to rounding, see `helpers/training/distributed.py`.  Networks come into the cache,
where notebooks and sweeps find them.  Interrupted, or ended since one of the processes died, it
goes on from the last checkpoint when started again.
"""

import time

from sweep import parser_of_parts, parts_of

from helpers.papers import run
from helpers.training import distributed


def main() -> None:
    """Train what the command line asks for."""
    parser = parser_of_parts(__doc__)
    arguments = parser.parse_args()
    with distributed.joined() as device:
        try:
            parameters, parts = parts_of(arguments, device)
        except ValueError as error:
            parser.error(str(error))
        train(parameters, parts)


def train(parameters, parts) -> None:
    """Have each part's networks trained; the first process says when they are."""
    experiment = run.experiment_of(parameters)
    for number, part in enumerate(parts, start=1):
        start = time.monotonic()
        experiment.models(parameters, part, experiment.roles(parameters, part))
        if distributed.rank() == 0:
            seconds = time.monotonic() - start
            print(f"{part.name}: {seconds:.0f} s; {number} of {len(parts)} parts", flush=True)


if __name__ == "__main__":
    main()
