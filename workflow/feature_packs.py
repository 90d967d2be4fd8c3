"""Make feature packs for `known_unknowns.bench`: a network's outputs on ID, near and far images.

    DATA_ROOT=... NETWORK_ROOT=... python workflow/feature_packs.py FOLDER [NETWORK ...]
    DATA_ROOT=... python workflow/feature_packs.py FOLDER --of small_cpu unknown_detection

By default for the published networks of the synthesis at tier `pretrained`; with ``--of`` for the
networks that another tier and paper train, each once.  Networks and outputs come from the cache;
existing packs stay.  `manifest.json` describes all packs of the folder, with their hashes.
"""

from __future__ import annotations

import argparse
import json
import logging
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from helpers import metrics, papers, scores
from helpers.data import cards, subsample
from helpers.files import atomic_path, sha256_file
from helpers.networks import published
from helpers.papers import PAPERS
from known_unknowns.bench import FeaturePack, packs, values_on

TRAIN, TEST = 5000, 2000
"""Numbers of training images and of ID test images of a pack."""
PROBES = ("msp", "energy", "mahalanobis", "knn", "vim", "ash")
"""Scores on which the cost of half precision is measured."""


def make(parameters, part) -> FeaturePack:
    """Return the pack of a part's network, with the cost of half precision among its facts."""
    experiment = PAPERS[parameters.paper].experiment
    roles = experiment.roles(parameters, part)
    model = experiment.models(parameters, part, roles)
    if model.head is None or model.passes:
        raise ValueError(f"{part.name}: one network with a head expected, and no passes")
    near = roles.near if isinstance(roles.near, Mapping) else {"near": roles.near}
    sides = {
        side: {name: model.outputs(images.unknown()) for name, images in sets.items()}
        for side, sets in (("near", near), ("far", roles.far))
    }
    licences = {card.name: card.licence for card in cards()}
    id_set = part.identity["data_set"]
    names = [id_set, *sides["near"], *sides["far"]]
    (network,) = model.networks
    source = {"source": "trained here", "licence": "MIT"}
    if part.name in published.records():
        record = published.records()[part.name]
        source = {"source": record.source, "licence": record.licence}
    else:
        source |= {"recipe": network.recipe.as_dict(), "seconds": network.seconds}
        source["device"] = network.device_name
    facts = {
        "network": source,
        "data_sets": {name: licences.get(name, "see its pack") for name in names},
        "network_sha256": network.sha256,
    }
    train = model.outputs(subsample(roles.train, TRAIN, seed=parameters.seed))
    first = (name_of(parameters, part), id_set, model.head, train, model.outputs(roles.test))
    pack = FeaturePack(*first, **sides, facts=facts)
    pack.facts["half_precision"] = cost(pack)
    return pack


def name_of(parameters, part) -> str:
    """Return the name of a part's pack: of the published network, or from tier and part."""
    if part.name in published.records():
        return part.name
    run, _, method = part.name.partition("/")
    network, id_set = (part.identity[name] for name in ("backbone", "data_set"))
    return f"{network}.{parameters.tier}_{id_set}_{method}_{run}"


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
        for each in (pack, pack.rounded()):
            values = values_on(each, scores.create(name))
            known = values.pop("test")
            areas.append([metrics.auroc(known, unknown) for unknown in values.values()])
        changes[name] = round(float(np.abs(np.diff(areas, axis=0)).max()), 6)
    return changes


def main(command_line: list[str] | None = None) -> None:
    """Make the packs that the command line names, and their manifest."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("networks", nargs="*", metavar="NETWORK", help="by default all")
    usual = ("pretrained", "synthesis")
    parser.add_argument("--of", nargs=2, metavar=("TIER", "PAPER"), default=usual)
    arguments = parser.parse_args(command_line)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    tier, paper = arguments.of
    more = {"published_images": TEST} if tier == "pretrained" else {}
    parameters, folder = papers.load(paper, tier, **more), arguments.folder
    folder.mkdir(parents=True, exist_ok=True)
    files = folder.glob("*.safetensors")
    made = {FeaturePack.read(file).facts["network_sha256"] for file in files}
    for part in PAPERS[paper].experiment.parts(parameters):
        name = name_of(parameters, part)
        path = folder / f"{name}.safetensors"
        if (arguments.networks and name not in arguments.networks) or path.exists():
            continue
        try:
            pack = make(parameters, part)
        except ValueError as error:
            logging.info("%s: no pack (%s)", name, error)
            continue
        if pack.facts["network_sha256"] not in made:  # several methods use the same network
            made.add(pack.facts["network_sha256"])
            pack.write(path)
            logging.info("%s: half precision costs %s", path, pack.facts["half_precision"])
    describe(folder)


if __name__ == "__main__":
    main()
