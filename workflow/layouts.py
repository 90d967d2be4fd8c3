"""How the makers of the streamed data sets lay out their archives: what is of which class.

Each function of `LAYOUTS` takes the folder of an unpacked archive and gives split, class and place
of what is in it; `arrange.py` makes links of that.  A class that is none of the data set's, an
image that no list names and a listed image that is not there are refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

from helpers.data import class_lists, corruptions
from helpers.data.cards import find
from helpers.data.directories import is_image

# a split, or nothing; a class, or nothing; one of its images, or the folder of all of them
Arranged = Iterator[tuple[str, str, Path]]


def inside(path: Path, *places: str) -> Path:
    """Return the first of some folders in `path` that is there."""
    found = next((path / place for place in places if (path / place).is_dir()), None)
    if found is None:
        raise ValueError(
            f"folder {path}: none of the known layouts; a folder {' or '.join(places)} expected in "
            "it (see book/how_to_run.md)"
        )
    return found


def class_folders(
    place: Path,
    classes: Mapping[str, str] | None = None,
    *,
    count: int | None = None,
    split: str = "",
) -> Arranged:
    """Give the class and the folder of each class.

    Parameters
    ----------
    place : Path
    classes : mapping of str to str, optional
        The class of each folder, by the folder's name; without, any folder is one.  A folder whose
        class is empty is left out.
    count : int, optional
        How many of them there are, if not all.
    split : str
    """
    shown = [one for one in sorted(place.iterdir()) if not one.name.startswith(".")]
    if loose := [one for one in shown if is_image(one)]:
        raise ValueError(
            f"image {loose[0]}: lies beside the folders of the classes, in none of them"
        )
    folders = {one.name: one for one in shown if one.is_dir()}
    classes = classes or {name: name for name in folders}
    if unknown := [name for name in folders if name not in classes]:
        raise ValueError(
            f"folder {folders[unknown[0]]}: the name of no class; names like "
            f"{', '.join(sorted(classes)[:3])} expected"
        )
    needed = [name for name in classes if classes[name]]
    if count is None and (absent := [name for name in needed if name not in folders]):
        raise ValueError(
            f"folder {place}: no folder {absent[0]} in it, and {len(absent)} of {len(needed)} "
            "absent in all; unpack the archive again"
        )
    if count not in (None, len(folders)):
        raise ValueError(f"folder {place}: {count} folders of classes expected, got {len(folders)}")
    yield from ((split, classes[one], folder) for one, folder in folders.items() if classes[one])


def matches(
    file: Path, pattern: str, example: str, first: int = 1
) -> Iterator[tuple[str, re.Match]]:
    """Give of each line of a list, from the line `first` on, where it stands and what it says."""
    if not file.is_file():
        raise FileNotFoundError(f"list {file}: not there, and says which image is of which class")
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        if number >= first:
            match = re.fullmatch(pattern, line.strip())
            if match is None:
                raise ValueError(
                    f"{file}, line {number}: '{example}' or alike expected, got '{line}'"
                )
            yield f"{file}, line {number}", match


def listed(
    place: Path, lines: Mapping[str, tuple[str, str]], classes: Mapping[str, str], split: str = ""
) -> Arranged:
    """Give the class of each image as lists have it.

    Parameters
    ----------
    place : Path
        The folder of the images, which have to be those of the lists.
    lines : mapping of str to (str, str)
        Of each image, by its path in that folder, which line speaks of it, and what it says.
    classes : mapping of str to str
        The class, by what a line says.
    split : str
    """
    there = {file.relative_to(place).as_posix() for file in place.rglob("*") if is_image(file)}
    if unnamed := sorted(there - set(lines)):
        lists = dict.fromkeys(where.rpartition(", ")[0] for where, _ in lines.values())
        raise ValueError(
            f"image {place / unnamed[0]}: in no line of {' or '.join(lists) or 'its list'}, like "
            f"{len(unnamed)} images in all"
        )
    for file, (where, said) in lines.items():
        if file not in there:
            absent = len(set(lines) - there)
            raise ValueError(
                f"{where}: there is no image {place / file}; {absent} images are absent in all"
            )
        if said not in classes:
            raise ValueError(f"{where}: '{said}' is none of the {len(classes)} classes")
        yield split, classes[said], place / file


def imagenet(path: Path) -> Arranged:
    """Read ``train/WNID`` and ``val``, which is flat or sorted like it; of Kaggle, too.

    Flat, the classes of ``val/ILSVRC2012_val_00000001.JPEG`` and the others are in
    ``LOC_val_solution.csv`` if it is Kaggle's archive, with ``ILSVRC/Data/CLS-LOC`` above both, or
    in the development kit, ``ILSVRC2012_devkit_t12``, beside them (after
    `torchvision.datasets.imagenet`).  In ``train``, each class's tar has to be unpacked into a
    folder with its name.
    """
    above, wnids = inside(path, "ILSVRC/Data/CLS-LOC", "."), _wnids()
    train, val = inside(above, "train"), inside(above, "val")
    if any(map(is_image, val.iterdir())):
        yield from listed(val, _validation_lines(path), wnids, "val")
    else:
        yield from class_folders(val, wnids, split="val")
    yield from class_folders(train, wnids, split="train")


def _wnids() -> dict[str, str]:
    return {wnid: wnid for wnid in class_lists.wnids_of("imagenet")}


def _validation_lines(path: Path) -> dict[str, tuple[str, str]]:
    """Return which line gives an image of ImageNet's validation part its wnid, and that."""
    table = path / "LOC_val_solution.csv"
    if table.is_file():
        example = "ILSVRC2012_val_00048981,n03995372 85 1 499 272"
        rows = matches(table, r"(\w+),(n\d{8})\b.*", example, first=2)
        return {f"{row[1]}.JPEG": (where, row[2]) for where, row in rows}
    kit = path / "ILSVRC2012_devkit_t12" / "data"
    if not kit.is_dir():
        raise FileNotFoundError(
            f"folder {path}: neither {table.name} (Kaggle's) nor the development kit "
            "ILSVRC2012_devkit_t12, one of which says of which class the images in val are"
        )
    wnids = _wnids_by_number(kit / "meta.mat")
    rows = matches(kit / "ILSVRC2012_validation_ground_truth.txt", r"\d+", "490")
    return {
        f"ILSVRC2012_val_{number:08d}.JPEG": (where, wnids.get(row[0], row[0]))
        for number, (where, row) in enumerate(rows, 1)
    }


