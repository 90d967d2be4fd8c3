"""Arrays and tables of a file from any framework; code in the file is never executed.

Error messages begin with "outputs", the content of the file.
"""

from __future__ import annotations

import csv
import difflib
import math
import re
import tokenize
import warnings
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

#: Suffixes of tables; every other file is an archive of arrays.
TABLES = (".csv", ".parquet")
#: Most characters of a name of a class or column, and of a label that somebody wrote.
LONGEST = 1000
#: Largest ratio of an array's bytes to its compressed bytes; outputs of models shrink far less.
MOST_SHRUNK = 200
_DAMAGED = (
    AttributeError, EOFError, MemoryError, NotImplementedError, OSError, RuntimeError,
    tokenize.TokenError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip
_OF_IMAGES = {"file": "files", "group": "groups", "stratum": "strata"}
#: Columns that are read as text: nothing is guessed, merged or shortened.
TEXTS = {"set", "label", *_OF_IMAGES}
#: Array, and a pattern of its columns: STEM_0, STEM_1 ...
_STEMS = {"logits": "logit", "probabilities": "prob|proba|probability", "features": "feature"}
_OUTPUTS = re.compile(rf"({'|'.join(_STEMS.values())})(_.+)?", re.DOTALL)
#: Similarity of the names of two columns, of which one is a slip.
_NEAR = 0.8
#: Two parts of messages about labels of several classes.
MULTI_LABEL = "one class for each image expected"
ONE_LABEL = (
    "a multi-label model is audited label by label, as a model of two classes: of label k, give "
    "logits np.c_[0 * logits[:, k], logits[:, k]] and labels[:, k]"
)
#: Labels of images of unknown classes.
_NO_LABEL = {"", "-1", "-1.0"}
_PREFIXES = {"validation": "", "train": "train_", "production": "production_"}


def read_arrays(path: Path, *, new: bool = False) -> dict[str, np.ndarray]:
    """Return the arrays of a file by name, mapped into memory if they are not compressed.

    A table of `new` outputs has rows of one set, which may have any name.
    """
    if not path.is_file():
        problem = "is a folder" if path.is_dir() else "is no file, and no link to a file"
        raise FileNotFoundError(f"outputs: {path} {problem}; give a file of numpy.savez or a table")
    if path.suffix.lower() in TABLES:
        table = _read_table(path)
        arrays = _arranged(_all_rows(table) if new else table)
        if new and any(table.get("label", ())):
            arrays["labels"] = table["label"].to_numpy()
        return arrays
    try:
        with np.load(path, allow_pickle=False) as arrays:
            with zipfile.ZipFile(path) as archive:
                _check_members(path, archive)
                members = archive.NameToInfo
            return {
                name: _read_member(path, arrays, name, members.get(f"{name}.npy"))
                for name in arrays.files
            }
    except TypeError as error:  # a single array
        raise ValueError(
            f"outputs: {path} is of numpy.save; write it with numpy.savez, logits=… and labels=…"
        ) from error
    except ValueError as error:
        with path.open("rb") as file:
            archive_or_array = file.read(2) in (b"PK", b"\x93N")
        # numpy treats every other file as pickled, and explains how to execute it
        problem = "it is no archive"
        remedy = "write it with numpy.savez, or call a table .csv"
        if archive_or_array:
            problem = str(error)
            remedy = "texts are written as numpy.array(names, dtype=str)"
        raise ValueError(
            f"outputs: {path} holds something else than arrays of numbers and text ({problem}); "
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
    if twice := repeated(names):
        raise zipfile.BadZipFile(f"twice: {', '.join(sorted(twice))}")


def _read_member(
    path: Path, arrays: np.lib.npyio.NpzFile, name: str, member: zipfile.ZipInfo | None
) -> np.ndarray:
    """Return an array; check its size before allocation, and map it if it is uncompressed.

    Anything else in the archive is refused: NumPy would read it whole, of any size.

    >>> _read_member(Path("x.npz"), {}, "readme.txt", None)
    Traceback (most recent call last):
        ...
    ValueError: readme.txt is no array
    """
    if member is None:
        raise ValueError(f"{name} is no array")
    mapped = _mapped(path, name, member)
    return arrays[name] if mapped is None else mapped


def _mapped(path: Path, name: str, member: zipfile.ZipInfo) -> np.ndarray | None:
    """Return an uncompressed array of numbers or text, mapped into memory; else None."""
    formats = np.lib.format
    with zipfile.ZipFile(path) as archive, archive.open(member) as file:
        if formats.read_magic(file) != (1, 0):  # the version of all arrays of numbers or text
            raise ValueError(f"{name} is no array of numbers or text")
        shape, by_columns, dtype = formats.read_array_header_1_0(file)
        skipped = file.tell()
    if dtype.hasobject:
        return None
    size = math.prod(shape) * dtype.itemsize
    if skipped + size != member.file_size:
        raise zipfile.BadZipFile(f"{member.filename} does not have the size of its shape {shape}")
    _check_size(name, member.compress_size, size, "numpy.savez writes it without compression")
    if member.compress_type != zipfile.ZIP_STORED or not size:
        return None
    array: np.ndarray = np.memmap(
        path,
        dtype,
        mode="r",
        offset=_check_stored(path, member) + skipped,
        shape=shape,
        order="F" if by_columns else "C",
    )
    return array.view(np.ndarray)


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
        name_length = int.from_bytes(file.read(2), "little")
        extra_length = int.from_bytes(file.read(2), "little")
    start = member.header_offset + 30 + name_length + extra_length
    content = np.memmap(path, np.uint8, "r", start, (member.file_size,))
    if zlib.crc32(content.data) != member.CRC:
        raise zipfile.BadZipFile(f"the checksum of {member.filename} does not match")
    return start


def _read_table(path: Path) -> pd.DataFrame:
    """Return the table of a ``.csv`` or ``.parquet`` file; columns of `TEXTS` are texts.

    An empty cell of a text is "".
    """
    import pandas as pd

    kind = path.suffix.lower()
    separator = separator_of(path) if kind == ".csv" else ""
    try:
        table = _read_csv(path, separator) if separator else _read_parquet(path)
        for name in TEXTS & {*table}:
            texts = table[name].astype("category").cat.categories
            # NumPy pads each text to the longest
            size = 4 * len(table) * max(map(len, texts), default=0)
            _check_size(f"with {name!r}, it", path.stat().st_size, size, "shorten the texts")
            table[name] = table[name].astype(object).fillna("")
        return table
    except ImportError as error:
        raise ValueError(
            f"outputs: {path} is read by pyarrow, which is not installed; pip install pyarrow, or "
            "write .npz or .csv"
        ) from error
    except pd.errors.ParserWarning as error:
        raise ValueError(
            f"outputs: {path} has more cells in its rows than names in its first line; name each "
            "column, as table.to_csv(path, index=False) does"
        ) from error
    except UnicodeDecodeError as error:
        raise _no_text(path, error) from error
    except (OSError, TypeError, ValueError, csv.Error) as error:  # also of pandas and pyarrow
        line = str(error).strip().partition("\n")[0]
        raise ValueError(f"outputs: {path} cannot be read as {kind} ({line})") from error


def _read_csv(path: Path, separator: str) -> pd.DataFrame:
    """Return the table of a ``.csv`` file, in which only "" is missing."""
    import pandas as pd

    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = filter(None, csv.reader(file, delimiter=separator))
        header = next(rows, [])
        numbers = [column for column, name in enumerate(header) if _OUTPUTS.fullmatch(name)]
        cells = [
            row[place] for row in islice(rows, _FIRST) for place in numbers if place < len(row)
        ]
        comma = separator != "," and any(map(_DECIMAL.fullmatch, cells))
    _check_header(header)
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        return pd.read_csv(
            path,
            sep=separator,
            decimal="," if comma else ".",
            encoding="utf-8-sig",
            dtype=dict.fromkeys(TEXTS & {*header}, str),
            keep_default_na=False,
            na_values={name: [""] for name in header if name not in TEXTS},
            index_col=False,
            skip_blank_lines=len(header) > 1,
            low_memory=False,  # else the type of a column would depend on the row
        )


def _read_parquet(path: Path) -> pd.DataFrame:
    """Return the table of a ``.parquet`` file; numbers in a column of texts are cast exactly."""
    import pyarrow
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(path, read_dictionary=_check_columns(path))
    _check_header(table.column_names)
    for name in TEXTS & {*table.column_names}:
        column = table[name]
        if pyarrow.types.is_nested(column.type) and name == "label":
            raise ValueError(f"label: {MULTI_LABEL}, got a list in each row; {ONE_LABEL}")
        if pyarrow.types.is_dictionary(column.type):
            if pyarrow.types.is_string(column.type.value_type):
                continue
            column = column.cast(column.type.value_type)
        if pyarrow.types.is_nested(column.type):
            raise ValueError(f"{name}: a text in each row expected, got {column.type}")
        index = table.column_names.index(name)
        table = table.set_column(index, name, column.cast(pyarrow.string()))
    # without the metadata of pandas, a named index is a column, and numbers have NumPy's types
    frame = table.to_pandas(ignore_metadata=True)
    return frame[[name for name in frame if not re.fullmatch(r"__index_level_\d+__", name)]]


def _check_header(names: Sequence[str]) -> None:
    """Refuse two columns of the same name, and a name that is too long.

    >>> _check_header(["label", "logit_" + "x" * 1000])
    Traceback (most recent call last):
        ...
    ValueError: logit_xxxxxxxxxxxxxx…: at most 1,000 characters expected, got 1,006
    """
    check_lengths(names)
    if twice := repeated(names):
        raise ValueError(f"two columns are named {twice[0]!r}; leave one out")


def repeated(names: Iterable[str]) -> list[str]:
    """Return the names that occur more than once.

    >>> repeated(["ant", "bee", "ant"])
    ['ant']
    """
    return [name for name, count in Counter(names).items() if count > 1]


def check_lengths(names: Iterable[str]) -> None:
    """Refuse a name of more than `LONGEST` characters: NumPy pads all texts to the longest."""
    longest = max(names, key=len, default="")
    if len(longest) > LONGEST:
        raise ValueError(
            f"{longest[:20]}…: at most {LONGEST:,} characters expected, got {len(longest):,}"
        )


def _check_columns(path: Path) -> list[str]:
    """Refuse a ``.parquet`` file that would fill the memory; return its columns of text.

    Equal values do not need space in the file.  The file declares the sizes.
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


#: Number of rows that show whether the decimal point is a comma, as in `_DECIMAL`.
_FIRST = 100
_DECIMAL = re.compile(r"-?\d*,\d+([eE][-+]?\d+)?")


def separator_of(path: Path) -> str:
    """Return what separates the columns: a semicolon or a tab if the first line has no comma.

    A table in UTF-16 is refused.
    """
    with path.open("rb") as file:
        line = next((line for line in file if line.strip()), b"")
    encoding = "encoding='utf-16'"
    if line.startswith((b"\xff\xfe", b"\xfe\xff")):
        remedy = f"UTF-8 expected. In Python: {_rewritten(path, encoding)}"
        raise ValueError(f"outputs: {path} is text in UTF-16; {remedy}")
    if b"," in line:
        return ","
    return next((sign for sign in ";\t" if sign.encode() in line), ",")


def _no_text(path: Path, error: UnicodeDecodeError) -> ValueError:
    line = _rewritten(path, "encoding='cp1252'")
    return ValueError(f"outputs: {path} is no text in UTF-8 ({error}). In Python: {line}")


def _rewritten(path: Path, option: str) -> str:
    """Return the line of code that writes a table in UTF-8 with commas, and leaves its texts."""
    name = repr(path.name)
    texts = f"dtype=dict.fromkeys({sorted(TEXTS)}, str), keep_default_na=False"
    return f"pandas.read_csv({name}, {option}, {texts}).to_csv({name}, index=False)"


def _arranged(table: pd.DataFrame) -> dict[str, np.ndarray]:
    """Return the arrays of a table."""
    kinds, class_names = _columns_of_numbers(table)
    sets = np.full(len(table), "validation", dtype=object)
    if "set" in table:
        sets = _texts(table, "set", "file").astype(object)
    arrays: dict[str, np.ndarray] = {}
    if class_names:
        arrays["class_names"] = np.array(class_names, dtype=str)
    for name in dict.fromkeys(sets):
        part = table[sets == name]
        where = f"set {name}" if "set" in table else "file"
        prefix = _PREFIXES.get(name, f"ood_{name}_")
        meant = name.strip().lower()
        if meant in ("new", "unlabelled"):
            meant = "production"
        if name not in _PREFIXES and meant in _PREFIXES:
            raise ValueError(f"set: {name!r} would be a set of unknown images; write {meant!r}")
        for kind, names in kinds.items():
            arrays[f"{prefix}{kind}"] = _numbers(part[names], where)
        if name not in _PREFIXES and (known := {*part.get("label", ())} - _NO_LABEL):
            raise ValueError(
                f"label: empty or -1 expected in the set {name!r}, because a set of this name has "
                f"images of unknown classes, got {min(known)!r}; if the images are of known "
                "classes, write 'validation' as their set, else leave the labels empty"
            )
        if "label" in table and name in ("validation", "train"):
            arrays[f"{prefix}labels"] = _texts(part, "label", where)
        if "label" in table and name == "production":
            arrays["production_labels"] = part["label"].to_numpy(dtype=object).astype(str)
        if name == "production" and "file" in table and (part["file"] != "").any():
            arrays["production_files"] = _texts(part, "file", where)
        for column in [each for each in _OF_IMAGES if each in table and name == "validation"]:
            arrays[_OF_IMAGES[column]] = _texts(part, column, where)
    return arrays


def _all_rows(table: pd.DataFrame) -> pd.DataFrame:
    """Return the outputs and files of a table of new images; refuse several sets.

    Other columns are left out, but for those whose name is nearly that of a column.
    """
    if "set" in table and len(sets := table["set"].unique()) > 1:
        raise ValueError(
            f"set: new outputs of one set expected, got {len(sets)} sets ({', '.join(sets[:8])}); "
            "write each set to a separate file"
        )
    options = ["logit_0", "prob_0", "feature_0", *TEXTS]
    if not any(map(_OUTPUTS.fullmatch, table)):
        return table  # whose columns are in the message about the missing outputs
    others = [
        name
        for name in table
        if not (_OUTPUTS.fullmatch(name) or difflib.get_close_matches(name, options, 1, _NEAR))
    ]
    return table.drop(columns=["set", "label", "group", "stratum", *others], errors="ignore")


def _columns_of_numbers(table: pd.DataFrame) -> tuple[dict[str, list[str]], list[str]]:
    """Return the columns of each kind of array, and the class names that they may have."""
    import pandas as pd

    if not len(table):
        raise ValueError("outputs: a row for each image expected, but the table is empty")
    kinds: dict[str, list[str]] = {}
    class_names: list[str] = []
    for kind, stem in _STEMS.items():
        names, suffixes = _numbered([*map(str, table)], stem, named=kind != "features")
        if names:
            kinds[kind] = names
            class_names = class_names or suffixes
    _check_names(table, {*chain(*kinds.values())})
    if not kinds.keys() - {"features"}:
        raise ValueError(
            "logit_0: missing, and with it all logits; the columns are "
            f"{', '.join(map(str, table.columns[:8]))}"
        )
    for name in chain(*kinds.values()):
        if table[name].dtype.kind not in "iuf":
            wrong = pd.to_numeric(table[name].astype(str), errors="coerce").isna()
            row = int(wrong.argmax())
            raise ValueError(
                f"{name}: a number such as 0.5 expected in each row, got {table[name].iloc[row]!r} "
                f"in row {row}"
            )
    return kinds, class_names


def _check_names(table: pd.DataFrame, numbers: set[str]) -> None:
    """Refuse unknown columns; a message about lists has the line that splits them."""
    options = numbers | {"logit_0", "prob_0", "feature_0"} | TEXTS
    for name in map(str, table):
        if name.startswith("Unnamed: "):  # the name of an index that pandas wrote
            raise ValueError(
                f"outputs: a name for each column expected, but {name!r} is the name of an index; "
                "leave it out, as table.to_csv(path, index=False) does"
            )
        if name in _STEMS:
            stem = _STEMS[name].partition("|")[0]
            rows = f"table.pop({name!r})"
            if isinstance(table[name].iloc[0], str):
                rows = f"map(json.loads, {rows})"
            raise ValueError(
                f"{name}: a column for each number expected, got a list in each row. In Python: "
                f"table.join(pandas.DataFrame([*{rows}]).add_prefix('{stem}_'))"
            )
        if name.startswith("label_"):
            columns = [each for each in map(str, table) if each.startswith("label_")]
            raise ValueError(
                f"label: {MULTI_LABEL}, got {len(columns)} columns ({', '.join(columns[:3])}); "
                "if each row has a single 1, write table['label'] = "
                "table.filter(regex='^label_').to_numpy().argmax(axis=1), and drop these columns; "
                + ONE_LABEL
            )
        if name not in options:
            near = difflib.get_close_matches(name, options, n=1)
            hint = f"did you mean '{near[0]}'? " if near else ""
            if name == "image":
                hint = "for a table that somebody filled in, see audit --labels and watch; "
            raise ValueError(
                f"unknown column '{name}'; {hint}{', '.join(sorted(options))} expected. Rename it "
                "(prob_CLASS: the probabilities of a class; label: the classes; group: "
                "images that belong together, as of one patient), or leave it out: "
                f"table.drop(columns='{name}')"
            )


def _numbered(columns: list[str], stem: str, named: bool) -> tuple[list[str], list[str]]:
    """Return the columns ``STEM_0``, ``STEM_1`` …, or ``STEM_CLASS`` … with the names of classes.

    Refuse a gap.
    """
    matching = [name for name in columns if re.fullmatch(rf"(?:{stem})_.+", name, re.DOTALL)]
    if named and len(matching) == 1:
        raise ValueError(
            f"{matching[0]}: a column for each class expected; add that of the other class, or "
            "give the probability of class 1 as the column proba, with the labels 0 and 1"
        )
    numbers = [name for name in matching if re.fullmatch(r"\w+?_\d+", name)]
    if named and matching and not numbers:
        return matching, [name.partition("_")[2] for name in matching]
    if named and len(numbers) < len(matching):
        odd = next(name for name in matching if name not in numbers)
        raise ValueError(
            f"{odd}: numbers from 0 on, or names of classes, expected after the _, got both "
            f"({numbers[0]}, {odd}); rename the columns"
        )
    if not numbers:
        # a single column is the probability of class 1
        return [name for name in columns if name != "feature" and name in stem.split("|")], []
    start = numbers[0].partition("_")[0]
    names = [f"{start}_{number}" for number in range(len(numbers))]
    known = set(numbers)
    if missing := [name for name in names if name not in known]:
        raise ValueError(
            f"{missing[0]}: missing, though there are {len(numbers)} columns of this kind; they "
            f"count from {start}_0 without a gap" + "; if the numbers are names of classes, write "
            f"{start}_class{numbers[0].split('_')[1]} … as columns, and the names class… as labels"
            * named
        )
    return names, []


def _numbers(cells: pd.DataFrame, where: str) -> np.ndarray:
    """Return the numbers of the cells; refuse empty cells."""
    missing = cells.isna()
    if rows := int(missing.any(axis=1).sum()):
        raise _missing(missing.any().idxmax(), rows, len(cells), where)
    return cells.to_numpy()


def _texts(table: pd.DataFrame, column: str, where: str) -> np.ndarray:
    """Return the texts of a column; refuse empty cells."""
    texts = table[column].to_numpy(dtype=object)
    if rows := int((texts == "").sum()):
        raise _missing(column, rows, len(texts), where)
    if any("\0" in text for text in texts):
        # NumPy cuts it off at the end of a text
        raise ValueError(f"{column}: texts without the character NUL expected; write other texts")
    return texts.astype(str)


def _missing(column: str, rows: int, total: int, where: str) -> ValueError:
    parts = "these rows" if rows < total else "the column"
    return ValueError(
        f"{column}: missing in {rows} of {total} rows of the {where}; write the values, or leave "
        f"{parts} out"
    )


def read_labels(path: Path) -> list[dict[str, str]]:
    """Return the rows of a small table that somebody has filled in, each cell as text."""
    separator = separator_of(path)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file, restval="", delimiter=separator))
    except UnicodeDecodeError as error:
        raise _no_text(path, error) from error
    return [{str(name): str(cell) for name, cell in row.items()} for row in rows]
