"""Add the rows of the Deep Ensembles of *Unknown detection* without one of their five networks.

python workflow/leave_one_out.py

They are the variant `without one run` of results/small/unknown_detection.parquet, and ``run`` is
the network that is left out: the jackknife computes from them how much the ensemble varies.  They
come from the answers image by image; no image is read and no network is evaluated.
"""

import argparse

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from step import ROOT

from helpers.papers.unknown_detection import experiment, per_image
from helpers.papers.unknown_detection.parameters import Parameters
from helpers.tables import results
from synthesis.spread import WITHOUT_RUN

TABLE = ROOT / "results" / "small" / "unknown_detection.parquet"
FOLDER = ROOT / "results" / "small" / "per_image" / "unknown_detection"


def main() -> None:
    """Replace the rows of the variant in the committed table."""
    table = results.read(TABLE)
    table = table[table["variant"] != WITHOUT_RUN]
    whole = table[(table["method"] == "ensemble") & (table["variant"] == "primary")]
    kept = {*zip(whole["test_set"], whole["metric"], strict=True)}
    parameters = Parameters.at_tier("unknown_detection", "small")
    far = [*parameters.far]
    records = []
    networks = []
    for run in range(parameters.runs):
        path = FOLDER / f"{run}-baseline.parquet"
        networks.append(pq.read_metadata(path).metadata[b"information"].decode())
        answers = per_image.answers(FOLDER, "ensemble", without=str(run))
        asked = {name: answers[name] for name in answers if name != "validation"}
        identity = {
            "tier": "small",
            "paper": parameters.paper,
            "data_set": parameters.data_set,
            "backbone": parameters.network,
            "run": run,
            "method": "ensemble",
        }
        for row in experiment.measure(asked, far, _no_draws, parameters.data_set):
            if (row["test_set"], row["metric"]) in kept:
                row |= {"variant": WITHOUT_RUN, "bootstrap": ()}
                records.append(identity | row)
    content = {"networks": networks, "parameters": parameters.decisive()}
    origin = results.provenance(content, seed=parameters.seed, device="cpu", seconds=0.0)
    added = results.tidy(records, origin)
    results.write(pd.concat([table, added], ignore_index=True), TABLE)
    print(TABLE, len(added))


def _no_draws(name: str, images: int) -> np.ndarray:
    return np.ones((1, images), np.int64)


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    main()
