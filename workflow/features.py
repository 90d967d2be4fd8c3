"""Store the features of a frozen network, which a tier's heads see in place of images.

    DATA_ROOT=... python workflow/features.py frozen                        # of all chapters
    DATA_ROOT=... python workflow/features.py frozen unknown_detection --list

Each network sees each image once, for all chapters and roles together.  After an interruption, the
same command continues; packs are stored in DATA_ROOT/features.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from step import ROOT
from tqdm import tqdm

from helpers.data import Images, features
from helpers.papers import run
from helpers.papers.parameters import Parameters, values_of
from known_unknowns.chapters import CHAPTERS, load


def main() -> None:
    """Store the features that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("tier")
    parser.add_argument("papers", nargs="*", metavar="PAPER", help="by default all with features")
    parser.add_argument("--network", help="one of a chapter's networks; by default all")
    parser.add_argument("--list", action="store_true", help="only print the missing images")
    parser.add_argument("--threads", type=int, default=2, help="of the CPU (default: 2)")
    parser.add_argument("--device", help="cpu or cuda; by default a GPU if there is one")
    arguments = parser.parse_args()
    try:
        for backbone, images in wanted(arguments.tier, arguments.papers, arguments.network):
            make(backbone, images, arguments)
    except (ValueError, FileNotFoundError) as error:
        sys.exit(str(error))


def with_features(tier: str) -> list[str]:
    """Return the papers whose parameters at a tier name frozen networks."""
    files = sorted((ROOT / "params" / tier).glob("*.yaml"))
    files = [file for file in files if file.stem in CHAPTERS and values_of(file).get("features")]
    if not files:
        raise ValueError(f"{tier}: no parameters of this tier name `features`")
    return [file.stem for file in files]


def wanted(
    tier: str, papers: Sequence[str], network: str | None
) -> Iterator[tuple[features.Backbone, Iterator[Images]]]:
    """Yield each frozen network with the images that all papers show it."""
    users: dict[features.Backbone, list[tuple[Parameters, str]]] = {}
    for paper in papers or with_features(tier):
        parameters = load(paper, tier, root=ROOT)
        if not parameters.features:
            raise ValueError(f"{paper}: its parameters at tier {tier} name no `features`")
        for name, frozen in parameters.features.items():
            if network in (None, name):
                backbone = features.Backbone(**frozen.model_dump())
                users.setdefault(backbone, []).append((parameters, name))
    for backbone, chapters in users.items():
        yield backbone, chain.from_iterable(images_of(*chapter) for chapter in chapters)


def images_of(parameters: Parameters, network: str) -> Iterator[Images]:
    """Yield all images, as pixels, that a chapter shows a network."""
    paper, plain, done = CHAPTERS[parameters.paper], parameters.replace(features={}), set()
    if getattr(parameters, "featuriser", "") in parameters.features:
        yield from paper.roles.halves(plain)  # the features decide the classes of each half
        return
    for part in run.parts(plain):
        backbone = part.identity.get("backbone", network).partition("+")[0]
        if backbone == network and (part.roles is None or part.roles not in done):
            done.add(part.roles)
            yield from features.leaves(paper.experiment.roles(plain, part))


def make(backbone: features.Backbone, images: Iterable[Images], arguments) -> None:
    """Store the missing features of a network, or print their number."""
    lacking = features.missing(backbone, images)
    stored, count = features.packs(backbone), sum(map(len, lacking.values()))
    minutes = f", {count * stored.seconds / len(stored) / 60:.0f} minutes" if len(stored) else ""
    print(f"{backbone.network} at {backbone.size} pixels: {len(stored)} images have features, "
          f"{count} lack them{minutes if count else ''}")  # fmt: skip
    for name, subset in lacking.items():
        print(f"  {name}: {len(subset)}")
    if arguments.list or not count:
        return
    from helpers.networks import frozen_features

    source = frozen_features.open_network(
        backbone, threads=arguments.threads, device=arguments.device
    )
    with tqdm(total=count, unit="image") as bar:
        for name, subset in lacking.items():
            bar.set_description(name, refresh=False)  # with the next image
            frozen_features.store(backbone, source, subset, done=bar.update)


if __name__ == "__main__":
    main()
