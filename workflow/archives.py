"""Small made-up archives of the streamed data sets, in the layout of their makers.

Each function of `ARCHIVES` describes an archive, `write` writes it, and `arrange.py` reads it.
"""

from __future__ import annotations

import io
import os
import zlib
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image

from helpers.data import class_lists, corruptions

Files = dict[str, str]
"""The class of each image, by its path in the archive."""

KIT = "ILSVRC2012_devkit_t12/data"
TRUTH = f"{KIT}/ILSVRC2012_validation_ground_truth.txt"
V2 = "imagenetv2-matched-frequency-format-val"
SIZE = (64, 48)


class Archive(NamedTuple):
    """The images of each split, other files by path, and images that `arrange.py` leaves out."""

    splits: dict[str, Files]
    others: Mapping[str, str | bytes] = {}
    unread: Mapping[str, str] = {}


def pixels(label: str, name: str, size: tuple[int, int]) -> Image.Image:
    """Return soft patches: the class decides most of the colour, the name the rest.

    A small network learns the colour in a few steps, from any crop of the picture.
    """
    of_class, of_name = (np.random.default_rng(zlib.crc32(word.encode())) for word in (label, name))
    colour = of_class.integers(32, 224, 3)
    patches = colour + of_class.normal(0, 25, (3, 4, 3)) + of_name.normal(0, 8, (3, 4, 3))
    image = Image.fromarray(patches.clip(0, 255).astype(np.uint8))
    return image.resize(size, Image.Resampling.BICUBIC)


def picture(label: str, name: str) -> bytes:
    """Return the JPEG file of a class and a name."""
    buffer = io.BytesIO()
    pixels(label, name, SIZE).save(buffer, "jpeg")
    return buffer.getvalue()


def write(folder: Path, archive: Archive, draw: Callable[[str, str], bytes] = picture) -> Archive:
    """Write an archive into a folder; images of the same class and name are links to one file."""
    drawn: dict[tuple[str, str], Path] = {}
    images = {file: label for files in archive.splits.values() for file, label in files.items()}
    for file, content in (images | {**archive.unread} | {**archive.others}).items():
        path = folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        if file in archive.others:
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        elif first := drawn.get((content, path.name)):
            os.link(first, path)
        else:
            path.write_bytes(draw(content, path.name))
            drawn[content, path.name] = path
    return archive


def wnids() -> tuple[str, ...]:
    """Return ImageNet's classes in the order of their names."""
    return tuple(class_lists.wnids_of("imagenet"))


def validation(number: int) -> str:
    """Return the file name of a validation image of ImageNet."""
    return f"ILSVRC2012_val_{number:08d}.JPEG"


def synsets(numbered: Iterable[str]) -> bytes:
    """Return the development kit's table: the classes, numbered from 1, and a node above them."""
    from scipy.io import savemat

    fields = ("ILSVRC2012_ID", "WNID", "words", "gloss", "num_children", "wordnet_height",
              "num_train_images")  # fmt: skip
    rows = [(n, wnid, "a, b", "a thing", 0, 0, 1300) for n, wnid in enumerate(numbered, 1)]
    rows.append((len(rows) + 1, "n00001740", "entity", "all", len(rows), 9, 0))
    table = np.array(rows, [(field, object) for field in fields])[:, np.newaxis]
    savemat(buffer := io.BytesIO(), {"synsets": table})
    return buffer.getvalue()


def imagenet_training(above: str = "", numbers: Iterable[int] = (18, 7)) -> Files:
    """Return ``train/WNID/WNID_NUMBER.JPEG``."""
    return {f"{above}train/{name}/{name}_{k}.JPEG": name for name in wnids() for k in numbers}


def imagenet(numbers: Iterable[int] = (18, 7)) -> Archive:
    """Describe both parts, the validation images in one folder, with the development kit.

    The numbers of the classes are not in the order of their wnids; two classes have two
    validation images, the others one.
    """
    numbered = wnids()[::-1]
    truth = [3, len(numbered), 1, *range(2, len(numbered)), 2]
    files = {f"val/{validation(k)}": numbered[number - 1] for k, number in enumerate(truth, 1)}
    others = {TRUTH: "".join(f"{number}\n" for number in truth)}
    others[f"{KIT}/meta.mat"] = synsets(numbered)
    return Archive({"train": imagenet_training(numbers=numbers), "val": files}, others)


