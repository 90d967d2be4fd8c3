"""The inputs of an audit, and functions that read them from a file of any framework.

All errors in the file are found here, before any number is computed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from helpers.files import sha256_file
from helpers.outputs import Head, Outputs
from known_unknowns.auditing import checked
from known_unknowns.auditing.reading import read_arrays
from known_unknowns.auditing.units import IMAGE, check_unit

if TYPE_CHECKING:
    from helpers.data import Images, ImageStream

LEAST = 20  # smallest number of validation images
_TAKEN = ("", "all", "production", "validation")  # names of groups that are not OOD sets


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
    production_labels : ndarray of int64, optional
        Labels of some of the `production` images, drawn at random: −1 for an image of no class, and
        −2 for an image without a label.
    held_back : dict of str to Outputs
        Labelled outputs of the `production` images in the example; known classes are ``new``.  An
        audit does not use them.
    level : bool
        Whether the logits have the model's common level; logarithms of probabilities lose it.
    files : tuple of str
        Files of the validation images; may be empty.
    production_files : tuple of str
        Files of the `production` images; may be empty.
    groups, strata : ndarray, shape [N], optional
        Numbers or texts: validation images that belong together (frames of a video, images of a
        patient), and their kind (a camera, a hospital).  Each kind has a separate guarantee.
    images : Images or ImageStream, optional
        Validation images.
    unreadable : dict of str to tuple of str
        Files that could not be read as images, by role.
    sha256 : dict of str to str
        Digests of the files.
    note : str
        Note about the network; may be empty.
    unit : str
        Noun for one row of data, in the sentences of the report.
    """

    source: str
    validation: Outputs
    class_names: tuple[str, ...]
    train: Outputs | None = None
    head: Head | None = None
    ood: Mapping[str, Outputs] = field(default_factory=dict)
    families: Mapping[str, Outputs] = field(default_factory=dict)
    production: Outputs | None = None
    production_labels: np.ndarray | None = None
    held_back: Mapping[str, Outputs] = field(default_factory=dict)
    level: bool = True
    files: tuple[str, ...] = ()
    production_files: tuple[str, ...] = ()
    groups: np.ndarray | None = None
    strata: np.ndarray | None = None
    images: Images | ImageStream | None = None
    unreadable: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    sha256: Mapping[str, str] = field(default_factory=dict)
    note: str = ""
    unit: str = IMAGE

    def __post_init__(self):
        check_unit(self.unit)
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
        if taken := {*self.ood} & {*_TAKEN}:
            raise ValueError(f"ood: a set cannot be called '{min(taken)}'; give it another name")

    @property
    def richest(self) -> str:
        """Name of the arrays for the test of drift: the features, or without them the logits."""
        return "features" if self.validation.features.shape[1] else "logits"

    @property
    def grouped(self) -> int:
        """Number of groups of validation images; 0 without groups."""
        return 0 if self.groups is None else len(np.unique(self.groups))

    def groups_of(self, places: np.ndarray) -> np.ndarray | None:
        """Return the groups of some validation images; None without groups."""
        return None if self.groups is None else np.asarray(self.groups)[places]

    def pictures(self, indices: Iterable[int], *, size: int = 64) -> np.ndarray | None:
        """Return validation images, uint8 [M, size, size, 3]; None without images or files."""
        indices = list(indices)
        if self.images is not None:
            return self.images.pictures(indices, size=size)
        paths = [Path(self.files[index]) for index in indices] if self.files else []
        if not paths or not all(path.is_file() for path in paths):
            return None
        from PIL import Image  # here, since most audits do not show images

        opened = []
        for path in paths:
            try:
                with Image.open(path) as image:
                    if image.format == "EPS":  # Ghostscript would run it
                        return None
                    opened.append(np.asarray(image.convert("RGB").resize((size, size))))
            except (OSError, Image.DecompressionBombError):
                # texts, sounds or a damaged image: their names are enough
                return None
        return np.stack(opened)


def unlabelled(parts: Sequence[Outputs]) -> Outputs:
    """Return the outputs of several groups of images as one group without labels."""
    logits = np.concatenate([part.logits for part in parts])
    features = np.concatenate([part.features for part in parts])
    return Outputs(logits, features, np.full(len(logits), -1))


