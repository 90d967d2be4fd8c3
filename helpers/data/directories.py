"""The images below a folder, by their names."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

SUFFIXES = {".bmp", ".gif", ".jfif", ".jpeg", ".jpg", ".png", ".ppm", ".tif", ".tiff", ".webp"}


def is_image(file: Path) -> bool:
    """Tell by its name whether a file is an image that `list_images` lists."""
    return file.suffix.lower() in SUFFIXES and not file.name.startswith(".")


def list_images(root: Path) -> list[str]:
    """Return the paths of all images below a folder, with slashes, sorted part by part.

    Links to folders are followed in `root` itself, but not further below, because they might form
    a loop.  Hidden folders and files are left out: programs keep small copies there.  A name that
    is not UTF-8 is an error.
    """
    files = sorted(_images(os.fspath(root), "", follow=True), key=lambda file: file.split("/"))
    for file in files:
        try:
            file.encode()
        except UnicodeEncodeError as error:
            raise ValueError(f"{root}: {file!a} is not a name in UTF-8; rename it") from error
    return files


def _images(folder: str, prefix: str, *, follow: bool) -> Iterator[str]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=follow):
                if not entry.name.startswith("."):
                    yield from _images(entry.path, f"{prefix}{entry.name}/", follow=False)
            elif is_image(Path(entry.name)):
                if os.path.exists(entry.path) and not entry.is_file():  # a reader would wait
                    raise ValueError(f"{entry.path}: a file expected, got a pipe or the like")
                yield prefix + entry.name
