"""What an audit starts from, and how it is read from a file that any framework can write.

Whatever is wrong with the file is found here, before anything is computed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import logsumexp, softmax

from helpers.audit.arrays import read_arrays
from helpers.checks import known_name, label_array
from helpers.files import sha256_file
from helpers.outputs import Head, Outputs
from helpers.scores.calibration import ROUNDING, are_probabilities, log_probabilities

if TYPE_CHECKING:
    from helpers.data import Images, ImageStream

TREATED = ("logits", "probabilities")
"""What the arrays of logits may hold."""

LEAST = 20  # validation images, of which each half serves another purpose
_TAKEN = ("", "all", "production", "validation")  # as names of groups, in tables and in samples
_SINGLE = ("labels", "head_weight", "head_bias", "class_names", "files", "groups")


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
        `helpers.audit.check_promises` does afterwards.
    level : bool
        Whether the logits' common level is the model's own; it is lost where they are logarithms
        of probabilities.
    files : tuple of str
        Of the validation images, in their order; may be empty.
    groups : ndarray, shape [N], optional
        Which validation images belong together: numbers or texts, the same for frames of one
        video, images of one patient or copies.  Groups are taken for independent draws, and the
        images of one group are not.
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
        if self.groups is not None and np.shape(self.groups) != (len(self.validation),):
            raise ValueError(
                f"groups: one for each of {len(self.validation)} images expected, got shape "
                f"{np.shape(self.groups)}"
            )
        for name in self.ood:
            if name in _TAKEN:
                raise ValueError(f"ood: a set cannot be called '{name}'; give it another name")

    def one_of_each_group(self, seed: int = 0) -> Inputs:
        """Return inputs with one validation image of each group, drawn by chance.

        The images of a group are alike, so that many of them say little more than one: as
        independent draws they would make every interval too short and every promise too bold.
        What is left are independent draws, of a group and then of one of its images.

        Raises
        ------
        ValueError
            Fewer than 20 groups.
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
    logits = np.concatenate([one.logits for one in parts])
    features = np.concatenate([one.features for one in parts])
    return Outputs(logits, features, np.full(len(logits), -1))


def read_outputs(path: str | os.PathLike, *, treat_as: str = "logits") -> Inputs:
    """Read a model's outputs from a file, and say what is wrong with it.

    Parameters
    ----------
    path : path
        Written by ``numpy.savez(path, logits=..., labels=..., ...)``, or a table as
        `helpers.audit.arrays` describes it.  N validation images, K classes, D features:

        * ``logits`` [N, K], ``labels`` [N] (whole numbers, 0 to K − 1); if it is there,
          ``features`` [N, D], what the last layer multiplies.
        * ``train_logits``, ``train_labels``, ``train_features``: the same of training images.
        * ``ood_NAME_logits``, ``ood_NAME_features``: of a set of unknown images, any number of
          sets.
        * ``production_logits``, ``production_features``: of unlabelled images.
        * ``head_weight`` [K, D], ``head_bias`` [K]: the last layer.
        * ``class_names`` [K], ``files`` [N]: text; paths of pictures, to show some of them.
        * ``groups`` [N]: whole numbers or text, which validation images belong together.
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
    ValueError: logits: no value is negative and every row sums to 1, so these are probabilities; \
pass logits (before the softmax), or treat_as="probabilities" to have their logarithms taken
    >>> read_outputs(path, treat_as="probabilities").level
    False
    """
    known_name("way to treat_as", treat_as, TREATED)
    arrays = read_arrays(Path(path))
    sets = _checked_names(arrays, needed=("logits", "labels"))
    features = "features" in arrays
    classes = _matrix(arrays, "logits").shape[1]
    if classes < 2:
        raise ValueError(f"logits: at least 2 classes expected, got shape {arrays['logits'].shape}")
    width = _matrix(arrays, "features").shape[1] if features else 0

    def outputs(prefix: str, labelled: bool) -> Outputs:
        name = f"{prefix}logits"
        logits = _logits(name, _matrix(arrays, name, width=classes), treat_as)
        count = len(logits)
        if features:
            found = _matrix(arrays, f"{prefix}features", width=width, length=count)
        else:
            found = np.empty((count, 0), np.float32)
        labels = np.full(count, -1)
        if labelled:
            labels = _labels(arrays, f"{prefix}labels", classes, count)
        return Outputs(logits, found, labels)

    validation = outputs("", True)
    level = treat_as == "logits" and not _normalised(validation.logits)
    return Inputs(
        source=f"the model behind {Path(path).name}",
        validation=validation,
        class_names=_names(arrays, classes) or tuple(map(str, range(classes))),
        train=outputs("train_", True) if "train_logits" in arrays else None,
        head=_head(arrays, validation, level),
        ood={name: outputs(f"ood_{name}_", False) for name in sets},
        production=outputs("production_", False) if "production_logits" in arrays else None,
        level=level,
        groups=_groups(arrays, len(validation)),
        files=_texts(arrays, "files", len(validation)),
        sha256={"outputs": sha256_file(path)},
    )


