"""Make feature packs for `known_unknowns.bench`: a network's outputs on ID, near and far images.

    DATA_ROOT=... NETWORK_ROOT=... python workflow/feature_packs.py FOLDER [NETWORK ...]

For the published networks of the synthesis at tier `pretrained`.  Outputs come from the cache;
existing packs stay.  `manifest.json` describes all packs of the folder, with their hashes.
"""

from __future__ import annotations

import argparse
import json
import logging
from pathlib import Path

import numpy as np

from helpers import metrics, scores
from helpers.data import cards, subsample
from helpers.files import atomic_path, sha256_file
from helpers.networks import published
from known_unknowns.bench import FeaturePack, packs, values_on
from known_unknowns.chapters import CHAPTERS, load

CHAPTER = "synthesis"
"""The chapter whose networks and sets the packs have."""
TRAIN, TEST = 5000, 2000
"""Numbers of training images and of ID test images of a pack."""
PROBES = ("msp", "energy", "mahalanobis", "knn", "vim", "ash")
"""Scores on which the cost of half precision is measured."""


def make(parameters, part) -> FeaturePack:
    """Return the pack of a part's network, with the cost of half precision among its facts."""
    experiment = CHAPTERS[CHAPTER].experiment
    roles = experiment.roles(parameters, part)
    model = experiment.models(parameters, part, roles)
    near, far = (
        {name: model.outputs(images.unknown()) for name, images in sets.items()}
        for sets in (roles.near, roles.far)
    )
    licences = {card.name: card.licence for card in cards()}
    id_set, record = part.identity["data_set"], published.records()[part.name]
    facts = {
        "network": {"source": record.source, "licence": record.licence},
        "data_sets": {name: licences.get(name, "see its pack") for name in (id_set, *near, *far)},
        "network_sha256": model.networks[0].sha256,
    }
    train = model.outputs(subsample(roles.train, TRAIN, seed=parameters.seed))
    test = model.outputs(roles.test)
    pack = FeaturePack(part.name, id_set, model.head, train, test, near, far, facts)
    pack.facts["half_precision"] = cost(pack)
    return pack


def describe(folder: Path) -> None:
    """Write the manifest of a folder's packs."""
    files = {}
    for pack in sorted(packs(folder), key=lambda pack: pack.name):
        path = folder / f"{pack.name}.safetensors"
        files[path.name] = {
            "bytes": path.stat().st_size,
            "sha256": sha256_file(path),
            "id_set": pack.id_set,
            **pack.facts,
            "images": {place: len(outputs) for place, outputs in pack.parts.items()},
        }
    about = {"manifest": 1, "what": "feature packs of known_unknowns.bench", "files": files}
    with atomic_path(folder / "manifest.json") as temporary:
        text = json.dumps(about, indent=1, ensure_ascii=False)
        temporary.write_text(f"{text}\n", encoding="utf-8")


def cost(pack: FeaturePack) -> dict[str, float]:
    """Return for each probe the largest change of its AUROCs if features are rounded."""
    changes = {}
    for name in PROBES:
        areas = []
        for values in (values_on(each, scores.create(name)) for each in (pack, pack.rounded())):
            known = values.pop("test")
            areas.append([metrics.auroc(known, unknown) for unknown in values.values()])
        changes[name] = round(float(np.abs(np.diff(areas, axis=0)).max()), 6)
    return changes


def main(command_line: list[str] | None = None) -> None:
    """Make the packs that the command line names, and their manifest."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("networks", nargs="*", metavar="NETWORK", help="by default all")
    arguments = parser.parse_args(command_line)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    parameters = load(CHAPTER, "pretrained", published_images=TEST)
    folder = arguments.folder
    folder.mkdir(parents=True, exist_ok=True)
    for part in CHAPTERS[CHAPTER].experiment.parts(parameters):
        path = folder / f"{part.name}.safetensors"
        if path.exists() or (arguments.networks and part.name not in arguments.networks):
            continue
        pack = make(parameters, part)
        pack.write(path)
        logging.info("%s: half precision costs %s", path, pack.facts["half_precision"])
    describe(folder)


if __name__ == "__main__":
    main()
