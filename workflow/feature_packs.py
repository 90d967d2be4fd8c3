"""Make feature packs for `known_unknowns.bench`: a network's outputs on ID, near and far images.

    DATA_ROOT=... NETWORK_ROOT=... python workflow/feature_packs.py FOLDER

The networks are the published networks of the synthesis at tier `pretrained`.  Outputs are read
from the cache, and existing packs are kept.
"""

import argparse
from pathlib import Path

from helpers.data import cards, subsample
from helpers.networks import zoo_records
from known_unknowns.bench import FeaturePack, contest
from synthesis.chapters import CHAPTERS, load

#: Numbers of training images, of ID test images, and of images of each other set in a pack.
TRAIN = 5000
TEST = 2000
OTHERS = 250


def make(parameters, part) -> FeaturePack:
    """Return the pack of a part's network, with the change of each score's AUROC by 8 bits."""
    experiment = CHAPTERS["synthesis"].experiment
    roles = experiment.roles(parameters, part)
    model = experiment.models(parameters, part, roles)
    near, far = (
        {name: model.outputs(images.unknown()) for name, images in sets.items()}
        for sets in (roles.near, roles.far)
    )
    licences = {card.name: card.licence for card in cards()}
    id_set = part.identity["data_set"]
    record = zoo_records.records()[part.name]
    facts = {
        "network": {"source": record.source, "licence": record.licence},
        "data_sets": {name: licences.get(name, "see its pack") for name in (id_set, *near, *far)},
        "network_sha256": model.networks[0].sha256,
    }
    train = model.outputs(subsample(roles.train, TRAIN, seed=parameters.seed))
    test = model.outputs(roles.test)
    pack = FeaturePack(part.name, id_set, model.head, train, test, near, far, facts)
    before, after = (contest(given=[each]).means()["auroc"] for each in (pack, pack.rounded()))
    facts["changes_of_auroc"] = (after - before).abs().max(axis=1).round(6).to_dict()
    return pack


def main(command_line: list[str] | None = None) -> None:
    """Make the packs that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args(command_line).folder
    parameters = load("synthesis", "pretrained", published_images=TEST, far_images=OTHERS)
    for part in CHAPTERS["synthesis"].experiment.parts(parameters):
        path = folder / f"{part.name}.safetensors"
        if not path.exists():
            make(parameters, part).write(path)
            print(path, flush=True)


if __name__ == "__main__":
    main()