def read_outputs(path: str | os.PathLike | Mapping[str, np.ndarray]) -> Inputs:
    """Return the inputs of an audit from a file, or from arrays by name.

    Parameters
    ----------
    path : path, or mapping of str to array
        Arrays with the names below, or a file from ``numpy.savez(path, logits=..., labels=...)``,
        or a table (.csv, .parquet) with columns ``logit_0`` …, ``feature_0`` …, ``label``,
        ``set``, ``file``, ``group``, ``stratum``.  The last five are texts.  N validation images, K
        classes, D features:

        * ``logits`` [N, K], ``labels`` [N], ``features`` [N, D] (input of the head).  Labels are
          numbers from 0 to K − 1, or as texts, names of classes if the file has ``class_names``.
        * ``probabilities`` instead of ``logits``, in all groups; [N] are of class 1 of two.
          Columns of a table are ``prob_0`` ….  ``logit_CLASS`` … and ``prob_CLASS`` … also give
          the names of the classes.
        * ``train_logits``, ``train_labels``, ``train_features``: outputs for training images.
        * ``ood_NAME_logits``, ``ood_NAME_features``: sets of unknown images, any number of sets.
        * ``production_logits``, ``production_features``: outputs for unlabelled images.
        * ``production_labels``: labels of some of these images, drawn at random; −1 is for an image
          of no class, −2 or "" for an image without a label.
        * ``head_weight`` [K, D], ``head_bias`` [K]: the last layer.
        * ``class_names`` [K], ``files``, ``groups``, ``strata`` [N], ``production_files``: see
          `Inputs`.

    Raises
    ------
    FileNotFoundError
        The file does not exist.
    ValueError
        Damaged file. Array missing, misspelt, or of the wrong type, shape or size. Probabilities
        for logits, or the reverse. NaN, a head that does not give the logits, or under 20 images.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "outputs.npz"
    >>> np.savez(path, logits=np.full((20, 2), 0.5), labels=np.arange(20) % 2)
    >>> read_outputs(path)
    Traceback (most recent call last):
        ...
    ValueError: logits (20, 2): no value is negative and every row sums to 1, so these are \
probabilities; pass logits (before the softmax), or name the array probabilities, of which the \
audit takes logarithms
    """
    if isinstance(path, Mapping):
        source = "the model"
        digests = {}
        arrays = {name: checked.plain(name, values) for name, values in path.items()}
    elif not isinstance(path, str | os.PathLike):
        raise ValueError(
            'outputs: a path, or a dict such as {"logits": logits, "labels": labels}, expected, '
            f"got {type(path).__name__}"
        )
    else:
        source = f"the model behind {Path(path).name}"
        arrays = read_arrays(Path(path))
        digests = {"outputs": sha256_file(path)}
    given = checked.kind_of_outputs(arrays)
    if given == "probabilities":
        arrays = checked.both_classes(arrays)
    sets = checked.set_names(arrays, needed=(given, "labels"), given=given)
    classes = checked.matrix(arrays, given).shape[1]
    if classes < 2:
        raise ValueError(
            f"{given}: at least 2 classes expected, got shape {arrays[given].shape}; "
            + checked.one_logit(given, arrays[given])
        )
    width = checked.matrix(arrays, "features").shape[1] if "features" in arrays else 0
    read = partial(_group, arrays, given, classes, width)
    names = checked.column(arrays, "class_names", classes)
    validation = read("", labelled=True)
    level = given == "logits" and not checked.normalised(validation.logits)
    files = checked.column(arrays, "files", len(validation))
    production = read("production_") if f"production_{given}" in arrays else None
    production_labels = None
    production_files = None
    if production is not None:
        production_files = checked.column(arrays, "production_files", len(production))
    if production is not None and "production_labels" in arrays:
        production_labels = checked.some_labels(arrays, production.logits, given)
    return Inputs(
        source=source,
        validation=validation,
        class_names=tuple(map(str, range(classes) if names is None else names)),
        train=read("train_", labelled=True) if f"train_{given}" in arrays else None,
        head=checked.head(arrays, validation, level),
        ood={name: read(f"ood_{name}_") for name in sets},
        production=production,
        production_labels=production_labels,
        level=level,
        files=() if files is None else tuple(files.tolist()),
        production_files=() if production_files is None else tuple(production_files.tolist()),
        groups=checked.column(arrays, "groups", len(validation)),
        strata=checked.column(arrays, "strata", len(validation)),
        sha256=digests,
    )


