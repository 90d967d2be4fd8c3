"""The arrays that a file holds, whichever of three kinds it is; nothing in it is executed.

``.npz``, as ``numpy.savez`` writes, is the kind for many images: what is not compressed is mapped
into memory, and read as far as it is looked at.  ``.csv`` and ``.parquet`` hold a table with a row
for each image, whose columns are

* ``logit_0`` … ``logit_{K-1}`` and, if they are there, ``feature_0`` … ``feature_{D-1}``;
* ``label``, a whole number, of which the sets without labels need none;
* ``set``: ``validation``, ``train``, ``production``, or any other name for a set of unknown
  images; without this column all images are validation images;
* ``file``: the path of the picture;
* ``group``: which validation images belong together, as frames of one video do.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from helpers.checks import known_name

if TYPE_CHECKING:
    import pandas as pd

TABLES = (".csv", ".parquet")
_PREFIXES = {"validation": "", "train": "train_", "production": "production_"}
_DAMAGED = (
    AttributeError, EOFError, NotImplementedError, OSError, RuntimeError, zipfile.BadZipFile,
    zlib.error,
)  # fmt: skip


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Return the arrays of a file, by the names that `helpers.audit.read_outputs` knows.

    Raises
    ------
    FileNotFoundError
        No such file.
    ValueError
        Truncated or altered; pickled objects; something else than its name says; a table without
        the columns above, or with others.
    """
    if not path.is_file():
        raise FileNotFoundError(f"outputs: no file {path}")
    if path.suffix.lower() in TABLES:
        return _arranged(_table(path))
    try:
        with np.load(path, allow_pickle=False) as archive:
            members = {one.filename: one for one in archive.zip.infolist()}
            arrays = {}
            for name in archive.files:
                found = _mapped(path, members[f"{name}.npy"]) if f"{name}.npy" in members else None
                arrays[name] = archive[name] if found is None else found
                if not isinstance(arrays[name], np.ndarray):
                    raise ValueError(f"{name} is no array")
            return arrays
    except TypeError as error:  # a single array
        raise ValueError(
            f"outputs: {path} is of numpy.save; write it with numpy.savez, logits=… and labels=…"
        ) from error
    except ValueError as error:
        raise ValueError(
            f"outputs: {path} holds something else than arrays of numbers and text ({error}); "
            "texts are written as numpy.array(names, dtype=str)"
        ) from error
    except _DAMAGED as error:
        raise ValueError(
            f"outputs: {path} is not a whole .npz file, as numpy.savez writes ({error})"
        ) from error


def _mapped(path: Path, member: zipfile.ZipInfo) -> np.ndarray | None:
    """Map an array that lies in an archive as it is; None if it does not, or holds objects.

    Its checksum is compared, for which it is read once.
    """
    if member.compress_type != zipfile.ZIP_STORED:
        return None
    with open(path, "rb") as file:
        file.seek(member.header_offset)
        header = file.read(30)  # then come a name and a field, whose lengths are its last numbers
        lengths = int.from_bytes(header[26:28], "little"), int.from_bytes(header[28:30], "little")
        start = member.header_offset + 30 + sum(lengths)
        file.seek(start)
        version = np.lib.format.read_magic(file)
        if version > (2, 0):
            return None
        read = np.lib.format.read_array_header_1_0
        if version == (2, 0):
            read = np.lib.format.read_array_header_2_0
        shape, by_columns, dtype = read(file)
        place = file.tell()
    size = int(np.prod(shape, dtype=object)) * dtype.itemsize
    if dtype.hasobject or not size:
        return None
    if place + size != start + member.file_size:
        raise zipfile.BadZipFile(f"{member.filename} has not the size that its shape {shape} asks")
    if zlib.crc32(np.memmap(path, np.uint8, "r", start, member.file_size)) != member.CRC:
        raise zipfile.BadZipFile(f"the checksum of {member.filename} does not match")
    order = "F" if by_columns else "C"
    return np.memmap(path, dtype, "r", place, shape, order).view(np.ndarray)


def _table(path: Path) -> pd.DataFrame:
    import pandas as pd

    try:
        if path.suffix.lower() == ".csv":
            return pd.read_csv(path)
        return pd.read_parquet(path, engine="pyarrow")
    except ImportError as error:
        raise ValueError(
            f"outputs: {path} is read by pyarrow, which is not installed; pip install pyarrow, or "
            "write .npz or .csv"
        ) from error
    except (OSError, ValueError) as error:  # of pandas and of pyarrow, which derive from these
        kind = path.suffix.lower()
        line = str(error).strip().partition("\n")[0]
        raise ValueError(f"outputs: {path} is not a whole {kind} file ({line})") from error


def _arranged(table: pd.DataFrame) -> dict[str, np.ndarray]:
    """Return the arrays of a table."""
    if not len(table):
        raise ValueError("outputs: the table has no row, and a row for each image is expected")
    kinds = {kind: _numbered(table, kind) for kind in ("logit", "feature")}
    columns = [name for names in kinds.values() for name in names]
    options = {*columns, "logit_0", "feature_0", "label", "set", "file", "group"}
    for name in table.columns:
        known_name("column", name, options)
    if not kinds["logit"]:
        raise ValueError(
            "logit_0: missing, and with it all logits; the columns are "
            f"{', '.join(map(str, table.columns[:8]))}"
        )
    sets = np.full(len(table), "validation", dtype=object)
    if "set" in table:
        if missing := int(table["set"].isna().sum()):
            raise ValueError(f"set: missing in {missing} of {len(table)} rows")
        sets = table["set"].astype(str).to_numpy(dtype=object)
    arrays: dict[str, np.ndarray] = {}
    for name in dict.fromkeys(sets):
        part, prefix = table[sets == name], _PREFIXES.get(name, f"ood_{name}_")
        for kind, names in kinds.items():
            if names:
                arrays[f"{prefix}{kind}s"] = part[names].to_numpy()
        if "label" in table and name in ("validation", "train"):
            arrays[f"{prefix}labels"] = _labels(part["label"], name)
        if "file" in table and name == "validation":
            arrays["files"] = part["file"].astype(str).to_numpy(dtype=str)
        if "group" in table and name == "validation":
            if missing := int(part["group"].isna().sum()):
                raise ValueError(f"group: missing in {missing} of {len(part)} validation rows")
            arrays["groups"] = part["group"].astype(str).to_numpy(dtype=str)
    return arrays


def _numbered(table: pd.DataFrame, kind: str) -> list[str]:
    """Return the columns ``KIND_0``, ``KIND_1`` … in this order; refuse a gap."""
    count = sum(bool(re.fullmatch(rf"{kind}_\d+", str(name))) for name in table.columns)
    names = [f"{kind}_{number}" for number in range(count)]
    if missing := [name for name in names if name not in table]:
        raise ValueError(
            f"{missing[0]}: missing, though there are {count} columns of this kind; they count "
            f"from {kind}_0 without a gap"
        )
    return names


def _labels(labels: pd.Series, name: str) -> np.ndarray:
    """Return labels as whole numbers; an empty cell elsewhere has made floats of them."""
    if missing := int(labels.isna().sum()):
        raise ValueError(f"label: missing in {missing} of {len(labels)} rows of the set {name}")
    values = labels.to_numpy()
    whole = values.dtype.kind == "f" and (values == np.round(values)).all()
    return values.astype(np.int64) if whole else values
