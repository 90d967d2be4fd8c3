"""Arrange the unpacked archive of a data set of photographs as a folder for each class.

    python workflow/arrange.py food101 ~/downloads/food-101

`helpers.data.open_stream` reads the result, ``DATA_ROOT/NAME``.  It holds links, so the archive has
to stay where it is.  The folder appears completely or not at all.  torchvision's readers of these
layouts first compare the archives with their checksums; we also read archives that are unpacked,
made up for a test, or from Kaggle.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

import pandas as pd

from helpers.checks import known_name
from helpers.data import class_lists, corruptions
from helpers.data.cards import find
from helpers.data.directories import is_image
from helpers.files import data_root

Arranged = Iterator[tuple[str, str, Path]]
"""Split, class, and one image of the class or the folder of all its images."""
CLUTTER = "257.clutter"
"""A folder of Caltech-256 without a class."""


def inside(path: Path, *places: str) -> Path:
    """Return the first of some folders that exists in `path`."""
    for place in places:
        if (path / place).is_dir():
            return path / place
    raise ValueError(f"folder {path}: a folder {' or '.join(places)} expected in it")


def folders_of(folder: Path) -> list[str]:
    """Return the names of the folders in a folder, in order."""
    return sorted(path.name for path in folder.iterdir() if path.is_dir())


def class_folders(folder: Path, classes: Mapping[str, str], split: str = "") -> Arranged:
    """Yield the folder of each class; `classes` maps names of folders to classes."""
    names = [name for name in folders_of(folder) if name != CLUTTER]
    if odd := sorted({*names} ^ {*classes}):
        kind = "is absent" if odd[0] in classes else "is the name of no class"
        raise ValueError(f"folder {folder / odd[0]}: {kind}, like {len(odd)} folders in all")
    yield from ((split, classes[name], folder / name) for name in names)


def listed(folder: Path, labels: Mapping[str, str], classes, split: str = "") -> Arranged:
    """Yield each image of a flat folder with its class from the lists of the archive."""
    images = {file.name for file in folder.iterdir() if is_image(file)}
    if odd := sorted(images ^ {*labels}):
        kind = "in no list" if odd[0] in images else "in a list, and absent"
        raise ValueError(f"image {folder / odd[0]}: {kind}, like {len(odd)} images in all")
    if unknown := sorted({*labels.values()} - {*classes}):
        raise ValueError(f"folder {folder}: its lists name '{unknown[0]}', which is no class")
    yield from ((split, label, folder / name) for name, label in labels.items())


def wnids() -> dict[str, str]:
    """Return the classes of ImageNet, by the names of their folders."""
    return {wnid: wnid for wnid in sorted(class_lists.wnids_of("imagenet"))}


def imagenet(path: Path) -> Arranged:
    """Read ``train/WNID`` and ``val``: sorted, or flat with Kaggle's table beside ``ILSVRC``."""
    above, kaggle = inside(path, "ILSVRC/Data/CLS-LOC", "."), path / "LOC_val_solution.csv"
    val = inside(above, "val")
    if kaggle.is_file():
        table = pd.read_csv(kaggle)
        labels = table["PredictionString"].str.partition(" ")[0]
        by_file = dict(zip(table["ImageId"] + ".JPEG", labels, strict=True))
        yield from listed(val, by_file, wnids(), "val")
    elif any(map(is_image, val.iterdir())):
        raise FileNotFoundError(
            f"folder {path}: {kaggle.name} expected, which gives the classes of the images in val; "
            "torchvision.datasets.ImageNet sorts those of the tars into folders"
        )
    else:
        yield from class_folders(val, wnids(), "val")
    yield from class_folders(inside(above, "train"), wnids(), "train")


def imagenet_c(path: Path) -> Arranged:
    """Read ``CORRUPTION/SEVERITY/WNID`` of the four tars, also below noise, blur and so on."""
    for kind, group in corruptions.NAMES.items():
        place = inside(path, kind, f"{group}/{kind}")
        for level in map(str, corruptions.SEVERITIES):
            yield from class_folders(inside(place, level), wnids(), f"{kind}/{level}")