def _group(
    arrays: Mapping[str, np.ndarray],
    given: str,
    classes: int,
    width: int,
    prefix: str,
    *,
    labelled: bool = False,
) -> Outputs:
    """Return the outputs of a group of images, whose arrays have names with this prefix."""
    name = f"{prefix}{given}"
    logits = checked.logits(name, checked.matrix(arrays, name, width=classes), given)
    count = len(logits)
    features = np.empty((count, 0), np.float32)
    if width:
        features = checked.matrix(arrays, f"{prefix}features", width=width, length=count)
    labels = np.full(count, -1)
    if labelled:
        labels = checked.labels(arrays, f"{prefix}labels", logits, given)
    outputs = Outputs(logits, features, labels)
    if labelled:
        outputs.__dict__["predictions"] = checked.row_by_row(np.argmax, logits)
    return outputs


class New(NamedTuple):
    """New outputs for a rejector, and whether the file also has labels, which are not read."""

    logits: np.ndarray  # or probabilities
    features: np.ndarray | None
    images: list
    labelled: bool

    @property
    def digest(self) -> str:
        """A name of the outputs and their images, which does not depend on the kind of file."""
        arrays = [np.float32(array) for array in (self.logits, self.features) if array is not None]
        content = b"".join([*(array.tobytes() for array in arrays), repr(self.images).encode()])
        return blake2b(content, digest_size=8).hexdigest()


def read_new(path: str | os.PathLike, class_names: Sequence[str] = ()) -> New:
    """Read new outputs, each row of the file, in order, without its labels.

    `class_names` are of the rejector; columns with these names may have another order.

    Raises
    ------
    ValueError
        Several sets in the file, or other class names; and as in `read_outputs`.
    """
    arrays = read_arrays(Path(path), new=True)
    given = checked.kind_of_outputs(arrays)
    if given == "probabilities":
        arrays = checked.both_classes(arrays)
    groups = [name for name in arrays if f"_{name}".endswith(f"_{given}")]
    if len(groups) > 1:
        raise ValueError(
            f"{given}: new outputs of one set expected, got {', '.join(groups)}; write each set to "
            "a separate file"
        )
    labels = arrays.pop("production_labels", arrays.pop("labels", None))
    checked.set_names(arrays, needed=(given,), given=given)
    logits = checked.matrix(arrays, given)
    if given == "probabilities":
        checked.logits(given, logits, given)
    names = checked.column(arrays, "class_names", logits.shape[1])
    expected = list(class_names)
    if names is not None and sorted(names) == sorted(expected):
        order = np.array([names.tolist().index(name) for name in expected])
        logits = logits[:, order]
    elif names is not None and expected != list(map(str, range(len(expected)))):
        raise ValueError(
            f"class_names: {', '.join(expected[:8])} expected, in the order of the audit, got "
            f"{', '.join(names[:8])}"
        )
    features = None
    if "features" in arrays:
        features = checked.matrix(arrays, "features", length=len(logits))
    files = checked.column(arrays, "files", len(logits))
    images = list(range(len(logits))) if files is None else files.tolist()
    return New(logits, features, images, labels is not None)


#: Its test images were not used to train or choose its network, unlike in the packs of ResNets.
DEMO = "densenet100.dice_cifar10.safetensors"
DEMO_CLASSES = (
    "airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck",
)  # fmt: skip
#: A set near CIFAR-10 and a set far from it, with their names in a sentence.
UNKNOWN = {"cifar100": "CIFAR-100", "mnist": "MNIST"}


def open_demo() -> tuple[Inputs, str]:
    """Return the inputs of the demo, and two sentences about the network and the images."""
    from known_unknowns.bench.feature_packs import EMBEDDED, FeaturePack

    file = EMBEDDED / DEMO
    pack = FeaturePack.read(file)
    unknown = pack.near | pack.far
    sizes = [f"{len(unknown[name])} of {title}" for name, title in UNKNOWN.items()]
    description = (
        f"The demo audits DenseNet-100, trained on CIFAR-10 ({pack.facts['network']['source']}).\n"
        f"Its images: {len(pack.test)} test images of CIFAR-10 and, as images of unknown classes, "
        f"{' and '.join(sizes)}."
    )
    inputs = Inputs(
        pack.name,
        pack.test,
        DEMO_CLASSES,
        head=pack.head,
        ood={name: unknown[name] for name in UNKNOWN},
        sha256={"outputs": sha256_file(file)},
    )
    return inputs, description
