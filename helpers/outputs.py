"""One pass of a data set through a model, kept by content."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from helpers.checks import plain_array, whole_number
from helpers.files import atomic_path

_TYPES = {"F32": np.float32, "I64": np.int64}  # as safetensors calls them


@dataclass(frozen=True)
class Head:
    """The last linear layer of a classifier: ``logits = features @ weight.T + bias``.

    Attributes
    ----------
    weight : ndarray of float32, shape [K, D]
    bias : ndarray of float32, shape [K]
    """

    weight: np.ndarray
    bias: np.ndarray

    def restricted(self, classes: Sequence[int]) -> Head:
        """Return the head of a model that knows only these of its classes, in this order."""
        columns = distinct_classes(classes, len(self.bias))
        return Head(self.weight[columns], self.bias[columns])


@dataclass(frozen=True)
class Outputs:
    """A model's outputs for one data set, the input of all scores and metrics.

    Attributes
    ----------
    logits : ndarray of float32, shape [N, K]
    features : ndarray of float32, shape [N, D]
        Inputs of the head.
    labels : ndarray of int64, shape [N]
        −1 if the image's class is not among the model's classes.
    members : ndarray of float32, shape [M, N, K], optional
        Probabilities of ensemble members or of stochastic passes.
    native : ndarray of float32, shape [N], optional
        The training algorithm's native score, if it has one.

    Raises
    ------
    ValueError
        An array of the wrong shape or with a mask, no real numbers, NaN among the logits or
        features, a label outside −1 … K − 1, members that are no probabilities.

    Notes
    -----
    An array that can be written is copied, so later changes of it change nothing here.  The arrays
    kept here are read-only; copies in a `subset` can be written.

    Examples
    --------
    >>> logits = np.array([[2.0, -1.0]])
    >>> Outputs(logits, np.ones((1, 1)), np.array([0]), members=logits[None])
    Traceback (most recent call last):
        ...
    ValueError: members: probabilities expected, not logits
    """

    logits: np.ndarray
    features: np.ndarray
    labels: np.ndarray
    members: np.ndarray | None = None
    native: np.ndarray | None = None

    def __post_init__(self):
        for name, kind, ndim in (
            ("logits", np.float32, 2),
            ("features", np.float32, 2),
            ("labels", np.int64, 1),
            ("members", np.float32, 3),
            ("native", np.float32, 1),
        ):
            array = getattr(self, name)
            if array is None and name in ("members", "native"):
                continue
            plain = plain_array(name, array)
            if name == "labels" and plain.dtype.kind not in "iu":
                raise ValueError(f"labels: integers expected, got dtype {plain.dtype}")
            if plain.dtype.kind not in "biuf":
                raise ValueError(f"{name}: real numbers expected, got dtype {plain.dtype}")
            if plain.dtype == np.uint64 and plain.size and plain.max() > np.iinfo(np.int64).max:
                raise ValueError(f"{name}: numbers below 2 ** 63 expected, got {plain.max()}")
            # contiguous rows in memory, or the last bit of a row's sum depends on the other rows
            array = plain.astype(kind, order="C", copy=_is_writeable(plain))
            array.flags.writeable = False
            object.__setattr__(self, name, array)
            if array.ndim != ndim:
                raise ValueError(f"{name}: {ndim} dimension(s) expected, got shape {array.shape}")
            length = array.shape[1] if name == "members" else len(array)
            if length != len(self.logits):
                raise ValueError(f"{name}: {len(self.logits)} images expected, got {length}")
            if array.dtype.kind == "f" and not _finite(array):
                raise ValueError(f"{name}: contains NaN or infinite values")
        if not self.logits.size:
            raise ValueError("logits: empty")
        if self.members is not None:
            members, _, classes = self.members.shape
            if not members:
                raise ValueError("members: at least one member expected, got none")
            if classes != self.num_classes:
                raise ValueError(f"members: {self.num_classes} classes expected, got {classes}")
            if self.members.min() < 0 or self.members.max() > 1.001:
                raise ValueError("members: probabilities expected, not logits")
        if not -1 <= self.labels.min() <= self.labels.max() < self.num_classes:
            raise ValueError(
                f"labels: −1 … {self.num_classes - 1} expected, "
                f"got {self.labels.min()} … {self.labels.max()}"
            )

    def __len__(self) -> int:
        return len(self.logits)

    @property
    def num_classes(self) -> int:
        """K, the number of the model's classes."""
        return self.logits.shape[1]

    @cached_property
    def probabilities(self) -> np.ndarray:
        """Softmax of the logits, or the mean over the members, float64 [N, K]."""
        if self.members is not None:
            return self.members.mean(axis=0, dtype=np.float64)
        values = self.logits.astype(
            np.float64
        )  # then in place: N x K of them are large enough once
        values -= values.max(axis=1, keepdims=True)
        np.exp(values, out=values)
        values /= values.sum(axis=1, keepdims=True)
        return values

    @cached_property
    def predictions(self) -> np.ndarray:
        """Most probable class, int64 [N]."""
        # the probability of the largest logit, without an array of N x K probabilities
        return (self.logits if self.members is None else self.probabilities).argmax(axis=1)

    @cached_property
    def correct(self) -> np.ndarray:
        """Whether the prediction is the label, bool [N]; an unknown class is never correct."""
        return self.predictions == self.labels

    @cached_property
    def derived(self) -> dict:
        """Intermediate results by name, computed once and shared by several scores."""
        return {}

    def subset(self, indices) -> Outputs:
        """Return the outputs of some images: an index array, a mask or a slice."""
        if not len(labels := self.labels[indices]):
            raise ValueError("indices: no image")
        subset = object.__new__(Outputs)  # checked arrays are not checked again
        subset.__dict__.update(
            logits=self.logits[indices],
            features=self.features[indices],
            labels=labels,
            members=None if self.members is None else self.members[:, indices],
            native=None if self.native is None else self.native[indices],
        )
        return subset

    def restricted(self, classes: Sequence[int]) -> Outputs:
        """Return the outputs of a model that knows only these of its classes.

        Parameters
        ----------
        classes : sequence of int
            Numbers of the classes, which become 0, 1, … in this order; an image of another class
            gets the label −1.

        Raises
        ------
        ValueError
            The outputs have members, whose logits are not available.  A class that is named twice
            or that the model does not have.

        Examples
        --------
        >>> outputs = Outputs(np.array([[1.0, 9.0, 2.0]]), np.ones((1, 4)), np.array([2]))
        >>> part = outputs.restricted([2, 0])
        >>> part.logits.tolist(), part.labels.tolist(), part.correct.tolist()
        ([[2.0, 1.0]], [0], [True])
        """
        if self.members is not None:
            raise ValueError("members: outputs without members expected")
        columns = distinct_classes(classes, self.num_classes)
        number = np.full(self.num_classes + 1, -1)  # the last entry is what -1 picks
        number[columns] = np.arange(len(columns))
        return Outputs(self.logits[:, columns], self.features, number[self.labels])

    def save(self, path: str | os.PathLike) -> None:
        """Write a safetensors file that knows its own checksum, whole or not at all."""
        arrays = {
            name: np.ascontiguousarray(getattr(self, name))
            for name in ("logits", "features", "labels", "members", "native")
            if getattr(self, name) is not None
        }
        with atomic_path(path) as temporary:
            try:
                save_file(arrays, temporary, metadata={"sha256": _checksum(arrays)})
            except SafetensorError as error:  # a full disk, for instance
                raise OSError(str(error)) from error

    @classmethod
    def load(cls, path: str | os.PathLike) -> Outputs:
        """Map a file of `save` into memory, read-only. No code in the file is executed.

        The file is read once, to verify that it is complete; afterwards only the parts in use need
        memory.

        Raises
        ------
        ValueError
            The file is truncated, altered or lacks an array.
        """
        try:
            with safe_open(path, framework="np") as whole, open(path, "rb") as file:
                size = int.from_bytes(file.read(8), "little")
                header = json.loads(file.read(size))
                # `whole` would read each array into memory; it has checked their places in the file
                arrays = {
                    name: np.memmap(
                        path, _TYPES[header[name]["dtype"]], "r",
                        8 + size + header[name]["data_offsets"][0], tuple(header[name]["shape"]),
                    ).view(np.ndarray)
                    for name in whole.keys()
                }  # fmt: skip
                if (whole.metadata() or {}).get("sha256") != _checksum(arrays):
                    raise ValueError("its contents do not match its checksum")
                return cls(**arrays)
        except FileNotFoundError:
            raise
        except (SafetensorError, OSError, TypeError, KeyError, ValueError) as error:
            raise ValueError(f"{path}: not a whole file of outputs ({error})") from error


