"""Store the features of a frozen network that a tier's heads see in the place of images.

    DATA_ROOT=... python workflow/features.py frozen                        # of all chapters
    DATA_ROOT=... python workflow/features.py frozen unknown_detection --list
    DATA_ROOT=... python workflow/features.py frozen uimnet --only cifar100/train --threads 2

Each image is computed once for each network, whatever chapters and roles it is in.  Interrupted,
it goes on where it stopped when started again; packs go to DATA_ROOT/features.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tqdm import tqdm  # noqa: E402

from helpers.data import Images, features  # noqa: E402
from helpers.papers import run  # noqa: E402
from helpers.papers.parameters import Parameters, values_of  # noqa: E402
from known_unknowns.chapters import CHAPTERS, load  # noqa: E402


def main() -> None:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("tier")
    parser.add_argument("papers", nargs="*", metavar="PAPER", help="by default all with features")
    parser.add_argument("--network", help="of a chapter's networks this one; by default all")
    parser.add_argument("--only", nargs="+", metavar="SET/SPLIT", help="of these images alone")
    parser.add_argument("--most", type=int, help="of each of them so many at most, for a trial")
    parser.add_argument("--list", action="store_true", help="only say what there is to do")
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
    found = [one.stem for one in files if one.stem in CHAPTERS and values_of(one).get("features")]
    if not found:
        raise ValueError(f"{tier}: no parameters of this tier name `features`")
    return found


def wanted(
    tier: str, papers: Sequence[str], network: str | None
) -> Iterator[tuple[features.Backbone, Iterator[Images]]]:
    """Yield each frozen network with all images that it is to see, in all papers together."""
    found: dict[features.Backbone, list[tuple[Parameters, str]]] = {}
    for paper in papers or with_features(tier):
        parameters = load(paper, tier, root=ROOT)
        if not parameters.features:
            raise ValueError(f"{paper}: its parameters at tier {tier} name no `features`")
        for name, frozen in parameters.features.items():
            if network in (None, name):
                backbone = features.Backbone(**frozen.model_dump())
                found.setdefault(backbone, []).append((parameters, name))
    for backbone, chapters in found.items():
        yield backbone, chain.from_iterable(images_of(*chapter) for chapter in chapters)


def images_of(parameters: Parameters, network: str) -> Iterator[Images]:
    """Yield all images that a network of a chapter is shown, as pixels."""
    paper, plain, done = CHAPTERS[parameters.paper], parameters.replace(features={}), set()
    if getattr(parameters, "featuriser", "") in parameters.features:
        yield from paper.roles.halves(plain)  # which classes are whose, the features will say
        return
    for part in run.parts(plain):
        own = part.identity.get("backbone", network).partition("+")[0]
        if own == network and (part.roles is None or part.roles not in done):
            done.add(part.roles)
            yield from features.leaves(paper.experiment.roles(plain, part))


def make(backbone: features.Backbone, images: Iterable[Images], arguments) -> None:
    """Store what is missing of a network's features, with a bar; or say how much it is."""
    lacking = features.missing(backbone, images)
    if arguments.only:
        lacking = {name: one for name, one in lacking.items() if name in arguments.only}
    if arguments.most:
        lacking = {name: one.subset(slice(arguments.most)) for name, one in lacking.items()}
    have, count = features.packs(backbone), sum(map(len, lacking.values()))
    each = have.seconds / len(have) if len(have) else None
    print(f"{backbone.network} at {backbone.size} pixels: {len(have)} images have features, "
          f"{count} lack them{_minutes(count, each)}")  # fmt: skip
    for name, one in lacking.items():
        print(f"  {name}: {len(one)}{_minutes(len(one), each)}")
    if arguments.list or not count:
        return
    from helpers.networks import frozen_features

    source = frozen_features.open_network(
        backbone, threads=arguments.threads, device=arguments.device
    )
    with tqdm(total=count, unit="image") as bar:
        for name, one in lacking.items():
            bar.set_description(name, refresh=False)  # with the next image
            frozen_features.store(backbone, source, one, done=bar.update)


def _minutes(count: int, each: float | None) -> str:
    return f", {count * each / 60:.0f} minutes as those before" if each and count else ""


if __name__ == "__main__":
    main()
