"""Arrange the unpacked archive of a data set of photographs as a folder for each class.

    python workflow/arrange.py food101 ~/downloads/food-101

`helpers.data.open_stream` reads the result, ``DATA_ROOT/NAME``.  The folder contains links, so do
not move the archive.  The folder appears completely or not at all.  torchvision's readers of these
layouts first compare the archives with their checksums; we also read archives that are unpacked.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from helpers.checks import known_name
from helpers.data import class_lists, corruptions
from helpers.data.cards import card_of
from helpers.data.directories import is_image
from helpers.files import atomic_folder, content_of, data_root

LAYOUTS = content_of(__file__)


def inside(path: Path, *folders: str) -> Path:
    """Return the first of some folders that exists in `path`."""
    for folder in folders:
        if (path / folder).is_dir():
            return path / folder
    raise ValueError(f"folder {path}: a folder {' or '.join(folders)} expected in it")


def classes_of(name: str, folder: Path) -> Mapping[str, str]:
    """Return the class of each subfolder of a data set's folder.

    The folders of ImageNetV2 are the numbers of the wnids in ascending order
    (github.com/modestyachts/ImageNetV2, issue 4).
    """
    wnids = sorted(class_lists.wnids_of("imagenet"))
    if name == "imagenet_v2":
        return {str(number): wnid for number, wnid in enumerate(wnids)}
    if name in ("places365", "food101", "caltech256"):
        labels = class_lists.names_of(name)
        return {label.replace("/", "-"): label.replace("/", "_") for label in labels}
    if name in ("imagenet_r", "textures"):  # no list of classes: all folders, in a known number
        folders = [path.name for path in folder.iterdir() if path.is_dir()]
        count = card_of(name).classes
        if len(folders) != count or (name == "imagenet_r" and {*folders} - {*wnids}):
            raise ValueError(f"folder {folder}: {count} folders of classes expected")
        wnids = folders
    return {label: label for label in wnids}


def read(name: str, path: Path) -> Iterator[tuple[str, str, Path]]:
    """Yield the folder of each class with split and class, or images without classes."""
    folder = inside(path, *LAYOUTS[name])
    if name in ("inaturalist", "places", "sun"):  # the samples of Huang and Li (2021)
        yield from (("", "", file) for file in sorted(folder.iterdir()) if is_image(file))
        return
    parts = {}
    if name == "imagenet":
        parts = {split: inside(folder, split) for split in ("train", "val")}
    if name == "imagenet_c":
        for kind, group in corruptions.NAMES.items():
            root = inside(folder, kind, f"{group}/{kind}")
            parts |= {f"{kind}/{k}": inside(root, str(k)) for k in corruptions.SEVERITIES}
    for split, part in (parts or {"": folder}).items():
        classes = classes_of(name, part)
        names = sorted(path.name for path in part.iterdir() if path.is_dir())
        # Caltech-256 has a folder without a class
        if odd := sorted({*names} - {"257.clutter"} ^ {*classes}):
            kind = "is absent" if odd[0] in classes else "is the name of no class"
            raise ValueError(f"folder {part / odd[0]}: {kind}, like {len(odd)} folders in all")
        yield from ((split, label, part / name) for name, label in classes.items())


def arrange(name: str, path: Path) -> str:
    """Make the folder of a data set; return one line with its numbers of images and classes."""
    known_name("streamed data set", name, LAYOUTS)
    path = path.expanduser().resolve()
    target = data_root().resolve() / name
    if target.exists() or target.is_symlink():
        raise FileExistsError(
            f"{target} exists already; move the folder, or remove it if it only contains links"
        )
    counts: Counter[str] = Counter()
    classes = set()
    with atomic_folder(target) as folder:
        for split, label, source in read(name, path):
            images = sum(map(is_image, source.rglob("*"))) if source.is_dir() else 1
            if not images:
                raise ValueError(f"folder {source}: no images in it; unpack the archive again")
            link = folder / split / label / ("" if source.is_dir() else source.name)
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(source)
            counts[split] += images
            classes.add(label)
        if not counts:
            raise ValueError(f"folder {path}: no images in it")
    expected = card_of(name).splits
    if not set(counts) <= set(expected):  # one split, in one folder or in many
        counts = Counter(test=counts.total())
    parts = [f"{split} {counts[split]} of {total} images" for split, total in expected.items()]
    return f"{target}: {', '.join(parts)}; {len(classes - {''}) or 'no'} classes"


def main(arguments: list[str] | None = None) -> None:
    """Arrange the data set that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", help=", ".join(LAYOUTS))
    parser.add_argument("path", type=Path, help="the folder of its unpacked archive")
    options = parser.parse_args(arguments)
    print(arrange(options.name, options.path))


if __name__ == "__main__":
    try:
        main()
    except (ValueError, OSError) as error:
        sys.exit(f"arrange: {error}")
