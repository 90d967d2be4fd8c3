"""What an audit starts from, and how it is read from a file that any framework can write.

Whatever is wrong with the file is found here, before anything is computed.
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
from known_unknowns.auditing.array_files import TABLES, read_npz, read_table
from known_unknowns.auditing.checked import (
    TREATED,
    checked_groups,
    checked_head,
    checked_labels,
    checked_logits,
    checked_names,
    checked_texts,
    matrix,
    normalised,
    row_by_row,
)

if TYPE_CHECKING:
    from helpers.data import Images, ImageStream
if TYPE_CHECKING:
    import pandas as pd

_OF_IMAGES = {"group": "groups", "stratum": "strata"}
_PREFIXES = {"validation": "", "train": "train_", "production": "production_"}


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Return the arrays of a file, by the names that `read_outputs` knows."""
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


LEAST = 20  # validation images, of which each half serves another purpose
_TAKEN = ("", "all", "production", "validation")  # as names of groups, in tables and in samples


@dataclass(frozen=True)
class Inputs:
    """A model's outputs for every group of images that an audit looks at.

    Attributes
    ----------
    source : str
        What is audited, in words.
    validation : Outputs
        Of ID images with labels that the model has not learnt from.
    class_names : tuple of str, length K
    train : Outputs, optional
        Of (a sample of) the training images, with labels; some scores are fitted to them.
    head : Head, optional
        The last linear layer.
    ood : dict of str to Outputs
        Of images of unknown classes, by the name of their set; labels −1.
    families : dict of str to Outputs
        The same of generated images, which serve nothing but the prediction without labels.
    production : Outputs, optional
        Of unlabelled images, known and unknown ones as they come.
    held_back : dict of str to Outputs
        Of the example: what its unlabelled images are, with labels.  Those of known classes are
        ``new``, the others have the name of their set.  An audit does not look at them, and
        `known_unknowns.auditing.check_promises` does afterwards.
    level : bool
        Whether the logits' common level is the model's own; it is lost where they are logarithms
        of probabilities.
    files : tuple of str
        Of the validation images, in their order; may be empty.
    groups : ndarray, shape [N], optional
        Which validation images belong together: numbers or texts, the same for frames of one
        video, images of one patient or copies.  Groups are taken for independent draws, and the
        images of one group are not.
    strata : ndarray, shape [N], optional
        Of which kind each validation image is, in numbers or texts: a camera, a hospital, whatever
        is known of new images, too.  What can be promised of each by itself is said.
    grouped : int
        How many images there were, where of each group one is left; else 0.
    images : Images or ImageStream, optional
        The validation images themselves.
    unreadable : dict of str to tuple of str
        By role, the files that cannot be read as images and were left out.
    sha256 : dict of str to str
        Digests of what was read.
    note : str
        What has to be known of the network; may be empty.
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
        """Return inputs with one validation image of each group, drawn by chance.

        The images of a group are alike, so that many of them say little more than one: as
        independent draws they would make every interval too short and every promise too bold.
        What is left are independent draws, of a group and then of one of its images.
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
        """Return validation images to look at, uint8 [M, size, size, 3].

        None where there are neither images nor files that can be opened.
        """
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
    """Put the outputs of several groups of images together as one group without labels."""
    logits = np.concatenate([part.logits for part in parts])
    features = np.concatenate([part.features for part in parts])
    return Outputs(logits, features, np.full(len(logits), -1))