def _wnids_by_number(file: Path) -> dict[str, str]:
    """Return the wnid of each number that the development kit has for a class."""
    from scipy.io import loadmat

    if not file.is_file():
        raise FileNotFoundError(f"list {file}: not there, and says which number is which wnid")
    try:
        synsets = loadmat(file, squeeze_me=True)["synsets"]
        return {str(one["ILSVRC2012_ID"]): str(one["WNID"]) for one in synsets}
    except Exception as error:  # of a broken file, the reader raises almost anything
        raise ValueError(f"{file}: no table of synsets can be read from it: {error}") from error


def imagenet_c(path: Path) -> Arranged:
    """Read ``CORRUPTION/SEVERITY/WNID`` of the four tars, also below noise, blur, weather, digital.

    The four corruptions of ``extra.tar`` are left out (Hendrycks and Dietterich, 2019).
    """
    wnids = _wnids()
    for kind, group in corruptions.NAMES.items():
        place = inside(path, kind, f"{group}/{kind}")
        for level in map(str, corruptions.SEVERITIES):
            yield from class_folders(inside(place, level), wnids, split=f"{kind}/{level}")


def imagenet_v2(path: Path) -> Arranged:
    """Read folders ``0`` to ``999``, the numbers of ImageNet's wnids in ascending order.

    So say its makers (github.com/modestyachts/ImageNetV2, issue 4); in the order of their names,
    10 would come before 2.
    """
    classes = {str(number): wnid for number, wnid in enumerate(sorted(_wnids()))}
    base = inside(path, "imagenetv2-matched-frequency-format-val", ".")
    yield from class_folders(base, classes)


