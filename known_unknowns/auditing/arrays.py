"""The arrays that a file holds, whichever of three kinds it is; nothing in it is executed.

``.npz``, as ``numpy.savez`` writes, is the kind for many images: what is not compressed is mapped
into memory, and read as far as it is looked at.  ``.csv`` and ``.parquet`` hold a table with a row
for each image, whose columns are

* ``logit_0`` … ``logit_{K-1}`` and, if they are there, ``feature_0`` … ``feature_{D-1}``;
* ``label``, a whole number, of which the sets without labels need none;
* ``set``: ``validation``, ``train``, ``production``, or any other name for a set of unknown
  images; without this column all images are validation images;
* ``file``: the path of the picture;
* ``group``: which validation images belong together, as frames of one video do;
* ``stratum``: of which kind a validation image is that is known of new ones, too, as its camera.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from helpers.checks import known_name
from known_unknowns.auditing.array_files import TABLES, read_npz, read_table

if TYPE_CHECKING:
    import pandas as pd

_OF_IMAGES = {"group": "groups", "stratum": "strata"}
_PREFIXES = {"validation": "", "train": "train_", "production": "production_"}


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Return the arrays of a file, by the names that `known_unknowns.auditing.read_outputs` knows.

    Raises
    ------
    FileNotFoundError
        No such file.
    ValueError
        Truncated or altered; pickled objects; something else than its name says; a table without
        the columns above, or with others.
    """
    if path.suffix.lower() in TABLES:
        return _arranged(read_table(path))
    return read_npz(path)


def _arranged(table: pd.DataFrame) -> dict[str, np.ndarray]:
    """Return the arrays of a table."""
    if not len(table):
        raise ValueError("outputs: the table has no row, and a row for each image is expected")
    kinds = {kind: _numbered(table, kind) for kind in ("logit", "feature")}
    columns = [name for names in kinds.values() for name in names]
    options = {*columns, "logit_0", "feature_0", "label", "set", "file", *_OF_IMAGES}
    for name in table.columns:
        if str(name).startswith("Unnamed: "):  # as pandas calls the index that it has written
            raise ValueError(
                f"outputs: the column {name!r} has no name in the file; leave it out, as "
                "table.to_csv(path, index=False) does with the index"
            )
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
                _check_cells(part[names], name)
                arrays[f"{prefix}{kind}s"] = part[names].to_numpy()
        if "label" in table and name in ("validation", "train"):
            arrays[f"{prefix}labels"] = _labels(part["label"], name)
        if "file" in table and name == "validation":
            arrays["files"] = part["file"].astype(str).to_numpy(dtype=str)
        for column, array in _OF_IMAGES.items():
            if column in table and name == "validation":
                if missing := int(part[column].isna().sum()):
                    raise ValueError(
                        f"{column}: missing in {missing} of {len(part)} validation rows"
                    )
                arrays[array] = part[column].astype(str).to_numpy(dtype=str)
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


def _check_cells(cells: pd.DataFrame, name: str) -> None:
    """Refuse missing numbers of a set."""
    missing = cells.isna()
    if rows := int(missing.any(axis=1).sum()):
        raise ValueError(
            f"{missing.any().idxmax()}: a number is missing in {rows} of {len(cells)} rows of the "
            f"set {name}; write the numbers, or leave these rows out"
        )


def _labels(labels: pd.Series, name: str) -> np.ndarray:
    """Return labels as whole numbers; an empty cell elsewhere has made floats of them."""
    if missing := int(labels.isna().sum()):
        raise ValueError(f"label: missing in {missing} of {len(labels)} rows of the set {name}")
    values = labels.to_numpy()
    whole = values.dtype.kind == "f" and (values == np.round(values)).all()
    return values.astype(np.int64) if whole else values
