"""Make feature packs: what published networks make of images, for `helpers.benchmark`.

    DATA_ROOT=... NETWORK_ROOT=... python workflow/feature_packs.py FOLDER [NETWORK ...]

The images are those of the synthesis at tier `pretrained`, with more of each ID part.  Outputs come
from the cache where it has them; a pack that is there is not made again.
"""

from __future__ import annotations

import argparse
import logging
from pathlib import Path

import numpy as np

from helpers import metrics, papers, scores
from helpers.benchmark import FeaturePack, values_on
from helpers.data import cards, subsample
from helpers.networks import published
from helpers.papers.synthesis import experiment

TRAIN, TEST = 5000, 2000
"""Images of the pack that are fitted to, and ID images that are tested."""
PROBES = ("msp", "energy", "mahalanobis", "knn", "vim", "ash")
"""Scores on which the cost of half precision is measured."""


def make(parameters, part) -> FeaturePack:
    """Return the pack of one network, with what half precision costs among its facts."""
    roles = experiment.roles(parameters, part)
    model = experiment.models(parameters, part, roles)
    record = published.records()[part.name]
    sides = {
        side: {name: model.outputs(images.unknown()) for name, images in sets.items()}
        for side, sets in (("near", roles.near), ("far", roles.far))
    }
    licences = {card.name: card.licence for card in cards()}
    names = [part.roles, *sides["near"], *sides["far"]]
    pack = FeaturePack(
        part.name,
        part.roles,
        model.head,
        model.outputs(subsample(roles.train, TRAIN, seed=parameters.seed)),
        model.outputs(roles.test),
        **sides,
        facts={
            "network": {"source": record.source, "licence": record.licence},
            "data_sets": {name: licences.get(name, "see its pack") for name in names},
            "network_sha256": model.networks[0].sha256,
        },
    )
    pack.facts["half_precision"] = cost(pack)
    return pack


def cost(pack: FeaturePack) -> dict[str, float]:
    """Return by how much the AUROC of each probe differs at most once features are rounded."""
    halves, found = pack.rounded(), {}
    for name in PROBES:
        areas = []
        for one in (pack, halves):
            values = values_on(one, scores.create(name))
            known = values.pop("test")
            areas.append([metrics.auroc(known, unknown) for unknown in values.values()])
        found[name] = round(float(np.abs(np.diff(areas, axis=0)).max()), 6)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("networks", nargs="*", metavar="NETWORK")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    parameters = papers.load("synthesis", "pretrained", published_images=TEST)
    wanted = arguments.networks or [*parameters.published]
    for part in experiment.parts(parameters):
        path = arguments.folder / f"{part.name}.safetensors"
        if part.name in wanted and not path.exists():
            pack = make(parameters, part)
            pack.write(path)
            size = path.stat().st_size / 2**20
            logging.info("%s: %.1f MiB; half precision costs %s", path, size,
                         pack.facts["half_precision"])  # fmt: skip


if __name__ == "__main__":
    main()