def imagenet_r(path: Path) -> Arranged:
    """Read two hundred folders ``WNID``, and no ``README.txt``."""
    base = inside(path, "imagenet-r", ".")
    yield from class_folders(base, _wnids(), count=find("imagenet_r").classes)


def food101(path: Path) -> Arranged:
    """Read ``images/CLASS/NUMBER.jpg``, which have to be those of ``meta/{train,test}.txt``.

    Both halves become one split (the layout as in `torchvision.datasets.food101`).
    """
    place = inside(path, "images", "food-101/images")
    lists = [place.parent / "meta" / f"{half}.txt" for half in ("train", "test")]
    lines = {
        f"{row[0]}.jpg": (where, row[1])
        for file in lists
        for where, row in matches(file, r"(\w+)/\w+", "apple_pie/1005649")
    }
    yield from listed(place, lines, {name: name for name in class_lists.names_of("food101")})


def caltech256(path: Path) -> Arranged:
    """Read ``256_ObjectCategories/001.ak47`` and the others, without ``257.clutter``."""
    classes = {name: name for name in class_lists.names_of("caltech256")} | {"257.clutter": ""}
    base = inside(path, "256_ObjectCategories", ".")
    yield from class_folders(base, classes)


def places365(path: Path) -> Arranged:
    """Read the validation part: sorted, as ``places365standard_easyformat.tar`` has it, or flat.

    Sorted, hyphens stand where the class's name has slashes: ``val/hotel-outdoor``.  Flat, the
    classes of ``val_256/Places365_val_00000001.jpg`` or ``val_large`` are numbers in
    ``places365_val.txt``, and these are named in ``categories_places365.txt`` (after
    `torchvision.datasets.places365`).
    """
    names = class_lists.names_of("places365")
    place = inside(path, "places365_standard/val", "val", "val_256", "val_large")
    if place.name == "val":
        folders = {name.replace("/", "-"): name.replace("/", "_") for name in names}
        yield from class_folders(place, folders)
        return
    classes, example = {}, "/a/apartment_building/outdoor 8"
    for where, row in matches(path / "categories_places365.txt", r"/\w/(\S+) (\d+)", example):
        if row[1] not in names:
            raise ValueError(f"{where}: '{row[1]}' is none of the {len(names)} classes")
        classes[row[2]] = row[1].replace("/", "_")
    rows = matches(path / "places365_val.txt", r"(\S+) (\d+)", "Places365_val_00000001.jpg 165")
    lines = {row[1]: (where, row[2]) for where, row in rows}
    yield from listed(place, lines, classes)


def textures(path: Path) -> Arranged:
    """Read ``images/CLASS``, whatever the lists in ``labels`` say (`torchvision.datasets.dtd`)."""
    place = inside(path, "images", "dtd/images")
    yield from class_folders(place, count=find("textures").classes)


def in_one_folder(path: Path, archive: str) -> Arranged:
    """Read ``images``, which has no classes: a sample of Huang and Li (2021)."""
    place = inside(path, "images", f"{archive}/images")
    for one in sorted(place.iterdir()):
        if one.is_dir():
            raise ValueError(f"folder {one}: images alone expected in {place}")
        if is_image(one):
            yield "", "", one


LAYOUTS: dict[str, Callable[[Path], Arranged]] = {
    "imagenet": imagenet,
    "imagenet_c": imagenet_c,
    "imagenet_v2": imagenet_v2,
    "imagenet_r": imagenet_r,
    "food101": food101,
    "caltech256": caltech256,
    "places365": places365,
    "inaturalist": partial(in_one_folder, archive="iNaturalist"),
    "places": partial(in_one_folder, archive="Places"),
    "sun": partial(in_one_folder, archive="SUN"),
    "textures": textures,
}
