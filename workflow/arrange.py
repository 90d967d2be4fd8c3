"""Arrange the unpacked archive of a data set of photographs as a folder for each class.

    python workflow/arrange.py food101 ~/downloads/food-101

`helpers.data.open_stream` reads the result, ``DATA_ROOT/NAME``.  It holds links, so the archive has
to stay where it is.  The folder appears completely or not at all.  torchvision's readers of these
layouts first compare the archives with their checksums; we also read archives that are unpacked,
made up for the rehearsal, or from Kaggle.
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
from scipy.io import loadmat

from helpers.checks import known_name
from helpers.data import class_lists, corruptions
from helpers.data.cards import find
from helpers.data.directories import is_image
from helpers.files import data_root

Arranged = Iterator[tuple[str, str, Path]]
"""Split, class, and one image of the class or the folder of all its images."""


def inside(path: Path, *places: str) -> Path:
    """Return the first of some folders that exists in `path`."""
    for place in places:
        if (path / place).is_dir():
            return path / place
    raise ValueError(f"folder {path}: a folder {' or '.join(places)} expected in it")


def class_folders(folder: Path, classes: Mapping[str, str], split: str = "") -> Arranged:
    """Yield the folder of each class; `classes` maps folder names to classes, "" leaves one out."""
    names = {path.name for path in folder.iterdir() if not path.name.startswith(".")}
    if loose := sorted(name for name in names if is_image(folder / name)):
        raise ValueError(f"image {folder / loose[0]}: in the folder of no class")
    folders = {name for name in names if (folder / name).is_dir()}
    if unknown := sorted(folders - set(classes)):
        raise ValueError(f"folder {folder / unknown[0]}: the name of no class")
    if absent := sorted(name for name in set(classes) - folders if classes[name]):
        raise ValueError(f"folder {folder}: {len(absent)} classes are absent, {absent[0]} is one")
    yield from ((split, classes[name], folder / name) for name in sorted(folders) if classes[name])


def listed(folder: Path, labels: Mapping[str, str], classes, split: str = "") -> Arranged:
    """Yield each image of a flat folder with its class from the lists of the archive."""
    images = {file.name for file in folder.iterdir() if is_image(file)}
    if odd := sorted(images ^ set(labels)):
        kind = "in no list" if odd[0] in images else "in a list, and absent"
        raise ValueError(f"image {folder / odd[0]}: {kind}, like {len(odd)} images in all")
    if unknown := sorted({*labels.values()} - {*classes}):
        raise ValueError(f"folder {folder}: its lists name '{unknown[0]}', which is no class")
    yield from ((split, label, folder / name) for name, label in labels.items())


def imagenet(path: Path) -> Arranged:
    """Read ``train/WNID`` and ``val``, flat or sorted, also below Kaggle's ``ILSVRC``."""
    above, wnids = inside(path, "ILSVRC/Data/CLS-LOC", "."), class_lists.wnids_of("imagenet")
    classes, val = {wnid: wnid for wnid in wnids}, inside(above, "val")
    if any(map(is_image, val.iterdir())):
        yield from listed(val, validation_labels(path), classes, "val")
    else:
        yield from class_folders(val, classes, "val")
    yield from class_folders(inside(above, "train"), classes, "train")


def validation_labels(path: Path) -> dict[str, str]:
    """Return the wnid of each validation image of ImageNet: by Kaggle's table, or by the kit."""
    kaggle, kit = path / "LOC_val_solution.csv", path / "ILSVRC2012_devkit_t12" / "data"
    if kaggle.is_file():
        table = pd.read_csv(kaggle)
        wnids = table["PredictionString"].str.partition(" ")[0]
        return dict(zip(table["ImageId"] + ".JPEG", wnids, strict=True))
    if not kit.is_dir():
        raise FileNotFoundError(
            f"folder {path}: {kaggle.name} (Kaggle's) or the development kit ILSVRC2012_devkit_t12 "
            "expected, which gives the classes of the images in val"
        )
    try:
        synsets = loadmat(kit / "meta.mat", squeeze_me=True)["synsets"]
    except Exception as error:  # the reader raises almost anything for a broken file
        raise ValueError(f"{kit / 'meta.mat'}: no table of synsets can be read: {error}") from error
    wnids = {int(synset["ILSVRC2012_ID"]): str(synset["WNID"]) for synset in synsets}
    truth = (kit / "ILSVRC2012_validation_ground_truth.txt").read_text().split()
    labels = [wnids.get(int(number), number) for number in truth]
    return {f"ILSVRC2012_val_{n:08d}.JPEG": wnid for n, wnid in enumerate(labels, 1)}


