"""A manifest: a folder's files with their hashes, and what they are, in one file of JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from helpers.files import atomic_path, sha256_file

NAME = "manifest.json"
_VERSION = 1


def write(folder: Path, about: Mapping, notes: Mapping[str, Mapping]) -> Path:
    """Write the manifest of some files of a folder, and return its path.

    Parameters
    ----------
    folder : Path
    about : mapping
        What holds of all files, as JSON holds it.
    notes : mapping of str to mapping
        By a file's path below the folder, with slashes: what is to be known of it alone.
    """
    files = {
        name: {
            "bytes": (folder / name).stat().st_size,
            "sha256": sha256_file(folder / name),
            **notes[name],
        }
        for name in sorted(notes)
    }
    text = json.dumps({"manifest": _VERSION, **about, "files": files}, indent=1, ensure_ascii=False)
    with atomic_path(folder / NAME) as temporary:
        temporary.write_text(text + "\n", encoding="utf-8")
    return folder / NAME


def read(folder: Path) -> dict:
    """Return what a manifest says, once each of its files has been found to be as it says.

    Raises
    ------
    FileNotFoundError
        There is no manifest, or a file is missing.
    ValueError
        It is no manifest, of a later version, or names a file outside the folder; a file is
        altered.
    """
    path = folder / NAME
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no manifest there")
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
        version, files = said["manifest"], said["files"]
        expected = {name: one["sha256"] for name, one in files.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path}: not a manifest ({error!r})") from error
    if version != _VERSION:
        raise ValueError(f"{path}: version {_VERSION} of manifests expected, got {version}")
    for name, digest in expected.items():
        parts = PurePosixPath(name).parts
        if not parts or "\\" in name or any(one in ("/", "..") for one in parts):
            raise ValueError(f"{path}: it names a file outside its folder, {name!r}")
        if not (folder / name).is_file():
            raise FileNotFoundError(f"{folder / name}: missing, and {NAME} has it")
        if sha256_file(folder / name) != digest:
            raise ValueError(f"{folder / name}: altered, its SHA-256 is not that of {NAME}")
    return said
