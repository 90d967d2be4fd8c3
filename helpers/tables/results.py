"""The results table: one row per number, with its meaning and its source.

Tables are parquet files, which contain only data; reading them executes no code.  Bootstrap
replicates keep 13 binary digits, which halves the files: a relative change of 1.2e-4 at most.  The
ends of the ledger's intervals move by 0.04% of the width (median; 2.7% for the narrowest).
"""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import io
import json
import os
import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

import helpers
from helpers import cache
from helpers.checks import known_name
from helpers.files import atomic_path

#: The columns that identify a number; no two rows of a table agree in all of them.
IDENTITY = (
    "tier",
    "paper",
    "data_set",
    "test_set",
    "backbone",
    "run",
    "method",
    "calibration",
    "variant",
    "metric",
)

_PROVENANCE = {
    "seed": pa.int64(),
    "parameters": pa.string(),
    "code": pa.string(),
    "versions": pa.string(),
    "device": pa.string(),
    "seconds": pa.float64(),
}
_NUMBER = {
    **{name: pa.int64() if name == "run" else pa.string() for name in IDENTITY},
    "value": pa.float64(),
    "bootstrap": pa.list_(pa.float32()),
    "images": pa.int64(),
    "notes": pa.string(),
}
#: Names and types of all columns, in order; `tidy` describes their contents.
SCHEMA = pa.schema({"row": pa.string(), **_NUMBER, **_PROVENANCE})

CALIBRATIONS = ("before", "after", "")
_DEFAULTS = {
    "test_set": "test",
    "calibration": "",
    "variant": "primary",
    "bootstrap": (),
    "notes": "",
}
_PACKAGES = ("numpy", "torch", "torchvision", "timm")
_DIGEST = b"known_unknowns.sha256"  # key of the digest of a file's content
_DIGITS = 13  # of a replicate
_REPLICATES = "bootstrap.list.element"  # how parquet names the numbers of a list
_REMEDY = "delete the file and rerun the notebook that writes it"
_PAGE = 1 << 26  # bytes: each column has one page
_PARQUET = {
    "compression": "zstd",
    "compression_level": 9,  # above it, less than a hundredth of the size is gained
    "write_statistics": False,
    "data_page_size": _PAGE,
    "dictionary_pagesize_limit": _PAGE,
}
_STORED = SCHEMA.remove(0)  # "row" is computed; it would be half of a large file
_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False).encode


@functools.cache
def code_version() -> str:
    """Return the package's version and a hash of its code, as in ``0.1.0+2f6e1c09ab34``."""
    return f"{helpers.__version__}+{cache.code('helpers')[:12]}"


def provenance(parameters: Mapping, *, seed: int, device: str, seconds: float) -> dict:
    """Return the columns that describe the source of a set of numbers."""
    try:
        parameters_hash = hashlib.sha256(_encode(dict(parameters)).encode()).hexdigest()[:12]
    except (TypeError, ValueError) as error:
        raise ValueError(f"parameters: only plain JSON values can be hashed ({error})") from None
    versions = {"python": platform.python_version()}
    versions |= {name: importlib.metadata.version(name) for name in _PACKAGES}
    versions["helpers"] = helpers.__version__
    return {
        "seed": int(seed),
        "parameters": parameters_hash,
        "code": code_version(),
        "versions": json.dumps(versions),
        "device": device,
        "seconds": float(seconds),
    }


def row(
    test_set: str,
    metric: str,
    value: float,
    images: int,
    replicates: np.ndarray | Sequence[float] = (),
    **columns,
) -> dict:
    """Return the fields of a record of `tidy` that the number itself decides.

    >>> row("near", "auroc", 0.9, 500, method="knn")["method"]
    'knn'
    """
    number = {
        "test_set": test_set,
        "metric": metric,
        "value": float(value),
        "images": int(images),
        "bootstrap": np.asarray(replicates, dtype=np.float32),
    }
    return number | columns


def tidy(records: Iterable[Mapping], provenance: Mapping) -> pd.DataFrame:
    """Build a results table from records and the provenance that they share.

    >>> origin = {"seed": 0, "parameters": "0" * 12, "code": "0.1.0+x", "versions": "{}",
    ...           "device": "cpu, 1 thread", "seconds": 1.5}
    >>> record = {"tier": "mini", "paper": "openset_calibration", "data_set": "digits",
    ...           "backbone": "resnet8", "run": 0, "method": "open-set", "calibration": "after",
    ...           "metric": "ece", "value": 0.21, "images": 300}
    >>> table = tidy([record], origin)
    >>> table[["row", "variant", "value"]].to_dict("records")
    [{'row': '554daadc2550', 'variant': 'primary', 'value': 0.21}]
    """
    table = pd.DataFrame([_DEFAULTS | dict(record) for record in records])
    if table.empty:
        raise ValueError("records: empty")
    for name in table:
        known_name("column of a record", name, _NUMBER)
    if missing := [name for name in _NUMBER if name not in table]:
        raise ValueError(f"records: no {', '.join(missing)}")
    origin = {name: provenance[name] for name in _PROVENANCE}
    table = table.assign(**origin, row=row_ids(table))
    return _arrow(table, "records").to_pandas()


