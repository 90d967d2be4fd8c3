"""Packs: a prepared data set in one file, read and written only in this module.

A pack is a stored (not compressed) zip file ``NAME.zip`` with a ``meta.json`` and, for each
split, its images in one of two forms:

``sheets``
    Lossless WebP files ``SPLIT_0000.webp``, ``SPLIT_0001.webp``, ... of square RGB tiles, 20
    tiles per row and at most 1,000 tiles per sheet, in reading order.  The last row of the last
    sheet may end with black filler.
``files``
    JPEG files ``SPLIT/FILE``, byte for byte as in the source.

``meta.json`` is one object:

================== ================================================================================
name               the data set's name
class_names        list of strings; a label is an index into it, or -1 for none of the classes
cols, per_sheet    tiles a row (20) and a sheet (1,000)
splits             object with one object per split: ``kind`` (``sheets`` or ``files``), ``n``
                   (number of images), ``labels`` (n integers), ``size`` (of a tile in pixels;
                   sheets only), ``files`` (n names; files only), ``coarse_labels`` (optional)
coarse_class_names list of strings (with coarse labels only)
origin             optional object: ``title``, ``source``, ``licence``, ``citation``, ...
sha256             optional object: for each image member the hexadecimal SHA-256 of its bytes; and
                   under ``meta.json`` the SHA-256 of this object without that entry, written as
                   JSON with sorted keys, no spaces, and all characters unescaped (UTF-8)
================== ================================================================================

Packs written by this module always have ``origin`` and ``sha256``.  Without ``sha256``, only the
CRC-32 of the zip is checked.
Reading needs NumPy and Pillow, executes no code, and decodes only the requested split.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from helpers.checks import known_name
from helpers.data.cards import remedy
from helpers.data.images import Images
from helpers.data.pixels import rgb, stack
from helpers.files import atomic_path, sha256_file

COLUMNS = 20
PER_SHEET = 1000
WIDEST = 16_383  # pixels, the limit of WebP
LARGEST_TILE = 256  # a sheet of 50 rows of such tiles still fits

# errors of zipfile and of a search through JSON if bytes are missing or flipped: a zip may then
# appear to be encrypted, or compressed in an unknown way
UNREADABLE = (
    zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError,
    KeyError, TypeError, AttributeError, OverflowError,
)  # fmt: skip


def read_pack(path: str | os.PathLike, split: str, *, size: int | None = None) -> Images:
    """Read one split of a pack, after checking it."""
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"no pack {path}. This makes it: `{remedy(path.stem)}`")
    try:
        with open(path, "rb") as file, zipfile.ZipFile(file) as archive:
            meta = _read_meta(path, archive)
            known_name(f"split of {path.name}", split, meta["splits"])
            _check_meta(path, meta, split)
            images = _read_images(path, archive, meta, split, size)
    except UNREADABLE as error:
        raise _damaged(path, f"it cannot be read ({error!r})") from error
    entry = meta["splits"][split]
    coarse_labels = entry.get("coarse_labels")
    coarse_names = meta.get("coarse_class_names")
    try:
        loaded = Images(
            images,
            name=meta["name"],
            split=split,
            origin=meta.get("origin") or {"title": meta["name"]},
            labels=np.array(entry["labels"], np.int64),
            class_names=tuple(meta["class_names"]),
            coarse_labels=None if coarse_labels is None else np.array(coarse_labels, np.int64),
            coarse_class_names=None if coarse_names is None else tuple(coarse_names),
        )
    except (ValueError, *UNREADABLE) as error:
        raise _damaged(path, f"meta.json, split '{split}': {error}") from error
    return loaded if size is None else loaded.resize(size)


def is_pack(path: Path) -> bool:
    """Return whether a file is an archive with a pack's description."""
    try:
        with zipfile.ZipFile(path) as archive:
            return "meta.json" in archive.namelist()
    except (OSError, zipfile.BadZipFile):
        return False


