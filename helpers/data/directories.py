"""The images below a folder, by their names: a folder is listed once, and again where it changes.

A folder's time of modification changes when a file in it comes, goes or is called otherwise.  So
the names are kept in the cache, folder by folder with that time, and what has the same time is not
listed again.  A file that is written anew in its place is no matter of names: whoever opens it
looks at its own size and time.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path

from helpers import cache
from helpers.files import atomic_path

SUFFIXES = {".bmp", ".gif", ".jpeg", ".jpg", ".png", ".ppm", ".tif", ".tiff", ".webp"}
SETTLED = 2.0
"""Seconds: a folder that changed more recently may change again without another time of it."""


def is_image(file: Path) -> bool:
    """Tell by its name whether a file is an image that `list_images` lists."""
    return file.suffix.lower() in SUFFIXES and not file.name.startswith(".")


def list_images(root: Path) -> list[str]:
    """Return the paths of all images below a folder, with slashes, sorted part by part.

    Links to folders are followed in `root` itself, and not further below.  Of what is kept only
    folders are looked at that are as they were; processes that list the same at the same time
    write the same, each a whole file.
    """
    kept = cache.path_of("listings", cache.key(folder=str(root.resolve())), ".json")
    known, now = _read(kept), time.time_ns()
    found: dict[str, list] = {}
    waiting = [""]
    while waiting:
        place = waiting.pop()
        folder = os.path.join(root, place)
        changed = os.stat(folder).st_mtime_ns
        entry = known.get(place)
        if entry is None or entry[0] != changed:
            entry = [changed, *_entries(folder, follow=not place)]
        found[place] = entry
        waiting += [f"{place}/{name}" if place else name for name in entry[2]]
    settled = {place: one for place, one in found.items() if one[0] < now - SETTLED * 1e9}
    if settled != known:
        with atomic_path(kept) as temporary:
            temporary.write_text(json.dumps(settled), encoding="utf-8")
    files = [
        f"{place}/{name}" if place else name for place, (_, names, _) in found.items()
        for name in names
    ]  # fmt: skip
    return sorted(files, key=lambda file: file.split("/"))


def _entries(folder: str, *, follow: bool) -> tuple[list[str], list[str]]:
    """Return the names of a folder's images and of its folders."""
    files, folders = [], []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=follow):
                folders.append(entry.name)
            elif is_image(Path(entry.name)):
                files.append(entry.name)
    for name in (*files, *folders):
        try:
            name.encode()
        except UnicodeEncodeError as error:
            raise ValueError(f"{folder}: {name!a} is no name in UTF-8; rename it") from error
    return files, folders


def _read(kept: Path) -> Mapping[str, list]:
    """Return what is kept, nothing where it is no such list: then everything is listed anew."""
    try:
        found = json.loads(kept.read_text(encoding="utf-8"))
        whole = all(
            isinstance(one, list) and [type(part) for part in one] == [int, list, list]
            for one in found.values()
        )
    except (OSError, ValueError, AttributeError):
        return {}
    return found if whole else {}
