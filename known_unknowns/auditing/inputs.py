"""The inputs of an audit, and how they are read from a file of any framework.

Everything that is wrong with the file is found here, before anything is computed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from helpers.checks import known_name
from helpers.files import sha256_file
from helpers.outputs import Head, Outputs
from known_unknowns.auditing import checked
from known_unknowns.auditing.array_files import TABLES, read_npz, read_table

if TYPE_CHECKING:
    import pandas as pd

    from helpers.data import Images, ImageStream

_OF_IMAGES = {"file": "files", "group": "groups", "stratum": "strata"}
_PREFIXES = {"validation": "", "train": "train_", "production": "production_"}


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Return the arrays of a file by name."""
    if path.suffix.lower() in TABLES:
        return _arranged(read_table(path))
    return read_npz(path)


def _arranged(table: pd.DataFrame) -> dict[str, np.ndarray]:
    """Return the arrays of a table."""
    if not len(table):
        raise ValueError("outputs: the table has no row, and a row for each image is expected")
    kinds = {kind: _numbered(table, kind) for kind in ("logit", "feature")}
    columns = [name for names in kinds.values() for name in names]
    options = {*columns, "logit_0", "feature_0", "label", "set", *_OF_IMAGES}
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
        _check_present(table[["set"]], "file")
        sets = table["set"].astype(str).to_numpy(dtype=object)
    arrays: dict[str, np.ndarray] = {}
    for name in dict.fromkeys(sets):
        part, prefix = table[sets == name], _PREFIXES.get(name, f"ood_{name}_")
        for kind, names in kinds.items():
            if names:
                _check_present(part[names], f"set {name}")
                arrays[f"{prefix}{kind}s"] = part[names].to_numpy()
        if "label" in table and name in ("validation", "train"):
            _check_present(part[["label"]], f"set {name}")
            labels = part["label"].to_numpy()
            # an empty cell of another set has made floats of the whole numbers
            whole = labels.dtype.kind == "f" and (labels == np.round(labels)).all()
            arrays[f"{prefix}labels"] = labels.astype(np.int64) if whole else labels
        for column, array in _OF_IMAGES.items():
            if column in table and name == "validation":
                if column != "file":
                    _check_present(part[[column]], f"set {name}")
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


def _check_present(cells: pd.DataFrame, where: str) -> None:
    """Refuse empty cells."""
    missing = cells.isna()
    if rows := int(missing.any(axis=1).sum()):
        raise ValueError(
            f"{missing.any().idxmax()}: missing in {rows} of {len(cells)} rows of the {where}; "
            "write the values, or leave these rows out"
        )


LEAST = 20  # smallest number of validation images
_TAKEN = ("", "all", "production", "validation")  # names of other groups than OOD sets


