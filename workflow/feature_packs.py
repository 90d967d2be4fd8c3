"""Make feature packs for `known_unknowns.bench`: a network's outputs on ID, near and far images.

    DATA_ROOT=... NETWORK_ROOT=... python workflow/feature_packs.py FOLDER

The networks are the published networks of the synthesis at tier `pretrained`.  Outputs are read
from the cache, and existing packs are kept.
"""

import argparse
from pathlib import Path

from helpers.data import cards, subsample
from helpers.networks import published
from known_unknowns.bench import FeaturePack
from known_unknowns.chapters import CHAPTERS, load

#: Numbers of training images and of ID test images of a pack.
TRAIN, TEST = 5000, 2000


def make(parameters, part) -> FeaturePack:
    """Return the pack of a part's network."""
    experiment = CHAPTERS["synthesis"].experiment
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


def main(command_line: list[str] | None = None) -> None:
    """Make the packs that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args(command_line).folder
    parameters = load("synthesis", "pretrained", published_images=TEST)
    folder.mkdir(parents=True, exist_ok=True)
    for part in CHAPTERS["synthesis"].experiment.parts(parameters):
        path = folder / f"{part.name}.safetensors"
        if not path.exists():
            make(parameters, part).write(path)
            print(path, flush=True)


if __name__ == "__main__":
    main()
