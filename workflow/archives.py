"""Small archives of made-up images, laid out as the makers of the streamed data sets do it.

Each function of `ARCHIVES` writes an unpacked archive into a folder, and returns what it wrote;
`arrange.py` reads it.
"""

from __future__ import annotations

import io
import os
import zlib
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path

import numpy as np
from PIL import Image

from helpers.data import class_lists, corruptions

Draw = Callable[[str, str], bytes]
"""From the class and the name of a file to an image file."""
Files = dict[str, str]
"""The class of each image, by its path in the archive."""

KIT = "ILSVRC2012_devkit_t12/data"
TRUTH = f"{KIT}/ILSVRC2012_validation_ground_truth.txt"
V2 = "imagenetv2-matched-frequency-format-val"
WIDE, HIGH = 64, 48


def pixels(label: str, name: str, wide: int, high: int) -> Image.Image:
    """Draw a picture: a colour and soft patches that are its class's, and some that are its own.

    The colour is what a small network learns in a few steps, whatever part of the picture it sees.
    """
    base, own = (np.random.default_rng(zlib.crc32(word.encode())) for word in (label, name))
    patches = (
        base.integers(32, 224, 3) + base.normal(0, 25, (3, 4, 3)) + own.normal(0, 8, (3, 4, 3))
    )
    image = Image.fromarray(patches.clip(0, 255).astype(np.uint8))
    return image.resize((wide, high), Image.Resampling.BICUBIC)


def picture(label: str, name: str) -> bytes:
    """Return a JPEG file of a class and a name, always the same one."""
    buffer = io.BytesIO()
    pixels(label, name, WIDE, HIGH).save(buffer, "jpeg")
    return buffer.getvalue()


def put(archive: Path, files: Iterable[str], content: bytes | str) -> None:
    """Write files that all have the same content."""
    for file in files:
        (archive / file).parent.mkdir(parents=True, exist_ok=True)
        (archive / file).write_bytes(content.encode() if isinstance(content, str) else content)


def put_images(archive: Path, files: Mapping[str, str], draw: Draw) -> None:
    """Draw the images of an archive; files of the same class and name are one file with links."""
    drawn: dict[tuple[str, str], Path] = {}
    folders = {}
    for file, label in files.items():
        above, _, name = file.rpartition("/")
        if above not in folders:
            folders[above] = archive / above
            folders[above].mkdir(parents=True, exist_ok=True)
        place = folders[above] / name
        if first := drawn.get((label, name)):
            os.link(first, place)
        else:
            place.write_bytes(draw(label, name))
            drawn[label, name] = place


def wnids() -> tuple[str, ...]:
    """Return ImageNet's classes in the order of their names."""
    return tuple(class_lists.wnids_of("imagenet"))


def validation(number: int) -> str:
    """Return what a validation image of ImageNet is called."""
    return f"ILSVRC2012_val_{number:08d}.JPEG"


def synsets(archive: Path, numbered: Iterable[str]) -> None:
    """Write the development kit's table: the classes, numbered from 1, and a node above them."""
    from scipy.io import savemat

    fields = ("ILSVRC2012_ID", "WNID", "words", "gloss", "num_children", "wordnet_height",
              "num_train_images")  # fmt: skip
    rows = [(n, wnid, "a, b", "a thing", 0, 0, 1300) for n, wnid in enumerate(numbered, 1)]
    rows.append((len(rows) + 1, "n00001740", "entity", "all", len(rows), 9, 0))
    table = np.array(rows, [(field, object) for field in fields])[:, np.newaxis]
    (archive / KIT).mkdir(parents=True)
    savemat(archive / KIT / "meta.mat", {"synsets": table})


def imagenet_training(
    archive: Path, draw: Draw = picture, above: str = "", numbers: Iterable[int] = (18, 7)
) -> Files:
    """Write ``train/WNID/WNID_NUMBER.JPEG``."""
    files = {f"{above}train/{one}/{one}_{k}.JPEG": one for one in wnids() for k in numbers}
    put_images(archive, files, draw)
    return files


def imagenet(
    archive: Path, draw: Draw = picture, numbers: Iterable[int] = (18, 7)
) -> dict[str, Files]:
    """Write both parts, the validation images flat beside the development kit.

    The numbers of the classes are not in the order of their wnids; of each class there is one
    validation image, of two there are two.
    """
    numbered = wnids()[::-1]
    synsets(archive, numbered)
    truth = [3, len(numbered), 1, *range(2, len(numbered)), 2]
    put(archive, [TRUTH], "".join(f"{number}\n" for number in truth))
    files = {
        f"val/{validation(place)}": numbered[number - 1] for place, number in enumerate(truth, 1)
    }
    put_images(archive, files, draw)
    return {"train": imagenet_training(archive, draw, numbers=numbers), "val": files}