def imagenet_c() -> Archive:
    """Describe all corruptions at all severities; one of the archives has a folder around it."""
    files = {
        f"{'blur/' * (group == 'blur')}{kind}/{level}/{name}/{validation(1)}": name
        for kind, group in corruptions.NAMES.items()
        for level in corruptions.SEVERITIES
        for name in wnids()
    }
    unread = {f"speckle_noise/1/{wnids()[0]}/{validation(2)}": "noise"}
    return Archive({"test": files}, unread=unread)


def imagenet_v2(images: int = 2) -> Archive:
    """Describe folders with the numbers of the classes."""
    numbered = enumerate(wnids())
    files = {f"{V2}/{k}/{k}ab{n}.jpeg": name for k, name in numbered for n in range(images)}
    return Archive({"test": files})


def imagenet_r() -> Archive:
    """Describe two hundred classes, in two kinds of rendition."""
    names = wnids()[::5]
    files = {f"imagenet-r/{name}/{kind}_0.jpg": name for name in names for kind in ("art", "toy")}
    return Archive({"test": files}, {"imagenet-r/README.txt": "of renditions"})


def food101() -> Archive:
    """Describe the images of two lists, each with one image of each class."""
    names, others, files = class_lists.names_of("food101"), {}, {}
    for half, number in (("train", 70), ("test", 8)):
        others[f"food-101/meta/{half}.txt"] = "".join(f"{name}/{number}\n" for name in names)
        files |= {f"food-101/images/{name}/{number}.jpg": name for name in names}
    return Archive({"test": files}, others)


def caltech256() -> Archive:
    """Describe a folder for each class, and the archive's other files."""
    folder, names = "256_ObjectCategories", class_lists.names_of("caltech256")
    files = {f"{folder}/{name}/{name[:3]}_0001.jpg": name for name in names}
    others = {f"{folder}/{name}": "" for name in ("198.spider/RENAME2", "056.dog/greg/vision309")}
    return Archive({"test": files}, others, {f"{folder}/257.clutter/257_0001.jpg": "clutter"})


def places365() -> Archive:
    """Describe two images for each class, in another order than the classes, with their lists."""
    names = class_lists.names_of("places365")
    numbers = [*reversed(range(365)), *range(365)]
    listing = [(f"Places365_val_{k:08d}.jpg", number) for k, number in enumerate(numbers, 1)]
    rows = [f"/{name[0]}/{name} {number}\n" for number, name in enumerate(names)]
    others = {
        "categories_places365.txt": "".join(rows),
        "places365_val.txt": "".join(f"{file} {number}\n" for file, number in listing),
        "places365_test.txt": "Places365_test_00000001.jpg\n",
    }
    files = {f"val_256/{file}": names[number].replace("/", "_") for file, number in listing}
    return Archive({"test": files}, others)


def textures() -> Archive:
    """Describe two images of each of 47 classes."""
    names = [f"t{k:02d}ed" for k in range(47)]
    files = {f"dtd/images/{name}/{name}_{n}.jpg": name for name in names for n in (2, 11)}
    others = dict.fromkeys(["dtd/images/t04ed/.directory", "dtd/labels/test1.txt"], "")
    return Archive({"test": files}, others)


def in_one_folder(folder: str, images: int = 4) -> Archive:
    """Describe images without classes: a sample of Huang and Li (2021)."""
    return Archive({"test": {f"{folder}/images/{k}a.jpg": folder.lower() for k in range(images)}})


ARCHIVES: dict[str, Callable[..., Archive]] = {
    "imagenet": imagenet,
    "imagenet_c": imagenet_c,
    "imagenet_v2": imagenet_v2,
    "imagenet_r": imagenet_r,
    "food101": food101,
    "caltech256": caltech256,
    "places365": places365,
    "textures": textures,
    "inaturalist": partial(in_one_folder, "iNaturalist"),
    "places": partial(in_one_folder, "Places"),
    "sun": partial(in_one_folder, "SUN"),
}
"""The description of the archive of each streamed data set."""