def pack_splits(path: str | os.PathLike) -> list[str]:
    """Return the names of a pack's splits; ValueError as in `read_pack`."""
    path = Path(path)
    try:
        with open(path, "rb") as file, zipfile.ZipFile(file) as archive:
            return list(_read_meta(path, archive)["splits"])
    except UNREADABLE as error:
        raise _damaged(path, f"it cannot be read ({error!r})") from error


def jpeg_files(path: Path, split: str) -> tuple[list[bytes], dict[str, list]]:
    """Return the JPEG files of a split as they are, and the facts of each: author, page.

    Both are empty if the pack has sheets.
    """
    with zipfile.ZipFile(path) as archive:
        entry = _read_meta(path, archive)["splits"][split]
        if entry["kind"] == "sheets":
            return [], {}
        files = [_member(path, archive, member) for member in _member_names(split, entry)]
    return files, {column: entry[column] for column in ("author", "page") if column in entry}


def write_pack(
    path: str | os.PathLike,
    *,
    name: str,
    class_names: Sequence[str],
    splits: Mapping[str, tuple],
    origin: Mapping[str, str],
    coarse_class_names: Sequence[str] | None = None,
) -> str:
    """Write a pack, whole or not at all, and return the SHA-256 of the file.

    The same arguments give the same bytes (with the same version of libwebp).

    Parameters
    ----------
    path : path-like
        The file to write, usually ``NAME.zip``.
    name : str
        The data set's name.
    class_names : sequence of str
    splits : mapping of str to (images, labels) or (images, labels, coarse_labels)
        `images` is a uint8 array [N, S, S, 3], which is kept losslessly; or a sequence of N
        ``bytes``, each a JPEG file, kept as they are.  `labels` are N integers.
    origin : mapping
        Source of the images: ``title``, ``source``, ``licence``, ``citation``, ...
    coarse_class_names : sequence of str, optional

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "grey.zip"
    >>> grey = np.full((3, 8, 8, 3), 128, np.uint8)
    >>> digest = write_pack(
    ...     path, name="grey", class_names=["grey"], splits={"test": (grey, [0, 0, -1])},
    ...     origin={"title": "Grey squares"},
    ... )
    >>> read_pack(path, "test").labels
    array([ 0,  0, -1])
    """
    from tqdm import tqdm  # only who writes needs it

    if not splits:
        raise ValueError("splits: at least one expected, got none")
    if len({*class_names}) != len(class_names):
        raise ValueError(f"class_names: each name once expected, got {list(class_names)}")
    meta: dict = {
        "name": name,
        "class_names": list(class_names),
        "cols": COLUMNS,
        "per_sheet": PER_SHEET,
        "origin": dict(origin),
        "splits": {},
        "sha256": {},
    }
    if coarse_class_names is not None:
        meta["coarse_class_names"] = list(coarse_class_names)
    for split, (images, *labels) in splits.items():
        meta["splits"][split] = _describe(name, split, images, labels, meta)

    with atomic_path(path) as temporary, zipfile.ZipFile(temporary, "w") as archive:
        for split, (images, *_) in splits.items():
            members = _member_names(split, meta["splits"][split])
            for index, member in enumerate(tqdm(members, desc=f"{name}/{split}", disable=None)):
                if isinstance(images, np.ndarray):
                    data = _encode(images[index * PER_SHEET : (index + 1) * PER_SHEET])
                else:
                    data = images[index]
                meta["sha256"][member] = hashlib.sha256(data).hexdigest()
                _store(archive, member, data)
        meta["sha256"]["meta.json"] = _meta_digest(meta)
        _store(archive, "meta.json", json.dumps(meta, sort_keys=True, ensure_ascii=False).encode())
    return sha256_file(path)