def read_outputs(path: str | os.PathLike, *, treat_as: str = "logits") -> Inputs:
    """Read a model's outputs from a file, and say what is wrong with it.

    Parameters
    ----------
    path : path
        Written by ``numpy.savez(path, logits=..., labels=..., ...)``, or a table as
        `known_unknowns.auditing.inputs` describes it.  N validation images, K classes, D features:

        * ``logits`` [N, K], ``labels`` [N] (whole numbers, 0 to K − 1); if it is there,
          ``features`` [N, D], what the last layer multiplies.
        * ``train_logits``, ``train_labels``, ``train_features``: the same of training images.
        * ``ood_NAME_logits``, ``ood_NAME_features``: of a set of unknown images, any number of
          sets.
        * ``production_logits``, ``production_features``: of unlabelled images.
        * ``head_weight`` [K, D], ``head_bias`` [K]: the last layer.
        * ``class_names`` [K], ``files`` [N]: text; paths of pictures, to show some of them.
        * ``groups`` [N]: whole numbers or text, which validation images belong together.
        * ``strata`` [N]: likewise, of which kind each is, as the camera that took it.
    treat_as : {"logits", "probabilities"}
        With ``"probabilities"`` the arrays of logits hold these, and their logarithms are taken.

    Returns
    -------
    Inputs

    Raises
    ------
    FileNotFoundError
        No such file.
    ValueError
        Not such a file, an array missing or under an unknown name; probabilities for logits, or
        the other way round; NaN; labels that the head does not have; arrays that do not fit
        together; a head that does not give the logits; fewer than 20 validation images.

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
    >>> read_outputs(path, treat_as="probabilities").level
    False
    """
    known_name("way to treat_as", treat_as, TREATED)
    return make_inputs(
        read_arrays(Path(path)),
        treat_as=treat_as,
        source=f"the model behind {Path(path).name}",
        sha256={"outputs": sha256_file(path)},
    )


def make_inputs(arrays: Mapping[str, np.ndarray], *, treat_as: str = "logits", **more) -> Inputs:
    """Return inputs from arrays by the names that `read_outputs` lists, and its errors."""
    sets = checked_names(arrays, needed=("logits", "labels"))
    features = "features" in arrays
    classes = matrix(arrays, "logits").shape[1]
    if classes < 2:
        raise ValueError(
            f"logits: at least 2 classes expected, got shape {arrays['logits'].shape}; of one "
            "logit for two classes, write np.c_[0 * logits, logits]"
        )
    width = matrix(arrays, "features").shape[1] if features else 0

    def outputs(prefix: str, labelled: bool) -> Outputs:
        name = f"{prefix}logits"
        logits = checked_logits(name, matrix(arrays, name, width=classes), treat_as)
        count = len(logits)
        if features:
            values = matrix(arrays, f"{prefix}features", width=width, length=count)
        else:
            values = np.empty((count, 0), np.float32)
        labels = np.full(count, -1)
        if labelled:
            labels = checked_labels(arrays, f"{prefix}labels", classes, count)
        outputs_of_group = Outputs(logits, values, labels)
        if labelled:
            outputs_of_group.__dict__["predictions"] = row_by_row(np.argmax, logits)
        return outputs_of_group

    validation = outputs("", True)
    names = checked_texts(arrays, "class_names", classes)
    level = treat_as == "logits" and not normalised(validation.logits)
    return Inputs(
        validation=validation,
        class_names=names or tuple(map(str, range(classes))),
        train=outputs("train_", True) if "train_logits" in arrays else None,
        head=checked_head(arrays, validation, level),
        ood={name: outputs(f"ood_{name}_", False) for name in sets},
        production=outputs("production_", False) if "production_logits" in arrays else None,
        level=level,
        groups=checked_groups(arrays, "groups", len(validation)),
        strata=checked_groups(arrays, "strata", len(validation)),
        files=checked_texts(arrays, "files", len(validation)),
        **more,
    )


def read_new(
    path: str | os.PathLike,
) -> tuple[np.ndarray, np.ndarray | None, tuple[str, ...]]:
    """Read new outputs for a rejector: logits, features and file names, as `read_outputs` does."""
    arrays = read_arrays(Path(path))
    checked_names(arrays, needed=("logits",))
    logits = matrix(arrays, "logits")
    features = None
    if "features" in arrays:
        features = matrix(arrays, "features", length=len(logits))
    files = checked_texts(arrays, "files", len(logits))
    return logits, features, files or tuple(map(str, range(len(logits))))
