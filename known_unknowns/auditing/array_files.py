"""Arrays and tables of a file that any framework can write; nothing in it is executed.

What is wrong with a file is said in words that begin with "outputs", which it holds.
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
"""The endings of tables; what ends otherwise is an archive of arrays."""

_DAMAGED = (
    AttributeError, EOFError, MemoryError, NotImplementedError, OSError, RuntimeError,
    tokenize.TokenError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip


def read_npz(path: Path) -> dict[str, np.ndarray]:
    """Return the arrays of a ``.npz`` file by name; what is not compressed is mapped into memory.

    Raises
    ------
    FileNotFoundError
        No such file.
    ValueError
        Truncated or altered; pickled objects; something else than its name says.
    """
    _check_there(path)
    try:
        with np.load(path, allow_pickle=False) as archive:
            members = {one.filename: one for one in archive.zip.infolist()}
            _check_count(path, archive.zip)
            arrays = {}
            for name in archive.files:
                found = None
                if f"{name}.npy" in members:
                    _check_size(archive.zip, members[f"{name}.npy"])
                    found = _mapped(path, members[f"{name}.npy"])
                arrays[name] = archive[name] if found is None else found
                if not isinstance(arrays[name], np.ndarray):
                    raise ValueError(f"{name} is no array")
            return arrays
    except TypeError as error:  # a single array
        raise ValueError(
            f"outputs: {path} is of numpy.save; write it with numpy.savez, logits=… and labels=…"
        ) from error
    except ValueError as error:
        with path.open("rb") as file:
            archive_or_array = file.read(2) in (b"PK", b"\x93N")
        # numpy takes all else for pickled, and says how to have it executed
        why, mended = "it is no archive", "write it with numpy.savez, or call a table .csv"
        if archive_or_array:
            why, mended = error, "texts are written as numpy.array(names, dtype=str)"
        raise ValueError(
            f"outputs: {path} holds something else than arrays of numbers and text ({why}); "
            f"{mended}"
        ) from error
    except _DAMAGED as error:
        raise ValueError(
            f"outputs: {path} is not a whole .npz file, as numpy.savez writes ({error})"
        ) from error


def _header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype] | None:
    """Read shape, order by columns and type of an array; None for later versions of the format."""
    version = np.lib.format.read_magic(file)
    if version > (2, 0):
        return None
    if version == (2, 0):
        return np.lib.format.read_array_header_2_0(file)
    return np.lib.format.read_array_header_1_0(file)


def _check_count(path: Path, archive: zipfile.ZipFile) -> None:
    """Refuse an archive whose list of members is shorter than its end says, or names one twice.

    A flipped bit in the length of an entry's comment hides the entries behind it, and of two
    members of one name the last is read.
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


def _check_size(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> None:
    """Refuse an array that is not as long as its header says, before memory is taken for it."""
    with archive.open(member) as file:
        if (header := _header(file)) is None:
            return
        place = file.tell()
    shape, _, dtype = header
    size = math.prod(shape) * dtype.itemsize
    if not dtype.hasobject and place + size != member.file_size:
        raise zipfile.BadZipFile(f"{member.filename} has not the size that its shape {shape} asks")


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
        if (found := _header(file)) is None:
            return None
        shape, by_columns, dtype = found
        place = file.tell()
    size = math.prod(shape) * dtype.itemsize
    if dtype.hasobject or not size:
        return None
    if place + size != start + member.file_size:
        raise zipfile.BadZipFile(f"{member.filename} has not the size that its shape {shape} asks")
    if zlib.crc32(np.memmap(path, np.uint8, "r", start, member.file_size)) != member.CRC:
        raise zipfile.BadZipFile(f"the checksum of {member.filename} does not match")
    order = "F" if by_columns else "C"
    return np.memmap(path, dtype, "r", place, shape, order).view(np.ndarray)


def read_table(path: Path) -> pd.DataFrame:
    """Return the table of a ``.csv`` or ``.parquet`` file.

    Raises
    ------
    FileNotFoundError
        No such file.
    ValueError
        It is not whole, or what reads it is not installed.
    """
    _check_there(path)
    if path.suffix.lower() == ".csv":
        _check_separator(path)
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


def _check_separator(path: Path) -> None:
    """Refuse a table whose first line has semicolons or tabs, and no comma."""
    with path.open("rb") as file:
        line = file.readline()
    for separator in (";", "\t"):
        if separator.encode() in line and b"," not in line:
            raise ValueError(
                f"outputs: {path} separates its columns by {separator!r}; commas expected. In "
                f"Python: pandas.read_csv({path.name!r}, sep={separator!r})"
                f".to_csv({path.name!r}, index=False), with decimal=',' to read numbers like 0,5"
            )


def _check_there(path: Path) -> None:
    if not path.is_file():
        raise FileNotFoundError(f"outputs: no file {path}")