@dataclass(frozen=True)
class Inputs:
    """Outputs of a model for every group of images in an audit.

    Attributes
    ----------
    source : str
        Model, in words.
    validation : Outputs
        Outputs of labelled ID images that the model was not trained on.
    class_names : tuple of str, length K
    train : Outputs, optional
        Outputs of (a sample of) the training images, with labels, for scores that are fitted.
    head : Head, optional
        Last linear layer.
    ood, families : dict of str to Outputs
        Outputs of sets of unknown images, labels −1; `families` are generated images for the
        prediction without labels.
    production : Outputs, optional
        Outputs of unlabelled images, known and unknown.
    held_back : dict of str to Outputs
        Labelled outputs behind `production` in the example; known classes are ``new``.  An audit
        does not use them.
    level : bool
        Whether the common level of the logits is the model's; logarithms of probabilities lose it.
    files : tuple of str
        Files of the validation images; may be empty.
    groups, strata : ndarray, shape [N], optional
        Numbers or texts: validation images that belong together (frames of a video, images of a
        patient), and their kind (a camera, a hospital), for which guarantees are computed apart.
    grouped : int
        Number of images before one of each group was drawn; else 0.
    images : Images or ImageStream, optional
        Validation images.
    unreadable : dict of str to tuple of str
        Files that could not be read as images, by role.
    sha256 : dict of str to str
        Digests of the files.
    note : str
        Note about the network; may be empty.
    """

    source: str
    validation: Outputs
    class_names: tuple[str, ...]
    train: Outputs | None = None
    head: Head | None = None
    ood: Mapping[str, Outputs] = field(default_factory=dict)
    families: Mapping[str, Outputs] = field(default_factory=dict)
    production: Outputs | None = None
    held_back: Mapping[str, Outputs] = field(default_factory=dict)
    level: bool = True
    files: tuple[str, ...] = ()
    groups: np.ndarray | None = None
    strata: np.ndarray | None = None
    grouped: int = 0
    images: Images | ImageStream | None = None
    unreadable: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    sha256: Mapping[str, str] = field(default_factory=dict)
    note: str = ""

    def __post_init__(self):
        if len(self.validation) < LEAST:
            raise ValueError(
                f"validation: at least {LEAST} images expected, got {len(self.validation)}"
            )
        if self.validation.labels.min() < 0:
            raise ValueError("validation: a label for each image expected, got −1")
        for name in ("groups", "strata"):
            values = getattr(self, name)
            if values is not None and np.shape(values) != (len(self.validation),):
                raise ValueError(
                    f"{name}: one for each of {len(self.validation)} images expected, got shape "
                    f"{np.shape(values)}"
                )
        for name in self.ood:
            if name in _TAKEN:
                raise ValueError(f"ood: a set cannot be called '{name}'; give it another name")

    @property
    def richest(self) -> str:
        """Name of the arrays in which drift is tested: the features, or else the logits."""
        return "features" if self.validation.features.shape[1] else "logits"

    def one_of_each_group(self, seed: int = 0) -> Inputs:
        """Return inputs with one random validation image of each group.

        The images of a group are alike: counted as independent draws they would make intervals too
        short and guarantees false.
        """
        if self.groups is None:
            return self
        order = np.random.default_rng(seed).permutation(len(self.validation))
        _, first = np.unique(np.asarray(self.groups)[order], return_index=True)
        if len(first) < LEAST:
            raise ValueError(
                f"groups: at least {LEAST} expected, got {len(first)}, of each of which one image "
                "counts; bring images of other scenes, patients or videos"
            )
        places = np.sort(order[first])
        return replace(
            self,
            validation=self.validation.subset(places),
            files=tuple(self.files[place] for place in places) if self.files else (),
            groups=None,
            strata=None if self.strata is None else np.asarray(self.strata)[places],
            grouped=len(self.validation),
            images=None if self.images is None else self.images.subset(places),
        )

    def pictures(self, indices: Iterable[int], *, size: int = 64) -> np.ndarray | None:
        """Return validation images, uint8 [M, size, size, 3]; None without images or files."""
        indices = list(indices)
        if self.images is not None:
            return self.images.pictures(indices, size=size)
        paths = [Path(self.files[index]) for index in indices] if self.files else []
        if not paths or not all(path.is_file() for path in paths):
            return None
        from PIL import Image  # most audits have no pictures

        opened = []
        for path in paths:
            with Image.open(path) as image:
                opened.append(np.asarray(image.convert("RGB").resize((size, size))))
        return np.stack(opened)


def unlabelled(parts: Sequence[Outputs]) -> Outputs:
    """Return the outputs of several groups of images as one group without labels."""
    logits = np.concatenate([part.logits for part in parts])
    features = np.concatenate([part.features for part in parts])
    return Outputs(logits, features, np.full(len(logits), -1))