def read_new(
    path: str | os.PathLike,
) -> tuple[np.ndarray, np.ndarray | None, tuple[str, ...]]:
    """Read what a rejector is to judge: new outputs of its model, in a file as of `read_outputs`.

    Returns
    -------
    logits : ndarray of float32, shape [N, K]
        Or probabilities: the rejector knows which it was made from.
    features : ndarray of float32, shape [N, D], or None
    files : tuple of str, length N
        What the images are called; their numbers, where the file does not say.

    Raises
    ------
    FileNotFoundError, ValueError
        As `read_outputs`, but that nothing beside the logits is missed.
    """
    arrays = read_arrays(Path(path))
    _checked_names(arrays, needed=("logits",))
    logits = _matrix(arrays, "logits")
    features = None
    if "features" in arrays:
        features = _matrix(arrays, "features", length=len(logits))
    files = _texts(arrays, "files", len(logits))
    return logits, features, files or tuple(map(str, range(len(logits))))


def _checked_names(arrays: Mapping[str, np.ndarray], needed: Sequence[str]) -> list[str]:
    """Return the names of the OOD sets; refuse arrays of unknown names, and missing ones."""
    # whatever a set's name is, a misspelt kind of array is seen
    sets = {name.rpartition("_")[0][4:]: None for name in arrays if name.startswith("ood_")}
    parts = ["", "train_", "production_", *(f"ood_{name}_" for name in sets)]
    options = {*_SINGLE, "train_labels"} | {
        f"{part}{kind}" for part in parts for kind in ("logits", "features")
    }
    for name in arrays:
        if name in ("ood_logits", "ood_features"):
            raise ValueError(f"{name}: without the set's name; call it ood_NAME_{name[4:]}")
        known_name("array", name, options)
    for name in needed:
        if name not in arrays:
            raise ValueError(f"{name}: missing; the file holds {', '.join(arrays) or 'nothing'}")
    for first, second in (
        ("train_logits", "train_labels"),
        ("train_labels", "train_logits"),
        ("train_features", "train_logits"),
        ("production_features", "production_logits"),
        ("head_weight", "head_bias"),
        ("head_bias", "head_weight"),
        ("head_weight", "features"),
        *((f"ood_{name}_features", f"ood_{name}_logits") for name in sets),
    ):
        if first in arrays and second not in arrays:
            raise ValueError(f"{second}: missing, though there is {first}")
    for part in parts:
        present = f"{part}features" in arrays
        if f"{part}logits" in arrays and present != ("features" in arrays):
            raise ValueError(
                f"{part}features: {'no other' if present else 'missing, though other'} group of "
                "images has features; give them for all groups, or for none"
            )
    return list(sets)