def places365(path: Path) -> Arranged:
    """Read the validation part: sorted (``val/hotel-outdoor``), or flat with its two lists."""
    names = class_lists.names_of("places365")
    place = inside(path, "places365_standard/val", "val", "val_256", "val_large")
    if place.name == "val":
        classes = {name.replace("/", "-"): name.replace("/", "_") for name in names}
        yield from class_folders(place, classes)
        return
    table = pd.read_csv(path / "categories_places365.txt", sep=" ", names=["name", "number"])
    by_number = table.set_index("number")["name"].str[3:].str.replace("/", "_").to_dict()
    table = pd.read_csv(path / "places365_val.txt", sep=" ", names=["file", "number"])
    labels = dict(zip(table["file"], table["number"].map(by_number).fillna("?"), strict=True))
    yield from listed(place, labels, [name.replace("/", "_") for name in names])


def in_folders(name: str, path: Path) -> Arranged:
    """Read a folder for each class, or images without classes: a sample of Huang and Li (2021).

    The folders of ImageNetV2 are the numbers of the wnids in ascending order
    (github.com/modestyachts/ImageNetV2, issue 4).
    """
    folder, card = inside(path, *PLACES[name]), find(name)
    if name in ("inaturalist", "places", "sun"):
        yield from (("", "", file) for file in sorted(folder.iterdir()) if is_image(file))
        return
    if name == "imagenet_v2":
        classes = {str(number): wnid for number, wnid in enumerate(wnids())}
    elif name in ("food101", "caltech256"):
        classes = {label: label for label in class_lists.names_of(name)}
    else:
        classes = {label: label for label in folders_of(folder)}
        unknown = {*classes} - {*wnids()} if name == "imagenet_r" else ()
        if unknown or len(classes) != card.classes:
            raise ValueError(f"folder {folder}: {card.classes} folders of classes expected")
    yield from class_folders(folder, classes)


PLACES = {
    "imagenet_v2": ("imagenetv2-matched-frequency-format-val", "."),
    "imagenet_r": ("imagenet-r", "."),
    "food101": ("images", "food-101/images"),
    "caltech256": ("256_ObjectCategories", "."),
    "textures": ("images", "dtd/images"),
    "inaturalist": ("images", "iNaturalist/images"),
    "places": ("images", "Places/images"),
    "sun": ("images", "SUN/images"),
}
"""The folder of the images, in the archive or above it."""
LAYOUTS: dict[str, Callable[[Path], Arranged]] = {
    "imagenet": imagenet,
    "imagenet_c": imagenet_c,
    "places365": places365,
    **{name: partial(in_folders, name) for name in PLACES},
}


def arrange(name: str, path: Path, root: Path) -> str:
    """Make the folder of a data set; return one line with its numbers of images and classes."""
    known_name("streamed data set", name, LAYOUTS)
    path, target = path.expanduser().resolve(), root.expanduser().resolve() / name
    if target.exists() or target.is_symlink():
        raise FileExistsError(f"{target} is there; move it away, or remove it if it is links alone")
    if not path.is_dir():
        raise FileNotFoundError(f"folder {path}: not there; give that of the unpacked archive")
    counts, classes = Counter(), set()
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{name}.") as temporary:
        folder = Path(temporary) / name
        for split, label, source in LAYOUTS[name](path):
            images = sum(map(is_image, source.rglob("*"))) if source.is_dir() else 1
            if not images:
                raise ValueError(f"folder {source}: no images in it; unpack the archive again")
            place = folder / split / label / ("" if source.is_dir() else source.name)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(source)
            counts[split] += images
            classes.add(label)
        if not counts:
            raise ValueError(f"folder {path}: no images in it")
        folder.rename(target)
    expected = find(name).splits
    if not set(counts) <= set(expected):  # one split, in one folder or in many
        counts = {"test": counts.total()}
    parts = [f"{split} {counts[split]} of {total} images" for split, total in expected.items()]
    return f"{target}: {', '.join(parts)}; {len(classes - {''}) or 'no'} classes"


def main(arguments: list[str] | None = None) -> None:
    """Arrange the data set that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", help=", ".join(LAYOUTS))
    parser.add_argument("path", type=Path, help="the folder of its unpacked archive")
    parser.add_argument("--root", type=Path, help="where its folder goes (default: DATA_ROOT)")
    options = parser.parse_args(arguments)
    print(arrange(options.name, options.path, options.root or data_root()))


if __name__ == "__main__":
    try:
        main()
    except (ValueError, OSError) as error:
        sys.exit(f"arrange: {error}")