def _checksum(arrays: Mapping[str, np.ndarray]) -> str:
    """Return the SHA-256 of names, types, shapes and values."""
    total = hashlib.sha256()
    for name in sorted(arrays):
        total.update(f"{name} {arrays[name].dtype} {arrays[name].shape}\n".encode())
        total.update(arrays[name].data)
    return total.hexdigest()


def _finite(array: np.ndarray) -> bool:
    """Tell whether all values are finite, a block at a time."""
    rows = max(1, 2**20 * len(array) // max(array.size, 1))
    return all(np.isfinite(array[i : i + rows]).all() for i in range(0, len(array), rows))


def _is_writeable(array: np.ndarray) -> bool:
    """Tell whether the array, or an array whose memory it shows, can be written."""
    shown = array.base
    return array.flags.writeable or (isinstance(shown, np.ndarray) and _is_writeable(shown))


def distinct_classes(classes: Sequence[int], total: int) -> list[int]:
    """Return numbers of classes of a model with `total` classes; refuse others and duplicates.

    Examples
    --------
    >>> distinct_classes([0, 0, 1], 3)
    Traceback (most recent call last):
        ...
    ValueError: classes: each class once expected, got [0, 0, 1]; leave out the duplicates
    """
    columns = [int(whole_number("classes", number, least=0)) for number in classes]
    if not columns or max(columns) >= total:
        raise ValueError(f"classes: numbers from 0 to {total - 1} expected, got {columns}")
    if len(set(columns)) < len(columns):
        raise ValueError(
            f"classes: each class once expected, got {columns}; leave out the duplicates"
        )
    return columns


def ensemble(members: Sequence[Outputs]) -> Outputs:
    """Combine the outputs of several networks into the outputs of one model.

    Parameters
    ----------
    members : sequence of Outputs
        M of the same images.

    Returns
    -------
    Outputs
        ``members`` are the networks' probabilities, and their mean is the model's.  ``logits`` are
        the logarithm of that mean; ``features`` are the concatenated features [N, M D].

    Raises
    ------
    ValueError
        No member, or members with other labels.

    Notes
    -----
    Lakshminarayanan et al. 2017: the mean is over probabilities, never over logits.
    """
    if not members:
        raise ValueError("members: empty")
    for member in members:
        if not np.array_equal(member.labels, members[0].labels):
            raise ValueError("members: outputs of the same images expected, got different labels")
    probabilities = np.stack([member.probabilities for member in members])
    tiny = np.finfo(np.float32).tiny  # a probability that underflowed has no logarithm
    return Outputs(
        np.log(np.maximum(probabilities.mean(axis=0), tiny)),
        np.concatenate([member.features for member in members], axis=1),
        members[0].labels,
        members=probabilities,
    )
