"""Make feature packs for `known_unknowns.bench`: a network's outputs on ID, near and far images.

    DATA_ROOT=... NETWORK_ROOT=... python workflow/feature_packs.py FOLDER

The networks are the published networks of the synthesis at tier `pretrained`.  Outputs are read
from the cache, and existing packs are kept.  `manifest.json` describes all packs, with hashes.
"""

import argparse
import json
from pathlib import Path

from helpers.data import cards, subsample
from helpers.files import atomic_path, sha256_file
from helpers.networks import published
from known_unknowns.bench import FeaturePack, packs
from known_unknowns.chapters import CHAPTERS, load

#: The chapter whose networks and sets the packs contain.
CHAPTER = "synthesis"
#: Numbers of training images and of ID test images of a pack.
TRAIN, TEST = 5000, 2000


def make(parameters, part) -> FeaturePack:
    """Return the pack of a part's network."""
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
    return FeaturePack(part.name, id_set, model.head, train, test, near, far, facts)


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


def main(command_line: list[str] | None = None) -> None:
    """Make the packs that the command line names, and their manifest."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args(command_line).folder
    parameters = load(CHAPTER, "pretrained", published_images=TEST)
    folder.mkdir(parents=True, exist_ok=True)
    for part in CHAPTERS[CHAPTER].experiment.parts(parameters):
        path = folder / f"{part.name}.safetensors"
        if not path.exists():
            make(parameters, part).write(path)
            print(path, flush=True)
    describe(folder)


if __name__ == "__main__":
    main()