def row_ids(table: pd.DataFrame) -> list[str]:
    """Return each row's name: 12 hexadecimal digits of a hash over the columns of `IDENTITY`."""
    columns = []
    for name in IDENTITY:  # few values differ
        codes, values = pd.factorize(table[name], use_na_sentinel=False)
        encoded = [_encode(value).encode() for value in values.tolist()]
        columns.append(np.array(encoded, dtype=object)[codes])
    texts = (b"[%b]" % b",".join(identity) for identity in zip(*columns, strict=True))
    return [hashlib.sha256(text).hexdigest()[:12] for text in texts]


def write(table: pd.DataFrame, path: str | os.PathLike) -> None:
    """Write a results table as parquet; the file appears whole or not at all."""
    _write(_arrow(table, os.fspath(path)), path)


def _write(arrow: pa.Table, path: str | os.PathLike) -> None:
    """Write the smaller of two files.

    Both store each byte of the replicates separately.  To store each byte of the values separately
    makes a file smaller if many values differ, and larger if many are equal.
    """
    stored = arrow.drop_columns("row").replace_schema_metadata({_DIGEST: _digest(arrow)})
    files = [_parquet(stored, [_REPLICATES]), _parquet(stored, ["value", _REPLICATES])]
    with atomic_path(path) as temporary:
        Path(temporary).write_bytes(min(files, key=len))


def _parquet(arrow: pa.Table, split: Sequence[str]) -> bytes:
    """Return a file that stores the bytes of some columns separately, others by a dictionary."""
    columns = [_REPLICATES if name == "bootstrap" else name for name in _STORED.names]
    file = io.BytesIO()
    pq.write_table(
        arrow,
        file,
        use_dictionary=[name for name in columns if name not in split],
        column_encoding=dict.fromkeys(split, "BYTE_STREAM_SPLIT"),
        **_PARQUET,
    )
    return file.getvalue()


def read(path: str | os.PathLike | Sequence[str | os.PathLike]) -> pd.DataFrame:
    """Read one results table, or several into one."""
    paths = [path] if isinstance(path, str | os.PathLike) else list(path)
    return _read(paths).to_pandas()


def join(paths: Sequence[str | os.PathLike], path: str | os.PathLike) -> pd.DataFrame:
    """Write several results tables as one, and return it; errors as in `read`."""
    together = _read(list(paths))
    _write(together, path)
    return together.to_pandas()


def _read(paths: Sequence[str | os.PathLike]) -> pa.Table:
    if not paths:
        raise ValueError("path: no file given")
    tables = [_read_file(Path(path)) for path in paths]
    together = pa.concat_tables(tables)
    twice = together["row"].to_pandas().duplicated(keep=False)
    if twice.any():
        names = [os.fspath(path) for path in paths]
        file_of_row = np.repeat(names, [len(table) for table in tables])
        files = sorted({*file_of_row[twice]})
        raise ValueError(f"{', '.join(files)}: the same identity columns twice")
    return together


def summary(table: pd.DataFrame, by: Sequence[str] | None = None) -> pd.DataFrame:
    """Return mean and standard deviation over runs.

    >>> table = pd.DataFrame({"row": ["a", "b"], "run": [0, 1], "metric": "ece",
    ...                       "value": [0.1, 0.3]})
    >>> summary(table, by=["metric"]).round(3).to_dict("records")
    [{'metric': 'ece', 'mean': 0.2, 'std': 0.141, 'runs': 2, 'rows': 'a b'}]
    """
    if by is None:
        by = [name for name in IDENTITY if name != "run"]
    for name in by:
        known_name("column to group by", name, IDENTITY)
    if table.empty:
        raise ValueError("table: empty")
    repeated = table[table.duplicated([*by, "run"], keep=False)]
    if len(repeated):
        others = [name for name in IDENTITY if name in table and name not in (*by, "run")]
        mixed = ", ".join(name for name in others if repeated[name].nunique() > 1)
        raise ValueError(f"by: a group holds several rows of one run; they differ in {mixed}")
    return table.groupby(list(by), sort=False, as_index=False).agg(
        mean=("value", "mean"),
        std=("value", "std"),
        runs=("run", "nunique"),
        rows=("row", " ".join),
    )