def _matrix(
    arrays: Mapping[str, np.ndarray],
    name: str,
    *,
    width: int | None = None,
    length: int | None = None,
) -> np.ndarray:
    """Return an array as float32 [N, M], or say what is wrong with it."""
    array = arrays[name]
    expected = f"[{'N' if length is None else length}, {'M' if width is None else width}]"
    wrong = array.ndim != 2 or array.dtype.kind not in "iuf"
    wrong = wrong or (length is not None and len(array) != length)
    if wrong or (width is not None and array.shape[1] != width):
        raise ValueError(
            f"{name}: numbers of shape {expected} expected, got {array.dtype} {array.shape}"
        )
    if not len(array):
        raise ValueError(f"{name}: no image")
    array = array.astype(np.float32, copy=False)
    rows = max(1, 2**20 // max(array.shape[1], 1))  # a block at a time, to bound the memory
    finite = [np.isfinite(array[i : i + rows]).all(axis=1) for i in range(0, len(array), rows)]
    if bad := int((~np.concatenate(finite)).sum()):
        raise ValueError(
            f"{name}: NaN or infinite values in {bad} of {len(array)} rows; find out which images "
            "they are of, and leave these out of all arrays"
        )
    return array


def _logits(name: str, values: np.ndarray, treat_as: str) -> np.ndarray:
    """Return logits, which are the logarithms of probabilities if that is what is given."""
    probable = are_probabilities(values)
    per_cent = not probable and values.min() >= 0 and abs(values.sum(axis=1) - 100).max() < 0.1
    if treat_as == "logits" and per_cent:
        raise ValueError(
            f"{name}: no value is negative and every row sums to 100, so these are probabilities "
            'in per cent; divide by 100 and pass treat_as="probabilities"'
        )
    if treat_as == "logits" and probable:
        raise ValueError(
            f"{name}: no value is negative and every row sums to 1, so these are probabilities; "
            'pass logits (before the softmax), or treat_as="probabilities" to have their '
            "logarithms taken"
        )
    if treat_as == "probabilities" and not probable:
        sums = values.sum(axis=1, dtype=np.float64)
        row = int(np.abs(sums - 1).argmax())
        raise ValueError(
            f"{name}: probabilities expected, as treat_as says, but the least value is "
            f'{values.min():g} and row {row} sums to {sums[row]:g}; pass treat_as="logits"?'
        )
    return log_probabilities(values) if probable else values


def _normalised(logits: np.ndarray) -> bool:
    """Tell whether logits are logarithms of probabilities, so that their level says nothing."""
    rows = max(1, 2**20 // logits.shape[1])
    return all(
        np.abs(logsumexp(logits[i : i + rows].astype(np.float64), axis=1)).max() <= ROUNDING
        for i in range(0, len(logits), rows)
    )


def _labels(arrays: Mapping[str, np.ndarray], name: str, classes: int, length: int) -> np.ndarray:
    labels = arrays[name]
    if labels.ndim != 1 or labels.dtype.kind not in "iu":
        raise ValueError(
            f"{name}: whole numbers [{length}] expected, got {labels.dtype} {labels.shape}; "
            "one-hot rows become that by argmax(axis=1), other numbers by astype(int)"
        )
    if len(labels) and labels.min() >= 1 and labels.max() == classes:
        raise ValueError(
            f"{name}: 0 to {classes - 1} expected, got {labels.min()} to {classes}; the first "
            "class has the number 0: subtract 1"
        )
    return label_array(name, labels, classes=classes, length=length)


def _texts(arrays: Mapping[str, np.ndarray], name: str, length: int) -> tuple[str, ...]:
    if name not in arrays:
        return ()
    texts = arrays[name]
    if texts.shape != (length,) or texts.dtype.kind != "U":
        raise ValueError(f"{name}: {length} texts expected, got {texts.dtype} {texts.shape}")
    return tuple(texts.tolist())


def _names(arrays: Mapping[str, np.ndarray], length: int) -> tuple[str, ...]:
    """Return the names of the classes; refuse one that two of them have."""
    names = _texts(arrays, "class_names", length)
    if twice := {name for name in names if names.count(name) > 1}:
        raise ValueError(f"class_names: each once expected, got {', '.join(sorted(twice))} twice")
    return names


def _groups(arrays: Mapping[str, np.ndarray], length: int) -> np.ndarray | None:
    if "groups" not in arrays:
        return None
    groups = arrays["groups"]
    if groups.shape != (length,) or groups.dtype.kind not in "iuU":
        raise ValueError(
            f"groups: {length} whole numbers or texts expected, got {groups.dtype} {groups.shape}"
        )
    return groups


def _head(arrays: Mapping[str, np.ndarray], validation: Outputs, level: bool) -> Head | None:
    """Return the head, after a look whether it gives the logits of the first images."""
    if "head_weight" not in arrays:
        return None
    classes, width = validation.num_classes, validation.features.shape[1]
    weight = _matrix(arrays, "head_weight", width=width, length=classes)
    bias = _matrix({"head_bias": arrays["head_bias"][None]}, "head_bias", width=classes)[0]
    few = slice(0, 256)
    expected, found = validation.logits[few], validation.features[few] @ weight.T + bias
    if not level:  # of probabilities, some may have underflowed
        expected, found = softmax(expected, axis=1), softmax(found, axis=1)
    if np.abs(found - expected).max() > 10 * ROUNDING * max(np.abs(expected).max(), 1):
        raise ValueError(
            "head_weight, head_bias: features @ head_weight.T + head_bias differs from the logits; "
            "features are what the last layer multiplies: give these, or leave the head out"
        )
    return Head(weight, bias)
