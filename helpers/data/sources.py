"""Images that are not in packs: scikit-learn's, generated, torchvision's, and image folders."""

from __future__ import annotations

import inspect
import logging
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from pathlib import Path

import numpy as np
from PIL import Image

import pictures
from helpers import cache
from helpers.checks import known_name, whole_number
from helpers.data.cards import Card, card_of, remedy
from helpers.data.class_lists import cifar100
from helpers.data.directories import is_hidden, is_image, list_images
from helpers.data.images import Images
from helpers.data.pixels import resize, stack

log = logging.getLogger(__name__)

LARGEST_SIZE = 16_384  # pixels a side
FOLDER_SPLITS = ("train", "val", "test")


def digits(split: str, *, size: int | None = None) -> Images:
    """Return scikit-learn's 1,797 handwritten digits, enlarged from 8x8 grey to 32x32 RGB.

    For each class, the first four fifths (rounded up) in the order of the data set are ``train``,
    and the remaining images are ``test``.  Neighbours in that order are by the same writers, so a
    random split, or every fifth image, would test on handwriting that training has seen.

    Examples
    --------
    >>> digits("test")
    Images(digits/test: 355 images of 32x32, 10 classes)
    """
    known_name("split of digits", split, ("train", "test"))
    from sklearn.datasets import load_digits

    grey, labels = load_digits(return_X_y=True)  # values 0 to 16
    in_split = np.zeros(len(labels), bool)
    for label in np.unique(labels):
        (indices,) = np.nonzero(labels == label)
        first = -(-4 * len(indices) // 5)
        in_split[indices[:first] if split == "train" else indices[first:]] = True
    pixels = np.rint(grey[in_split].reshape(-1, 8, 8, 1) * (255 / 16)).astype(np.uint8)
    images = resize(np.repeat(pixels, 3, axis=3), 32)
    images = images if size is None else resize(images, size)
    numbers = labels[in_split].astype(np.int64)
    return Images(images, numbers, tuple("0123456789"), "digits", split, card_of("digits").record)


def photographs(split: str, *, size: int | None = None) -> Images:
    """Return 500 square patches, 128 to 256 pixels wide, of scikit-learn's two photographs.

    They are the only embedded images that are larger than the input of a model, and therefore can
    show the effect of resizing.  Sizes and places are random, with a fixed seed; the patches of one
    photograph overlap.

    Examples
    --------
    >>> photographs("test", size=32)
    Images(photographs/test: 500 images of 32x32, 2 classes)
    """
    known_name("split of photographs", split, ("test",))
    from sklearn.datasets import load_sample_image

    names = ("china", "flower")
    pictures = [Image.fromarray(load_sample_image(f"{name}.jpg")) for name in names]
    generator = np.random.default_rng(0)
    labels = np.arange(500) % len(names)

    def patches() -> Iterator[tuple[str, Image.Image]]:
        for label in labels:
            picture = pictures[label]
            side = int(generator.integers(128, 257))
            left = int(generator.integers(picture.width - side + 1))
            top = int(generator.integers(picture.height - side + 1))
            yield names[label], picture.crop((left, top, left + side, top + side))

    images = stack(patches(), size, "data set 'photographs'")
    return Images(images, labels, names, "photographs", split, card_of("photographs").record)


def generated_set(name: str, split: str, *, size: int | None = None) -> Images:
    """Return a split of the generated family `name`: one class, and always the same images.

    They are drawn once and kept, since most notebooks of a chapter want all of them.

    Examples
    --------
    >>> generated_set("mazes", "test")
    Images(mazes/test: 500 images of 32x32, 1 classes)
    """
    images = cache.array("drawn", _drawing(name, split), lambda: pictures.draw(name, split))
    images = images if size is None else resize(images, size)
    labels = np.zeros(len(images), np.int64)
    return Images(images, labels, (name,), name, split, card_of(name).record)


def _drawing(name: str, split: str) -> str:
    """Return the cache key of generated images, from everything that decides them."""
    draw = pictures.FAMILIES[known_name("generated family", name, pictures.FAMILIES)].draw
    code = cache.code("pictures.base", draw.__module__)
    libraries = {each: version(each) for each in ("matplotlib", "numpy", "pillow")}
    return cache.key(name=name, split=split, code=code, **libraries)


# the data sets that are always available; each is called with a split, and size
BUILT_IN: dict[str, Callable[..., Images]] = {
    "digits": digits,
    "photographs": photographs,
    **{name: partial(generated_set, name) for name in pictures.FAMILIES},
}


def torchvision_set(
    card: Card,
    split: str,
    root: Path,
    *,
    size: int | None,
    download: bool,
) -> Images:
    """Read a data set through torchvision, which keeps its files in `root`.

    With `download`, torchvision downloads missing files, with a progress bar, and checks them.
    (CIFAR's own files are Python pickles; torchvision opens them only if their MD5 sums are the
    published ones.)  All images of the split are held in memory.
    """
    known_name(f"split of {card.name}", split, card.splits)
    from torchvision import datasets

    kind = getattr(datasets, str(card.torchvision))
    by_flag = "train" in inspect.signature(kind).parameters
    usual = {"train": split == "train"} if by_flag else {"split": split}
    arguments = card.torchvision_arguments.get(split, usual)
    try:
        data_set = kind(root, download=download, **arguments)
    except (OSError, RuntimeError) as error:
        message = f"data set '{card.name}': torchvision's {card.torchvision}"
        if download:
            raise FileNotFoundError(
                f"{message} could not be downloaded ({error}). Try again, or fetch its archives "
                f"elsewhere and put them into {root}"
            ) from error
        raise FileNotFoundError(
            f"{message} is not there, or not whole in {root} ({error}). This fetches it and packs "
            f"it: `{remedy(card.name)}`"
        ) from error
    images, labels = _arrays(data_set, size, card.name)
    if len(images) != card.splits[split]:
        raise ValueError(
            f"data set '{card.name}': split '{split}' has {len(images)} images in {root}, "
            f"but should have {card.splits[split]}; remove its files there and fetch it again"
        )
    names = getattr(data_set, card.torchvision_names, None) or map(str, range(card.classes))
    read = Images(images, labels, tuple(names), card.name, split, card.record)
    return with_superclasses(read) if card.name == "cifar100" else read


def with_superclasses(images: Images) -> Images:
    """Return images of CIFAR-100 with their superclasses, which torchvision does not read."""
    of_class = {each["class"]: each["superclass"] for each in cifar100()}
    coarse = sorted({*of_class.values()})
    numbers = np.array([coarse.index(of_class[name]) for name in images.class_names])
    return replace(images, coarse_labels=numbers[images.labels], coarse_class_names=tuple(coarse))


def _arrays(data_set, size: int | None, name: str) -> tuple:
    """Return the images and labels of a torchvision data set, which are read one by one."""
    labels = []

    def pictures() -> Iterator[tuple[str, Image.Image]]:
        for index in range(len(data_set)):
            image, label = data_set[index]
            labels.append(label)
            yield str(index), image

    images = stack(pictures(), size, f"data set '{name}'")
    return images, np.array(labels, np.int64)


def folder_splits(path: str | os.PathLike) -> dict[str, Path]:
    """Return the splits of an image folder: its subfolders train, val and test, if they exist.

    A folder without them is one split, called ``test`` as in a pack of one split.  So is a folder
    in which they are classes: beside other folders of images, and without subfolders.  For Tiny
    ImageNet as distributed, the split test is left out, since it has no labels.
    """
    path = Path(path).expanduser()
    if not path.is_dir():
        raise FileNotFoundError(f"image folder {path}: no such folder")
    if _annotations(path).is_file():
        return {split: path / split for split in ("train", "val") if (path / split).is_dir()}
    folders = _visible_folders(path)
    splits = {split: folders.pop(split) for split in FOLDER_SPLITS if split in folders}
    if splits and (any(map(_visible_folders, splits.values())) or not _has_images(folders)):
        if left := [name for name, folder in folders.items() if list_images(folder)]:
            log.warning("%s: left out, since no split is called so: %s", path, ", ".join(left))
        return splits
    return {"test": path}


def _has_images(folders: Mapping[str, Path]) -> bool:
    """Return whether a folder has an image."""
    return any(map(list_images, folders.values()))


def _visible_folders(path: Path) -> dict[str, Path]:
    """Return the subfolders that are not hidden, by name."""
    entries = {entry.name: entry for entry in path.iterdir() if entry.is_dir()}
    return {name: entry for name, entry in entries.items() if not is_hidden(name)}


def _annotations(path: Path) -> Path:
    """Return where Tiny ImageNet keeps the classes of its validation images."""
    return path / "val" / "val_annotations.txt"


def _validation_classes(path: Path) -> dict[str, str]:
    """Return the class of each validation image of Tiny ImageNet, by the file's name."""
    table = _annotations(path)
    rows = [line.split("\t") for line in table.read_text(encoding="utf-8").splitlines()]
    bad = [number for number, row in enumerate(rows, 1) if len(row) < 2]
    if bad:
        raise ValueError(f"{table}, line {bad[0]}: a file, a tab and a class expected")
    classes = {row[0]: row[1] for row in rows}
    there = {file.name for file in (path / "val" / "images").glob("*") if is_image(file)}
    odd = sorted(there ^ set(classes))
    if odd:
        raise ValueError(
            f"image folder {path / 'val' / 'images'}: {len(odd)} images are not in "
            f"{table.name}, or are missing, for example {odd[0]}; unpack the archive again, "
            f"or remove {table.name} if the images were put into a folder for each class"
        )
    return classes


def listing(path: str | os.PathLike, split: str) -> tuple[Path, list[str], dict]:
    """List the images of one split of an image folder, one subfolder a class.

    Classes are numbered by name, over all splits together; images are sorted by class and path.
    A folder without subfolders is one class with the folder's name; one with images and subfolders
    with images is refused.  Tiny ImageNet is read as
    distributed: the training images are in ``train/WNID/images``; ``val/val_annotations.txt`` lists
    the classes of the images in ``val/images``.  No file is opened.
    """
    path = Path(path).expanduser()
    splits = folder_splits(path)
    known_name(f"split of {path}", split, splits)
    annotated = _validation_classes(path) if _annotations(path).is_file() else {}
    named = set(annotated.values())
    for key, root in splits.items():
        if not (annotated and key == "val"):
            named.update(_visible_folders(root))
    names = sorted(named)
    labels = {name: label for label, name in enumerate(names)}
    if annotated and split == "val":
        pairs = sorted((labels[name], f"images/{file}") for file, name in annotated.items())
    elif names:
        files = list_images(splits[split])
        pairs = []
        for file in files:
            folder, _, _ = file.partition("/")
            if folder in labels:
                pairs.append((labels[folder], file))
        beside = len(files) - len(pairs)
        if pairs and beside:
            raise ValueError(
                f"image folder {splits[split]}: {beside} of {len(files)} images are in none of the "
                "subfolders, one a class; move them, or move the subfolders"
            )
    else:
        pairs = [(0, file) for file in list_images(splits[split])]
    if not pairs:
        raise ValueError(f"image folder {splits[split]}: no images in subfolders, one a class")
    missing = sorted(set(range(len(names))) - {label for label, _ in pairs})
    if missing:
        log.warning(
            "%s: %d of %d classes have no image: %s",
            splits[split], len(missing), len(names), ", ".join(names[i] for i in missing[:5]),
        )  # fmt: skip
    name = path.resolve().name
    description = {
        "labels": np.array([label for label, _ in pairs], np.int64),
        "class_names": tuple(names) or (name,),
        "name": name,
        "split": split,
        "origin": {"title": f"image folder {path.name}", "source": "a folder of images"},
    }
    return splits[split], [file for _, file in pairs], description


def folder(path: str | os.PathLike, split: str, *, size: int | None = None) -> Images:
    """Read an image folder, one subfolder a class, into memory: for small folders.

    Images and classes are in the order of `listing`.  Transparent pixels become white.  Large
    folders are read by `helpers.data.stream`.
    """
    check_size(size)
    root, files, description = listing(path, split)
    images = stack(
        _open_each([root / file for file in files]),
        size,
        f"image folder {root}",
    )
    return Images(images, **description)


def check_size(size: int | None) -> None:
    """Refuse pixels a side that no image has."""
    if size is not None and whole_number("size", size) > LARGEST_SIZE:
        raise ValueError(f"size: at most {LARGEST_SIZE:,} pixels expected, got {size:,}")


def _open_each(files: list[Path]) -> Iterator[tuple[str, Image.Image]]:
    for file in files:
        try:
            image = Image.open(file)
        except (OSError, ValueError, Image.DecompressionBombError) as error:
            raise ValueError(f"image {file} cannot be read: {error}") from error
        with image:
            yield str(file), image