def interval_of_mean(rows: pd.DataFrame) -> tuple[float, float]:
    """Return the 95 % interval over the test images of a number that is a mean over runs.

    The replicates of all runs draw the same images, so their mean is a replicate of the mean.

    >>> runs = pd.DataFrame({"bootstrap": [np.arange(101.0), np.arange(101.0) + 2]})
    >>> [round(end, 1) for end in interval_of_mean(runs)]
    [3.5, 98.5]
    """
    low, high = np.quantile(np.mean(rows["bootstrap"].tolist(), axis=0), [0.025, 0.975])
    return float(low), float(high)


def _arrow(table: pd.DataFrame, where: str) -> pa.Table:
    """Return `table` in the types of `SCHEMA`, or raise an error that names the problem."""
    if missing := [name for name in SCHEMA.names if name not in table]:
        raise ValueError(f"{where}: no column {', '.join(missing)}")
    if table.empty:
        raise ValueError(f"{where}: no rows")
    columns = []
    for field in SCHEMA:
        values = table[field.name].tolist()
        try:
            columns.append(pa.array(values, type=field.type, from_pandas=True))
        except (pa.ArrowException, TypeError, OverflowError) as error:
            raise ValueError(f"{where}: column {field.name}: {error}") from None
    arrow = pa.Table.from_arrays(columns, schema=SCHEMA)
    if problem := next(_problems(arrow), None):
        raise ValueError(f"{where}: column {': '.join(problem)}")
    identity = arrow.select(IDENTITY).to_pandas()
    twice = identity[identity.duplicated()]
    if len(twice):
        shown = ", ".join(f"{name}={value}" for name, value in twice.iloc[0].items())
        raise ValueError(f"{where}: the same identity columns twice: {shown}")
    index = SCHEMA.names.index("bootstrap")
    rounded = _rounded(arrow["bootstrap"].combine_chunks())
    return arrow.set_column(index, SCHEMA.field("bootstrap"), rounded)


def _rounded(replicates: pa.ListArray) -> pa.ListArray:
    """Return lists of numbers with `_DIGITS` binary digits."""
    fractions, exponents = np.frexp(replicates.flatten().to_numpy())
    digits = np.rint(fractions * 2**_DIGITS)
    numbers = pa.array(np.ldexp(digits, exponents - _DIGITS))
    return pa.ListArray.from_arrays(replicates.offsets, numbers)


def _problems(arrow: pa.Table) -> Iterator[tuple[str, str]]:
    """Yield columns, and a description of the problem in each."""
    for name in SCHEMA.names:
        if arrow[name].null_count:
            yield name, "missing or NaN"
    for name in ("value", "seconds"):
        if not np.isfinite(arrow[name].to_numpy()).all():
            yield name, "infinite"
    replicates = arrow["bootstrap"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
    if not np.isfinite(replicates).all():
        yield "bootstrap", "NaN or infinite"
    if arrow["images"].to_numpy().min() < 1:
        yield "images", "every number needs at least one image"
    for value in arrow["calibration"].unique().to_pylist():
        known_name("calibration", value, CALIBRATIONS)
    for name in IDENTITY:
        if name in ("calibration", "run"):
            continue
        if "" in arrow[name].unique().to_pylist():
            yield name, "empty"
    if row_ids(arrow.select(IDENTITY).to_pandas()) != arrow["row"].to_pylist():
        yield "row", "not the hash of the identity columns"


def _digest(arrow: pa.Table) -> str:
    """Return the SHA-256 of a table's content, however parquet lays it out."""
    digest = hashlib.sha256()
    for name in _STORED.names:
        column = arrow[name].combine_chunks()
        if name == "bootstrap":
            digest.update(column.value_lengths().to_numpy().tobytes())
            column = column.flatten()
        if column.type == pa.string():
            column = column.dictionary_encode()
            digest.update(json.dumps(column.dictionary.to_pylist()).encode())
            column = column.indices
        digest.update(column.to_numpy().tobytes())
    return digest.hexdigest()


def _read_file(path: Path) -> pa.Table:
    if not path.exists():
        raise FileNotFoundError(f"{path}: no such results table; run the notebook that writes it")
    try:
        arrow = pq.ParquetFile(path).read()
        digest = (arrow.schema.metadata or {})[_DIGEST]
        whole = arrow.schema.equals(_STORED) and digest == _digest(arrow).encode()
    except (pa.ArrowException, OSError, KeyError, UnicodeDecodeError, MemoryError) as error:
        raise ValueError(f"{path}: not a whole results table ({error}); {_REMEDY}") from None
    if not whole:
        raise ValueError(f"{path}: altered since it was written; {_REMEDY}")
    names = row_ids(arrow.select(IDENTITY).to_pandas())
    return arrow.add_column(0, "row", [names])
