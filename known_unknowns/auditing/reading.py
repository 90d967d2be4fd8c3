"""Arrays and tables of a file from any framework; code in the file is never executed.

Error messages begin with "outputs", the content of the file.
"""

from __future__ import annotations

import math
import re
import tokenize
import zipfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from helpers.checks import known_name

if TYPE_CHECKING:
    import pandas as pd

#: Suffixes of tables; every other file is an archive of arrays.
TABLES = (".csv", ".parquet")
#: Largest ratio of an array's bytes to its compressed bytes; outputs of models shrink far less.
MOST_SHRUNK = 200
_DAMAGED = (
    AttributeError, EOFError, MemoryError, NotImplementedError, OSError, RuntimeError,
    tokenize.TokenError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip
_OF_IMAGES = {"file": "files", "group": "groups", "stratum": "strata"}
_PREFIXES = {"validation": "", "train": "train_", "production": "production_"}


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Return the arrays of a file by name, mapped into memory if they are not compressed."""
    if not path.is_file():
        problem = "is a folder" if path.is_dir() else "is no file, and no link to a file"
        raise FileNotFoundError(f"outputs: {path} {problem}; give a file of numpy.savez or a table")
    if path.suffix.lower() in TABLES:
        return _arranged(_read_table(path))
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


def _check_members(path: Path, archive: zipfile.ZipFile) -> None:
    """Refuse an archive with fewer members than it declares, or with a name twice.

    One changed bit can hide members.  If two members have the same name, the last is read.
    """
    with path.open("rb") as file:
        file.seek(-22 - len(archive.comment), 2)
        end = file.read(22)
    count = int.from_bytes(end[10:12], "little")
    names = archive.namelist()
    if end[:4] != b"PK\5\6" or count not in (len(names), 0xFFFF):
        raise zipfile.BadZipFile(f"{len(names)} members found, {count} expected")
    if twice := {name for name in names if names.count(name) > 1}:
        raise zipfile.BadZipFile(f"twice: {', '.join(sorted(twice))}")


def _read_member(path: Path, archive: np.lib.npyio.NpzFile, name: str) -> np.ndarray:
    """Return an array; check its size before allocation, and map it if it is uncompressed."""
    member, formats = archive.zip.NameToInfo.get(f"{name}.npy"), np.lib.format
    if member is not None:
        with archive.zip.open(member) as file:
            header = None
            if formats.read_magic(file) == (1, 0):  # the version of all arrays of numbers or text
                header, skipped = formats.read_array_header_1_0(file), file.tell()
        if header is not None and not header[2].hasobject:
            shape, by_columns, dtype = header
            size = math.prod(shape) * dtype.itemsize
            if skipped + size != member.file_size:
                raise zipfile.BadZipFile(
                    f"{member.filename} has not the size that its shape {shape} asks"
                )
            remedy = "numpy.savez writes it without compression"
            _check_size(name, member.compress_size, size, remedy)
            if member.compress_type == zipfile.ZIP_STORED and size:
                start, order = _check_stored(path, member) + skipped, "F" if by_columns else "C"
                return np.memmap(path, dtype, "r", start, shape, order).view(np.ndarray)
    array = archive[name]
    if not isinstance(array, np.ndarray):
        raise ValueError(f"{name} is no array")
    return array


def _check_size(name: str, packed: int, size: int, remedy: str) -> None:
    """Refuse content that is small in a file and would fill the memory."""
    if size > MOST_SHRUNK * max(packed, 2**18):
        raise OSError(
            f"{name} has {packed:,} bytes that would fill {size:,} bytes of memory; {remedy}"
        )


def _check_stored(path: Path, member: zipfile.ZipInfo) -> int:
    """Return the position of an uncompressed member, after a comparison of its checksum."""
    with path.open("rb") as file:
        file.seek(member.header_offset + 26)
        name, extra = (int.from_bytes(file.read(2), "little") for _ in range(2))  # lengths
    start = member.header_offset + 30 + name + extra
    if zlib.crc32(np.memmap(path, np.uint8, "r", start, member.file_size)) != member.CRC:
        raise zipfile.BadZipFile(f"the checksum of {member.filename} does not match")
    return start


def _read_table(path: Path) -> pd.DataFrame:
    """Return the table of a ``.csv`` or ``.parquet`` file."""
    import pandas as pd

    kind = path.suffix.lower()
    if kind == ".csv":
        _check_text(path)
    try:
        if kind == ".csv":  # all rows at once, or the type of a column would depend on the place
            table = pd.read_csv(path, low_memory=False)
        else:
            table = pd.read_parquet(path, engine="pyarrow", read_dictionary=_check_columns(path))
        for name in {"set", *_OF_IMAGES} & {*table}:  # NumPy pads each text to the longest
            texts = table[name].astype("category").cat.categories
            size = 4 * len(table) * max(map(len, map(str, texts)), default=0)
            _check_size(f"with {name!r}, it", path.stat().st_size, size, "shorten the texts")
        return table
    except ImportError as error:
        raise ValueError(
            f"outputs: {path} is read by pyarrow, which is not installed; pip install pyarrow, or "
            "write .npz or .csv"
        ) from error
    except (OSError, TypeError, ValueError) as error:  # also those of pandas and pyarrow
        line = str(error).strip().partition("\n")[0]
        raise ValueError(f"outputs: {path} cannot be read as {kind} ({line})") from error


def _check_columns(path: Path) -> list[str]:
    """Refuse a ``.parquet`` file that would fill the memory; return its columns of text.

    Equal values take no space in the file.  The sizes are those that the file declares.
    """
    import pyarrow.parquet

    metadata = pyarrow.parquet.read_metadata(path)
    columns = [metadata.schema.column(i) for i in range(metadata.num_columns)]
    size = 0
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        for i, column in enumerate(columns):
            part = group.column(i)
            size += max(part.total_uncompressed_size, part.num_values * max(column.length, 8))
    _check_size("it", path.stat().st_size, size, "write .npz with numpy.savez")
    return [column.path for column in columns if column.physical_type == "BYTE_ARRAY"]


def _check_text(path: Path) -> None:
    """Refuse a table in UTF-16, and one whose first line has semicolons or tabs and no comma."""
    with path.open("rb") as file:
        line = file.readline()
    separator = next((sign for sign in ";\t" if sign.encode() in line), "")
    if line.startswith((b"\xff\xfe", b"\xfe\xff")):
        wrong, option, more = "is text in UTF-16; UTF-8", "encoding='utf-16'", ""
    elif separator and b"," not in line:
        wrong, option = f"separates its columns by {separator!r}; commas", f"sep={separator!r}"
        more = ", with decimal=',' to read numbers like 0,5"
    else:
        return
    raise ValueError(
        f"outputs: {path} {wrong} expected. In Python: pandas.read_csv({path.name!r}, {option})"
        f".to_csv({path.name!r}, index=False){more}"
    )


def _arranged(table: pd.DataFrame) -> dict[str, np.ndarray]:
    """Return the arrays of a table."""
    if not len(table):
        raise ValueError("outputs: the table has no row, and a row for each image is expected")
    kinds = {kind: _numbered(table, kind) for kind in ("logit", "feature")}
    options = {*kinds["logit"], *kinds["feature"], "logit_0", "feature_0", "label", "set"}
    for name in table.columns:
        if str(name).startswith("Unnamed: "):  # the name of an index that pandas wrote
            raise ValueError(
                f"outputs: the column {name!r} has no name in the file; leave it out, as "
                "table.to_csv(path, index=False) does with the index"
            )
        known_name("column", name, options | {*_OF_IMAGES})
    if not kinds["logit"]:
        raise ValueError(
            "logit_0: missing, and with it all logits; the columns are "
            f"{', '.join(map(str, table.columns[:8]))}"
        )
    sets = np.full(len(table), "validation", dtype=object)
    if "set" in table:
        sets = _present(table[["set"]], "file")["set"].astype(str).to_numpy(dtype=object)
    arrays: dict[str, np.ndarray] = {}
    for name in dict.fromkeys(sets):
        part, where = table[sets == name], f"set {name}"
        prefix = _PREFIXES.get(name, f"ood_{name}_")
        if name not in _PREFIXES and (meant := name.strip().lower()) in _PREFIXES:
            raise ValueError(f"set: {name!r} would be a set of unknown images; write {meant!r}")
        for kind, names in kinds.items():
            if names:
                arrays[f"{prefix}{kind}s"] = _present(part[names], where).to_numpy()
        if "label" in table and name in ("validation", "train"):
            labels = _present(part[["label"]], where)["label"].to_numpy()
            # an empty cell of another set turned the whole numbers into floats
            whole = labels.dtype.kind == "f" and (labels == np.round(labels)).all()
            arrays[f"{prefix}labels"] = labels.astype(np.int64) if whole else labels
        for column in [each for each in _OF_IMAGES if each in table and name == "validation"]:
            cells = part[[column]] if column == "file" else _present(part[[column]], where)
            arrays[_OF_IMAGES[column]] = cells[column].astype(str).to_numpy(dtype=str)
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
    if texts := [name for name in names if table[name].dtype.kind not in "iuf"]:
        raise ValueError(f"{texts[0]}: a number such as 0.5 expected in each row, and some are not")
    return names


def _present(cells: pd.DataFrame, where: str) -> pd.DataFrame:
    """Return the cells; refuse empty cells."""
    missing = cells.isna()
    if rows := int(missing.any(axis=1).sum()):
        raise ValueError(
            f"{missing.any().idxmax()}: missing in {rows} of {len(cells)} rows of the {where}; "
            "write the values, or leave these rows out"
        )
    return cells