def _describe(name: str, split: str, images, labels: list, meta: dict) -> dict:
    """Check one split and return its entry in meta.json."""
    if not re.fullmatch(r"[a-z][a-z0-9_]*", split):
        raise ValueError(f"splits: '{split}' is not a name of small letters, digits and _")
    if len(images) == 0:
        raise ValueError(f"splits: at least one image of '{split}' expected, got none")
    entry: dict = {"n": len(images)}
    if isinstance(images, np.ndarray):
        size = images.shape[1] if images.ndim == 4 else 0
        if images.shape[1:] != (size, size, 3) or not 1 <= size <= LARGEST_TILE:
            raise ValueError(
                f"splits: images of '{split}' must be [N, S, S, 3] with S at most {LARGEST_TILE}, "
                f"got {list(images.shape)}; larger ones are kept as JPEG files"
            )
        entry |= {"kind": "sheets", "size": size}
    else:
        for index, data in enumerate(images):
            if isinstance(data, np.ndarray):
                raise ValueError(
                    f"splits: one array [N, S, S, 3] of all images of '{split}' expected, got an "
                    "array for each image; stack them with numpy.stack"
                )
            if not isinstance(data, bytes) or not data.startswith(b"\xff\xd8\xff"):
                raise ValueError(f"splits: image {index} of '{split}' is not a JPEG file's bytes")
        entry |= {"kind": "files", "files": [f"{i:06d}.jpg" for i in range(len(images))]}
        images = np.zeros((len(images), 1, 1, 3), np.uint8)  # for the checks of Images only
    arrays = [np.asarray(values) for values in labels]
    arrays = [a.astype(np.int64) if a.dtype.kind in "iu" else a for a in arrays]
    Images(
        images,
        arrays[0],
        meta["class_names"],
        name,
        split,
        coarse_labels=arrays[1] if arrays[1:] else None,
        coarse_class_names=meta.get("coarse_class_names"),
    )
    entry["labels"] = arrays[0].tolist()
    if arrays[1:]:
        entry["coarse_labels"] = arrays[1].tolist()
    return entry


def _member_names(split: str, entry: dict, per_sheet: int = PER_SHEET) -> list[str]:
    if entry["kind"] == "files":
        return [f"{split}/{file}" for file in entry["files"]]
    return [f"{split}_{index:04d}.webp" for index in range(math.ceil(entry["n"] / per_sheet))]


def _encode(tiles: np.ndarray) -> bytes:
    count = len(tiles)
    size = tiles.shape[1]
    rows = math.ceil(count / COLUMNS)
    sheet = np.zeros((rows * COLUMNS, size, size, 3), np.uint8)
    sheet[:count] = tiles
    sheet = sheet.reshape(rows, COLUMNS, size, size, 3).swapaxes(1, 2)
    buffer = io.BytesIO()
    # a higher method would save one byte in a hundred, and take three times as long
    Image.fromarray(sheet.reshape(rows * size, COLUMNS * size, 3)).save(
        buffer, "WEBP", lossless=True, quality=75, method=4
    )
    return buffer.getvalue()


def _store(archive: zipfile.ZipFile, member: str, data: bytes) -> None:
    entry = zipfile.ZipInfo(member, date_time=(2020, 1, 1, 0, 0, 0))  # no clock: same bytes again
    entry.create_system = 3
    entry.external_attr = 0o644 << 16
    archive.writestr(entry, data)


def _meta_digest(meta: dict) -> str:
    digests = {member: hex for member, hex in meta["sha256"].items() if member != "meta.json"}
    canonical = json.dumps(
        {**meta, "sha256": digests}, sort_keys=True, ensure_ascii=False, separators=(",", ":")
    )
    return hashlib.sha256(canonical.encode()).hexdigest()