def read_outputs(path: str | os.PathLike, *, treat_as: str = "logits") -> Inputs:
    """Return the inputs of an audit from a file.

    Parameters
    ----------
    path : path
        File from ``numpy.savez(path, logits=..., labels=..., ...)``, or a table (.csv, .parquet)
        with columns ``logit_0`` …, ``feature_0`` …, ``label``, ``set``, ``file``, ``group``,
        ``stratum``.  N validation images, K classes, D features:

        * ``logits`` [N, K], ``labels`` [N] (0 to K − 1), ``features`` [N, D] (input of the head).
        * ``train_logits``, ``train_labels``, ``train_features``: of training images.
        * ``ood_NAME_logits``, ``ood_NAME_features``: of any number of sets of unknown images.
        * ``production_logits``, ``production_features``: of unlabelled images.
        * ``head_weight`` [K, D], ``head_bias`` [K]: the last layer.
        * ``class_names`` [K], ``files``, ``groups``, ``strata`` [N]: see `Inputs`.
    treat_as : {"logits", "probabilities"}
        Content of the arrays of logits; probabilities are replaced by their logarithms.

    Raises
    ------
    FileNotFoundError
        The file does not exist.
    ValueError
        Damaged file; array missing, misspelt, or of the wrong type, shape or size; probabilities
        for logits, or the reverse; NaN; a head that does not give the logits; fewer than 20 images.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "outputs.npz"
    >>> np.savez(path, logits=np.full((20, 2), 0.5), labels=np.arange(20) % 2)
    >>> read_outputs(path)
    Traceback (most recent call last):
        ...
    ValueError: logits (20, 2): no value is negative and every row sums to 1, so these are \
probabilities; pass logits (before the softmax), or treat_as="probabilities" to have their \
logarithms taken
    """
    known_name("way to treat_as", treat_as, checked.TREATED)
    return make_inputs(
        read_arrays(Path(path)),
        treat_as=treat_as,
        source=f"the model behind {Path(path).name}",
        sha256={"outputs": sha256_file(path)},
    )


def make_inputs(arrays: Mapping[str, np.ndarray], *, treat_as: str = "logits", **more) -> Inputs:
    """Return inputs from arrays by the names of `read_outputs`."""
    sets = checked.set_names(arrays, needed=("logits", "labels"))
    features = "features" in arrays
    classes = checked.matrix(arrays, "logits").shape[1]
    if classes < 2:
        raise ValueError(
            f"logits: at least 2 classes expected, got shape {arrays['logits'].shape}; of one "
            "logit for two classes, write np.c_[0 * logits, logits]"
        )
    width = checked.matrix(arrays, "features").shape[1] if features else 0

    def outputs(prefix: str, labelled: bool) -> Outputs:
        name = f"{prefix}logits"
        logits = checked.logits(name, checked.matrix(arrays, name, width=classes), treat_as)
        count = len(logits)
        values, labels = np.empty((count, 0), np.float32), np.full(count, -1)
        if features:
            values = checked.matrix(arrays, f"{prefix}features", width=width, length=count)
        if not labelled:
            return Outputs(logits, values, labels)
        labels = checked.labels(arrays, f"{prefix}labels", classes, count)
        group = Outputs(logits, values, labels)
        group.__dict__["predictions"] = checked.row_by_row(np.argmax, logits)
        return group

    validation = outputs("", True)
    names = checked.texts(arrays, "class_names", classes)
    level = treat_as == "logits" and not checked.normalised(validation.logits)
    return Inputs(
        validation=validation,
        class_names=names or tuple(map(str, range(classes))),
        train=outputs("train_", True) if "train_logits" in arrays else None,
        head=checked.head(arrays, validation, level),
        ood={name: outputs(f"ood_{name}_", False) for name in sets},
        production=outputs("production_", False) if "production_logits" in arrays else None,
        level=level,
        groups=checked.groups(arrays, "groups", len(validation)),
        strata=checked.groups(arrays, "strata", len(validation)),
        files=checked.texts(arrays, "files", len(validation)),
        **more,
    )


def read_new(
    path: str | os.PathLike,
) -> tuple[np.ndarray, np.ndarray | None, tuple[str, ...]]:
    """Read new outputs for a rejector: logits, features and file names, as `read_outputs` does."""
    arrays = read_arrays(Path(path))
    checked.set_names(arrays, needed=("logits",))
    logits = checked.matrix(arrays, "logits")
    features = None
    if "features" in arrays:
        features = checked.matrix(arrays, "features", length=len(logits))
    files = checked.texts(arrays, "files", len(logits))
    return logits, features, files or tuple(map(str, range(len(logits))))
