"""The images below a folder, by their names."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path

log = logging.getLogger(__name__)
SUFFIXES = set(".bmp .gif .jfif .jpeg .jpg .pgm .png .ppm .tif .tiff .webp".split())
#: Images that some versions of Pillow do not read, or only with a further package.
UNREAD = {".avif", ".heic", ".heif", ".jp2", ".jxl", ".svg"}
#: Folders of small copies that macOS adds to archives.
_COPIES = "__MACOSX"


def is_image(file: Path) -> bool:
    """Tell by its name whether a file is an image that `list_images` lists."""
    return file.suffix.lower() in SUFFIXES and not file.name.startswith(".")


def is_unread(file: Path) -> bool:
    """Tell by its name whether a file is an image of a format that is not read."""
    return file.suffix.lower() in UNREAD and not file.name.startswith(".")


def is_hidden(folder: str) -> bool:
    """Tell by its name whether programs keep small copies in a folder."""
    return folder.startswith(".") or folder == _COPIES


def list_images(root: Path) -> list[str]:
    """Return the paths of all images below a folder, with slashes, sorted part by part.

    Links to folders are followed in `root` itself, but not further below, because they might form
    a loop.  Hidden folders and files are left out: programs keep small copies there.  Images of
    other formats are left out with a warning.  A name that is not UTF-8 is an error.
    """
    all_files = sorted(_images(os.fspath(root), "", follow=True), key=lambda file: file.split("/"))
    files = [file for file in all_files if is_image(Path(file))]
    unread = [file for file in all_files if is_unread(Path(file))]
    if unread:
        log.warning(
            "%s: %d images are left out, the first is %s; convert them to PNG or JPEG",
            root, len(unread), unread[0],
        )  # fmt: skip
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
                if not is_hidden(entry.name):
                    yield from _images(entry.path, f"{prefix}{entry.name}/", follow=False)
            elif is_image(Path(entry.name)) or is_unread(Path(entry.name)):
                if os.path.exists(entry.path) and not entry.is_file():  # a reader would wait
                    raise ValueError(f"{entry.path}: a file expected, got a pipe or the like")
                yield prefix + entry.name