def _read_meta(path: Path, archive: zipfile.ZipFile) -> dict:
    try:
        meta = json.loads(_member(path, archive, "meta.json"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise _damaged(path, f"meta.json is not JSON ({error})") from error
    if "sha256" in meta and meta["sha256"]["meta.json"] != _meta_digest(meta):
        raise _damaged(path, "meta.json differs from its SHA-256")
    return meta


def _check_meta(path: Path, meta: dict, split: str) -> None:
    """Refuse numbers and names that no valid pack has, before any further processing."""
    entry = meta["splits"][split]
    names = meta["class_names"]
    sheets = entry["kind"] == "sheets"
    size = entry["size"] if sheets else 1
    columns = meta.get("cols", COLUMNS)
    labels = entry["labels"] + entry.get("coarse_labels", [])
    count = len(entry["labels"])
    wrong = {
        f"should be {entry['n']} images, but has {count} labels": entry["n"] != count,
        "labels that are no whole numbers": any(type(label) is not int for label in labels),
        "cols, per_sheet below 1": any(
            type(n) is not int or n < 1 for n in (columns, meta.get("per_sheet", PER_SHEET))
        ),
        f"size {size}, of which no sheet can be": (
            type(size) is not int or not 1 <= size * columns <= WIDEST
        ),
        "class_names that are no text, or the same": (
            len({*names}) != len(names) or any(type(name) is not str for name in names)
        ),
        "origin that is no mapping": not isinstance(meta.get("origin", {}), dict),
        "neither name nor origin": "origin" not in meta and "name" not in meta,
    }
    broken = [name for name, is_wrong in wrong.items() if is_wrong]
    if broken:
        raise _damaged(path, f"meta.json, split '{split}': {broken[0]}")


def _read_images(
    path: Path, archive: zipfile.ZipFile, meta: dict, split: str, size: int | None
) -> np.ndarray:
    entry = meta["splits"][split]
    digests = meta.get("sha256")
    columns = meta.get("cols", COLUMNS)
    per_sheet = meta.get("per_sheet", PER_SHEET)
    count = entry["n"]
    expected = _member_names(split, entry, per_sheet)
    of_split = re.compile(rf"{re.escape(split)}(_\d+\.webp|/.+)")
    present = [member for member in archive.namelist() if of_split.fullmatch(member)]
    if sorted(present) != sorted(expected):
        raise _damaged(
            path,
            f"split '{split}' should be {count} images in {len(expected)} members, "
            f"but has {count} labels and {len(present)} members",
        )
    if entry["kind"] == "files":

        def opened() -> Iterator[tuple[str, Image.Image]]:
            for member in expected:
                yield member, _open(path, member, _member(path, archive, member, digests))

        return stack(opened(), size, f"{path}, split '{split}'")
    tile = entry["size"]
    images = np.empty((count, tile, tile, 3), np.uint8)
    for index, member in enumerate(expected):
        target = images[index * per_sheet : (index + 1) * per_sheet]
        picture = _open(path, member, _member(path, archive, member, digests))
        rows = math.ceil(len(target) / columns)
        if picture.size != (columns * tile, rows * tile):
            raise _damaged(
                path,
                f"member {member} has {picture.width}x{picture.height} pixels, but {len(target)} "
                f"tiles of {tile} pixels need {columns * tile}x{rows * tile}",
            )
        sheet = np.asarray(rgb(picture))
        tiles = sheet.reshape(rows, tile, columns, tile, 3).swapaxes(1, 2)
        target[:] = tiles.reshape(-1, tile, tile, 3)[: len(target)]
    return images


def _member(
    path: Path, archive: zipfile.ZipFile, member: str, digests: dict | None = None
) -> bytes:
    try:
        data = archive.read(member)
    except KeyError:
        raise _damaged(path, f"member {member} is missing") from None
    except zipfile.BadZipFile as error:
        raise _damaged(path, f"member {member}: {error}") from error
    if digests is not None and digests.get(member) != hashlib.sha256(data).hexdigest():
        raise _damaged(path, f"member {member} differs from its SHA-256")
    return data


def _open(path: Path, member: str, data: bytes) -> Image.Image:
    try:
        return Image.open(io.BytesIO(data))
    except (OSError, Image.DecompressionBombError) as error:
        raise _damaged(path, f"member {member} is not an image ({error})") from error


def _damaged(path: Path, what: str) -> ValueError:
    return ValueError(
        f"{path}: {what}. The pack is damaged or was altered: put the original back, or make it "
        f"again with `{remedy(path.stem)}` (and --force, as the file is there)"
    )
