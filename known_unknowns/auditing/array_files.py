"""Arrays and tables of a file from any framework; nothing in the file is executed.

Error messages begin with "outputs", the content of the file.
"""

from __future__ import annotations

import math
import tokenize
import zipfile
import zlib
from pathlib import Path
from typing import IO, TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

TABLES = (".csv", ".parquet")
"""Suffixes of tables; every other file is an archive of arrays."""
_DAMAGED = (
    AttributeError, EOFError, MemoryError, NotImplementedError, OSError, RuntimeError,
    tokenize.TokenError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip


def read_npz(path: Path) -> dict[str, np.ndarray]:
    """Return the arrays of a ``.npz`` file by name, mapped into memory if not compressed."""
    _check_exists(path)
    try:
        with np.load(path, allow_pickle=False) as archive:
            _check_members(path, archive.zip)
            return {name: _read_member(path, archive, name) for name in archive.files}
    except TypeError as error:  # a single array
        raise ValueError(
            f"outputs: {path} is of numpy.save; write it with numpy.savez, logits=… and labels=…"
        ) from error
    except ValueError as error:
        with path.open("rb") as file:
            archive_or_array = file.read(2) in (b"PK", b"\x93N")
        # numpy treats every other file as pickled, and explains how to execute it
        why, remedy = "it is no archive", "write it with numpy.savez, or call a table .csv"
        if archive_or_array:
            why, remedy = error, "texts are written as numpy.array(names, dtype=str)"
        raise ValueError(
            f"outputs: {path} holds something else than arrays of numbers and text ({why}); "
            f"{remedy}"
        ) from error
    except _DAMAGED as error:
        raise ValueError(
            f"outputs: {path} is not a whole .npz file, as numpy.savez writes ({error})"
        ) from error


def _check_exists(path: Path) -> None:
    if not path.is_file():
        raise FileNotFoundError(f"outputs: no file {path}")


def _check_members(path: Path, archive: zipfile.ZipFile) -> None:
    """Refuse an archive with fewer members than it declares, or with a name twice.

    One changed bit can hide members, and of two members with one name the last is read.
    """
    size = 22 + len(archive.comment)
    with open(path, "rb") as file:
        file.seek(-size, 2)
        end = file.read(size)
    count = int.from_bytes(end[10:12], "little")
    names = archive.namelist()
    if end[:4] != b"PK\5\6" or count not in (len(names), 0xFFFF):
        raise zipfile.BadZipFile(f"{len(names)} members found, {count} expected")
    if twice := {name for name in names if names.count(name) > 1}:
        raise zipfile.BadZipFile(f"twice: {', '.join(sorted(twice))}")


def _read_member(path: Path, archive: np.lib.npyio.NpzFile, name: str) -> np.ndarray:
    """Return an array; check its size before memory is taken, and map it if it is stored as is."""
    member = archive.zip.NameToInfo.get(f"{name}.npy")
    if member is not None:
        with archive.zip.open(member) as file:
            header = _read_header(file)
            skipped = file.tell()
        if header is not None:
            shape, by_columns, dtype = header
            size = math.prod(shape) * dtype.itemsize
            if not dtype.hasobject and skipped + size != member.file_size:
                raise zipfile.BadZipFile(
                    f"{member.filename} has not the size that its shape {shape} asks"
                )
            if member.compress_type == zipfile.ZIP_STORED and size and not dtype.hasobject:
                start, order = _check_stored(path, member), "F" if by_columns else "C"
                return np.memmap(path, dtype, "r", start + skipped, shape, order).view(np.ndarray)
    array = archive[name]
    if not isinstance(array, np.ndarray):
        raise ValueError(f"{name} is no array")
    return array


def _read_header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype] | None:
    """Return shape, column order and type of an array; None for later versions of the format."""
    version = np.lib.format.read_magic(file)
    if version > (2, 0):
        return None
    if version == (2, 0):
        return np.lib.format.read_array_header_2_0(file)
    return np.lib.format.read_array_header_1_0(file)


def _check_stored(path: Path, member: zipfile.ZipInfo) -> int:
    """Return where an uncompressed member begins, after a comparison of its checksum."""
    with open(path, "rb") as file:
        file.seek(member.header_offset)
        header = file.read(30)  # its last numbers are the lengths of a name and a field
    lengths = int.from_bytes(header[26:28], "little"), int.from_bytes(header[28:30], "little")
    start = member.header_offset + 30 + sum(lengths)
    if zlib.crc32(np.memmap(path, np.uint8, "r", start, member.file_size)) != member.CRC:
        raise zipfile.BadZipFile(f"the checksum of {member.filename} does not match")
    return start


def read_table(path: Path) -> pd.DataFrame:
    """Return the table of a ``.csv`` or ``.parquet`` file."""
    _check_exists(path)
    kind = path.suffix.lower()
    if kind == ".csv":
        _check_text(path)
    import pandas as pd

    try:
        return pd.read_csv(path) if kind == ".csv" else pd.read_parquet(path, engine="pyarrow")
    except ImportError as error:
        raise ValueError(
            f"outputs: {path} is read by pyarrow, which is not installed; pip install pyarrow, or "
            "write .npz or .csv"
        ) from error
    except (OSError, ValueError) as error:  # errors of pandas and pyarrow derive from these
        line = str(error).strip().partition("\n")[0]
        raise ValueError(f"outputs: {path} is not a whole {kind} file ({line})") from error


def _check_text(path: Path) -> None:
    """Refuse a table in UTF-16, and one whose first line has semicolons or tabs and no comma."""
    with path.open("rb") as file:
        line = file.readline()
    wrong, option, more = "", "", ""
    if line.startswith((b"\xff\xfe", b"\xfe\xff")):
        wrong, option = "is text in UTF-16; UTF-8", "encoding='utf-16'"
    elif b"," not in line:
        separator = next((sign for sign in ";\t" if sign.encode() in line), "")
        if separator:
            wrong = f"separates its columns by {separator!r}; commas"
            option, more = f"sep={separator!r}", ", with decimal=',' to read numbers like 0,5"
    if wrong:
        raise ValueError(
            f"outputs: {path} {wrong} expected. In Python: pandas.read_csv({path.name!r}, {option})"
            f".to_csv({path.name!r}, index=False){more}"
        )