def imagenet_c(archive: Path, draw: Draw = picture) -> dict[str, Files]:
    """Write all corruptions at all severities; one of the tars is in a folder of its own."""
    files = {
        f"{'blur/' * (group == 'blur')}{kind}/{level}/{one}/{validation(1)}": one
        for kind, group in corruptions.NAMES.items()
        for level in corruptions.SEVERITIES
        for one in wnids()
    }
    put_images(archive, files, draw)
    put_images(archive, {f"speckle_noise/1/{wnids()[0]}/{validation(2)}": "noise"}, draw)
    return {"test": files}


def imagenet_v2(archive: Path, draw: Draw = picture, images: int = 2) -> dict[str, Files]:
    """Write folders with the numbers of the classes."""
    names = wnids()
    files = {f"{V2}/{k}/{k}ab{n}.jpeg": one for k, one in enumerate(names) for n in range(images)}
    put_images(archive, files, draw)
    return {"test": files}


def imagenet_r(archive: Path, draw: Draw = picture) -> dict[str, Files]:
    """Write two hundred classes, in two kinds of rendition."""
    named = wnids()[::5]
    files = {f"imagenet-r/{one}/{kind}_0.jpg": one for one in named for kind in ("art", "toy")}
    put_images(archive, files, draw)
    put(archive, ["imagenet-r/README.txt"], "of renditions")
    return {"test": files}


def food101(archive: Path, draw: Draw = picture) -> dict[str, Files]:
    """Write the images of two lists, one of each class in each."""
    names = class_lists.names_of("food101")
    halves = {half: [f"{one}/{k}" for one in names] for half, k in (("train", 70), ("test", 8))}
    for half, lines in halves.items():
        put(archive, [f"food-101/meta/{half}.txt"], "\n".join(lines) + "\n")
        put(archive, [f"food-101/meta/{half}.json"], "{}")
    put(archive, ["food-101/meta/classes.txt"], "\n".join(names))
    files = {
        f"food-101/images/{one}.jpg": one.split("/")[0]
        for lines in halves.values()
        for one in lines
    }
    put_images(archive, files, draw)
    return {"test": files}


def caltech256(archive: Path, draw: Draw = picture) -> dict[str, Files]:
    """Write a folder a class, and what else the archive has."""
    files = {
        f"256_ObjectCategories/{one}/{one[:3]}_0001.jpg": one
        for one in class_lists.names_of("caltech256")
    }
    put_images(archive, files, draw)
    put_images(archive, {"256_ObjectCategories/257.clutter/257_0001.jpg": "clutter"}, draw)
    put(archive, ["256_ObjectCategories/198.spider/RENAME2"], "not an image")
    (archive / "256_ObjectCategories/056.dog/greg/vision309").mkdir(parents=True)
    return {"test": files}


def places365(archive: Path, draw: Draw = picture) -> dict[str, Files]:
    """Write two images a class, in another order than the classes, with their lists."""
    names = class_lists.names_of("places365")
    rows = [f"/{name[0]}/{name} {number}\n" for number, name in enumerate(names)]
    put(archive, ["categories_places365.txt"], "".join(rows))
    numbers = [*reversed(range(365)), *range(365)]
    listing = [(f"Places365_val_{k:08d}.jpg", number) for k, number in enumerate(numbers, 1)]
    put(archive, ["places365_val.txt"], "".join(f"{file} {number}\n" for file, number in listing))
    put(archive, ["places365_test.txt"], "Places365_test_00000001.jpg\n")
    files = {f"val_256/{file}": names[number].replace("/", "_") for file, number in listing}
    put_images(archive, files, draw)
    return {"test": files}


def textures(archive: Path, draw: Draw = picture) -> dict[str, Files]:
    """Write two images of each of 47 classes."""
    files = {f"dtd/images/t{k:02d}ed/t{k:02d}ed_{n}.jpg": f"t{k:02d}ed"
             for k in range(47) for n in (2, 11)}  # fmt: skip
    put_images(archive, files, draw)
    put(archive, ["dtd/images/t04ed/.directory", "dtd/labels/test1.txt"], "")
    return {"test": files}


def in_one_folder(
    archive: Path, draw: Draw = picture, *, folder: str, name: str, images: int = 4
) -> dict[str, Files]:
    """Write images without classes: a sample of Huang and Li (2021)."""
    files = {f"{folder}/images/{k}a.jpg": name for k in range(images)}
    put_images(archive, files, draw)
    return {"test": files}


ARCHIVES: dict[str, Callable[..., dict[str, Files]]] = {
    "imagenet": imagenet,
    "imagenet_c": imagenet_c,
    "imagenet_v2": imagenet_v2,
    "imagenet_r": imagenet_r,
    "food101": food101,
    "caltech256": caltech256,
    "places365": places365,
    "textures": textures,
    "inaturalist": partial(in_one_folder, folder="iNaturalist", name="inaturalist"),
    "places": partial(in_one_folder, folder="Places", name="places"),
    "sun": partial(in_one_folder, folder="SUN", name="sun"),
}
"""What writes the archive of each streamed data set."""
