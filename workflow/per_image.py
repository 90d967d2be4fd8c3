"""Write the answers of each committed network of *Unknown detection*, image by image.

DATA_ROOT=... python workflow/per_image.py small

Files that exist are kept.  Networks are read from the exports; none is trained.
"""

import argparse
import os

from step import ROOT

from helpers.papers import run
from helpers.papers.unknown_detection import experiment, methods, per_image
from helpers.papers.unknown_detection.parameters import Parameters

#: SVHN and the letters that stood for it before, so that tables with either can be computed.
FAR = {"svhn": {"images": 4000}, "chars74k_natural": {}, "caltech_background": {}, "dtd_subset": {}}


def main() -> None:
    """Write the files of all networks of a tier."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("tier")
    tier = parser.parse_args().tier
    try:
        parameters = Parameters.at_tier("unknown_detection", tier, far=FAR)
    except ValueError as error:
        parser.error(str(error))
    folder = ROOT / "results" / tier / "per_image" / parameters.paper
    folder.mkdir(parents=True, exist_ok=True)
    roles = experiment.roles(parameters)
    if not (folder / per_image.IMAGES).exists():
        per_image.write_images(parameters, roles, folder)
    for part in run.parts(parameters):
        path = folder / f"{part.name.replace('/', '-')}.parquet"
        method = methods.RECORDS[part.identity["method"]]
        if method.networks_of or method.ensemble or path.exists():
            continue
        try:
            model = experiment.models(parameters, part, roles)
        except LookupError:  # a training that is not committed
            print(f"{part.name}: no network")
            continue
        per_image.write_network(parameters, roles, model, path)
        print(path, flush=True)


if __name__ == "__main__":
    os.environ["TRAINING"] = "refused"
    main()
