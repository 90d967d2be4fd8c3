"""Make feature packs: what networks make of images, for `known_unknowns.bench`.

    DATA_ROOT=... NETWORK_ROOT=... python workflow/feature_packs.py FOLDER [NETWORK ...]
    DATA_ROOT=... python workflow/feature_packs.py FOLDER --of small_cpu unknown_detection

The images are those of the synthesis at tier `pretrained`, whose networks others have published,
with more of each ID part; or those of another tier and paper with near and far sets, and the
networks that are trained there, each once.  Networks and outputs come from the cache where it has
them; a pack that is there is not made again.  `manifest.json` then describes all packs of the
folder, with their hashes.
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
"""Images of the pack that are fitted to, and ID images that are tested."""
PROBES = ("msp", "energy", "mahalanobis", "knn", "vim", "ash")
"""Scores on which the cost of half precision is measured."""


def make(parameters, part) -> FeaturePack:
    """Return the pack of one network, with what half precision costs among its facts.

    Raises
    ------
    ValueError
        The part has no head of its own: an ensemble, or passes with dropout.
    """
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
    pack = FeaturePack(
        name_of(parameters, part),
        id_set,
        model.head,
        model.outputs(subsample(roles.train, TRAIN, seed=parameters.seed)),
        model.outputs(roles.test),
        **sides,
        facts={
            "network": network_of(part, model),
            "data_sets": {name: licences.get(name, "see its pack") for name in names},
            "network_sha256": model.networks[0].sha256,
        },
    )
    pack.facts["half_precision"] = cost(pack)
    return pack


def name_of(parameters, part) -> str:
    """Return what a part's pack is called: as the published network is, or by tier and part."""
    if part.name in published.records():
        return part.name
    run, _, how = part.name.partition("/")
    network, id_set = (part.identity[name] for name in ("backbone", "data_set"))
    return f"{network}.{parameters.tier}_{id_set}_{how}_{run}"


def network_of(part, model) -> dict:
    """Return where a network comes from: its publisher, or how it was trained."""
    if part.name in published.records():
        record = published.records()[part.name]
        return {"source": record.source, "licence": record.licence}
    (network,) = model.networks
    return {"source": "trained here", "licence": "MIT", "recipe": network.recipe.as_dict(),
            "seconds": network.seconds, "device": network.device_name}  # fmt: skip


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


def main(command_line: list[str] | None = None) -> None:
    """Make the packs that the command line asks for, and their manifest."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("networks", nargs="*", metavar="NETWORK", help="by default all")
    parser.add_argument(
        "--of", nargs=2, metavar=("TIER", "PAPER"), default=("pretrained", "synthesis")
    )
    arguments = parser.parse_args(command_line)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    tier, paper = arguments.of
    more = {"published_images": TEST} if tier == "pretrained" else {}
    parameters = papers.load(paper, tier, **more)
    arguments.folder.mkdir(parents=True, exist_ok=True)
    there = {FeaturePack.read(one).facts["network_sha256"]
             for one in arguments.folder.glob("*.safetensors")}  # fmt: skip
    for part in PAPERS[paper].experiment.parts(parameters):
        name = name_of(parameters, part)
        path = arguments.folder / f"{name}.safetensors"
        if (arguments.networks and name not in arguments.networks) or path.exists():
            continue
        try:
            pack = make(parameters, part)
        except ValueError as error:
            logging.info("%s: no pack (%s)", name, error)
            continue
        if pack.facts["network_sha256"] in there:  # several methods ask the same network
            continue
        there.add(pack.facts["network_sha256"])
        pack.write(path)
        size = path.stat().st_size / 2**20
        logging.info("%s: %.1f MiB; half precision costs %s", path, size,
                     pack.facts["half_precision"])  # fmt: skip
    describe(arguments.folder)


if __name__ == "__main__":
    main()