def imagenet_c(path: Path) -> Arranged:
    """Read ``CORRUPTION/SEVERITY/WNID`` of the four tars, also below noise, blur and so on."""
    wnids = {wnid: wnid for wnid in class_lists.wnids_of("imagenet")}
    for kind, group in corruptions.NAMES.items():
        place = inside(path, kind, f"{group}/{kind}")
        for level in map(str, corruptions.SEVERITIES):
            yield from class_folders(inside(place, level), wnids, f"{kind}/{level}")


def imagenet_v2(path: Path) -> Arranged:
    """Read folders ``0`` to ``999``: the numbers of the wnids in ascending order.

    Source: github.com/modestyachts/ImageNetV2, issue 4.
    """
    wnids = sorted(class_lists.wnids_of("imagenet"))
    classes = {str(number): wnid for number, wnid in enumerate(wnids)}
    yield from class_folders(inside(path, "imagenetv2-matched-frequency-format-val", "."), classes)


def imagenet_r(path: Path) -> Arranged:
    """Read two hundred folders ``WNID``."""
    folder, wnids = inside(path, "imagenet-r", "."), class_lists.wnids_of("imagenet")
    names = {place.name for place in folder.iterdir() if place.is_dir()}
    if names - set(wnids) or len(names) != find("imagenet_r").classes:
        raise ValueError(f"folder {folder}: 200 folders with names of ImageNet's classes expected")
    yield from class_folders(folder, {name: name for name in names})


def named_folders(path: Path, data_set: str, *places: str, **left_out: str) -> Arranged:
    """Read a folder for each class of a data set with a list of classes."""
    classes = {name: name for name in class_lists.names_of(data_set)}
    yield from class_folders(inside(path, *places), classes | left_out)


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


def textures(path: Path) -> Arranged:
    """Read ``images/CLASS`` of the 47 classes of DTD."""
    folder = inside(path, "images", "dtd/images")
    names = [place.name for place in folder.iterdir() if place.is_dir()]
    if len(names) != find("textures").classes:
        raise ValueError(f"folder {folder}: 47 folders of classes expected, got {len(names)}")
    yield from class_folders(folder, {name: name for name in names})


def one_folder(path: Path, archive: str) -> Arranged:
    """Read ``images`` without classes: a sample of Huang and Li (2021)."""
    for file in sorted(inside(path, "images", f"{archive}/images").iterdir()):
        if file.is_dir():
            raise ValueError(f"folder {file}: only images expected in {file.parent}")
        if is_image(file):
            yield "", "", file


LAYOUTS: dict[str, Callable[[Path], Arranged]] = {
    "imagenet": imagenet,
    "imagenet_c": imagenet_c,
    "imagenet_v2": imagenet_v2,
    "imagenet_r": imagenet_r,
    "food101": lambda path: named_folders(path, "food101", "images", "food-101/images"),
    "caltech256": lambda path: named_folders(
        path, "caltech256", "256_ObjectCategories", ".", **{"257.clutter": ""}
    ),
    "places365": places365,
    "inaturalist": partial(one_folder, archive="iNaturalist"),
    "places": partial(one_folder, archive="Places"),
    "sun": partial(one_folder, archive="SUN"),
    "textures": textures,
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
        made = Path(temporary) / name
        for split, label, source in LAYOUTS[name](path):
            images = sum(map(is_image, source.rglob("*"))) if source.is_dir() else 1
            if not images:
                raise ValueError(f"folder {source}: no images in it; unpack the archive again")
            place = made / split / label / ("" if source.is_dir() else source.name)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(source)
            counts[split] += images
            classes.add(label)
        if not counts:
            raise ValueError(f"folder {path}: no images in it")
        made.rename(target)
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
