"""Checks of arrays; a message ends with the line of code that solves the problem."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from scipy.special import logsumexp, softmax

from helpers.checks import known_name, label_array
from helpers.outputs import Head, Outputs
from helpers.scores.calibration import ROUNDING, are_probabilities, log_probabilities, row_blocks

#: Possible content of the arrays of logits.
TREATED = ("logits", "probabilities")
#: Arrays that only the validation images have, and arrays that belong to no images.
SINGLE = ("labels", "head_weight", "head_bias", "class_names", "files", "groups", "strata")
#: Largest logit or feature: a million squares of it have a finite sum in single precision.
LARGEST = 1e15
_MOST_DIGITS = 6  # decimal places of rounded probabilities
_TOGETHER = (
    "train_logits train_labels", "train_labels train_logits", "train_features train_logits",
    "production_features production_logits", "head_weight head_bias", "head_bias head_weight",
    "head_weight features",
)  # fmt: skip
# an array, and the array that it needs


def set_names(arrays: Mapping[str, np.ndarray], needed: Sequence[str]) -> list[str]:
    """Return the names of the OOD sets; refuse arrays of unknown names, and missing arrays."""
    # a misspelt kind of array is found for any name of a set
    sets = [*{name.rpartition("_")[0][4:]: None for name in arrays if name.startswith("ood_")}]
    parts = ["", "train_", "production_", *(f"ood_{name}_" for name in sets)]
    kinds = [f"{part}{kind}" for part in parts for kind in ("logits", "features")]
    for name in arrays:
        if name in ("ood_logits", "ood_features"):
            raise ValueError(f"{name}: without the set's name; call it ood_NAME_{name[4:]}")
        known_name("array", name, {*kinds, *SINGLE, "train_labels"})
    for name in needed:
        if name not in arrays:
            raise ValueError(f"{name}: missing; the file holds {', '.join(arrays) or 'nothing'}")
    pairs = [*map(str.split, _TOGETHER), *((f"{p}features", f"{p}logits") for p in parts[3:])]
    for first, second in pairs:
        if first in arrays and second not in arrays:
            raise ValueError(f"{second}: missing, though there is {first}")
    for part in parts:
        present = f"{part}features" in arrays
        if f"{part}logits" in arrays and present != ("features" in arrays):
            raise ValueError(
                f"{part}features: {'no other' if present else 'missing, though other'} group of "
                "images has features; give them for all groups, or for none"
            )
    return sets


def matrix(
    arrays: Mapping[str, np.ndarray], name: str, width: int | None = None, length: int | None = None
) -> np.ndarray:
    """Return an array as float32 [N, M]."""
    array = arrays[name]
    expected = f"[{'N' if length is None else length}, {'M' if width is None else width}]"
    wrong = array.ndim != 2 or array.dtype.kind not in "iuf"
    wrong = wrong or (length is not None and len(array) != length)
    if wrong or (width is not None and array.shape[1] != width):
        raise ValueError(
            f"{name}: numbers of shape {expected} expected, got {array.dtype} {array.shape}; "
            + _remedy(name, array, length, width)
        )
    if not len(array):
        raise ValueError(f"{name}: no image, shape {array.shape}; leave the array out")
    array = array.astype(np.float32, copy=False)
    finite = [np.isfinite(array[rows]).all(axis=1) for rows in row_blocks(array.shape)]
    if bad := int((~np.concatenate(finite)).sum()):
        raise ValueError(
            f"{name}: NaN or infinite values in {bad} of {len(array)} rows; find out which images "
            "they are of, and leave these out of all arrays"
        )
    if (most := max(array.max(), -array.min())) > LARGEST:
        raise ValueError(
            f"{name}: numbers up to {LARGEST:g} in size expected, got {most:g}, whose squares are "
            "infinite; if it stands for a class that is left out, write -1e4"
        )
    return array


def _remedy(name: str, array: np.ndarray, length: int | None, width: int | None) -> str:
    """Return the line of code that probably corrects an array of the wrong type or shape."""
    shape = array.shape
    if array.dtype.kind not in "iuf":
        return f"write {name}.astype(np.float32)"
    if array.ndim > 2:
        return f"write {name}.reshape(len({name}), -1), or the mean over the axes of places"
    if array.ndim == 1 and name.endswith("logits"):
        return f"of one logit for two classes, write np.c_[0 * {name}, {name}]"
    if array.ndim < 2:
        return f"write {name}.reshape(-1, {width or 1}), a row for each image"
    if (length, width) == shape[::-1] or (length == shape[1] and length != shape[0]):
        return f"write {name}.T, a row for each image or class"
    if length not in (None, shape[0]):
        return f"write all arrays in one loop, so that each has {length} rows, in the same order"
    return f"write what the same model gives for all groups, {width} numbers in a row"


def looks_like(values: np.ndarray) -> str:
    """Return the kind of transformed probabilities given instead of logits, or "".

    >>> sure = np.array([[0.7, 0.2, 0.1], [0.334, 0.333, 0.333]])
    >>> [looks_like(values) for values in (sure, 100 * sure, sure.round(2), 10 * sure - 5)]
    ['probabilities', 'percentages', 'rounded probabilities', '']
    >>> looks_like(np.array([[0.9, 0.8, 0.1], [0.2, 0.1, 0.1]]))
    'sigmoids'
    """
    if are_probabilities(values):
        return "probabilities"
    if values.min() < 0 or (most := values.max()) > 101:
        return ""
    sums = values.sum(axis=1, dtype=np.float64)
    if most > 1:
        near = np.abs(sums - 100).max() <= max(100 * ROUNDING, values.shape[1] / 20)
        return "percentages" if near else ""
    for digits in range(1, _MOST_DIGITS + 1):
        if np.abs(sums - 1).max() > values.shape[1] * 10.0**-digits / 2:
            break
        if np.allclose(values, np.round(values.astype(np.float64), digits), rtol=0, atol=1e-7):
            return "rounded probabilities"
    return "sigmoids"


_INSTEAD = {
    "probabilities": "no value is negative and every row sums to 1, so these are probabilities; "
    'pass logits (before the softmax), or treat_as="probabilities" to have their logarithms taken',
    "percentages": "no value is negative and every row sums to 100, so these are percentages; pass "
    "logits (before the softmax), or {name} / {name}.sum(axis=1, keepdims=True) with "
    'treat_as="probabilities"',
    "rounded probabilities": "no value is negative and the rows sum to 1 but for rounding, so "
    "these are probabilities of few digits, which tie; pass logits (before the softmax), or {name} "
    '/ {name}.sum(axis=1, keepdims=True) with treat_as="probabilities"',
    "sigmoids": "all values lie between 0 and 1 and the rows do not sum to 1, so these are "
    "probably sigmoids, one for each class; pass what goes into them: np.log({name}) - "
    "np.log1p(-{name})",
}


def logits(name: str, values: np.ndarray, treat_as: str) -> np.ndarray:
    """Return logits, or the logarithms of probabilities."""
    known_name("way to treat_as", treat_as, TREATED)
    kind = looks_like(values)
    if name == "logits" and kind in ("", "sigmoids") and values.min() == values.max():
        raise ValueError(
            f"{name} {values.shape}: all values are {values.flat[0]:g}, so no class is predicted; "
            "see whether the array was filled, and with the outputs of a trained model"
        )
    # if the model is not confident for a set, all its logits may be in this range
    if treat_as == "logits" and kind and (kind != "sigmoids" or name == "logits"):
        raise ValueError(f"{name} {values.shape}: {_INSTEAD[kind].format(name=name)}")
    probable = kind == "probabilities"
    if treat_as == "probabilities" and not probable:
        sums, least = values.sum(axis=1, dtype=np.float64), values.min()
        row = int(np.abs(sums - 1).argmax())
        remedy = f"{name} / {name}.sum(axis=1, keepdims=True)"
        remedy = 'treat_as="logits"?' if least < 0 else remedy
        raise ValueError(
            f"{name}: probabilities expected, as treat_as says, but the least value is {least:g} "
            f"and row {row} sums to {sums[row]:g}; pass {remedy}"
        )
    return log_probabilities(values) if probable else values


def normalised(logits: np.ndarray) -> bool:
    """Return whether logits are logarithms of probabilities, which lose the level."""
    return all(
        np.abs(logsumexp(logits[rows].astype(np.float64), axis=1)).max() <= ROUNDING
        for rows in row_blocks(logits.shape)
    )


def labels(arrays: Mapping[str, np.ndarray], name: str, classes: int, length: int) -> np.ndarray:
    """Return labels as int64 from 0 on."""
    labels, logits = arrays[name], name.replace("labels", "logits")
    if labels.ndim != 1 or labels.dtype.kind not in "iu":
        raise ValueError(
            f"{name}: whole numbers [{length}] expected, got {labels.dtype} {labels.shape}; "
            "write argmax(axis=1) of one-hot rows, astype(int) of numbers, class numbers for texts"
        )
    if len(labels) != length:
        turned = f"{logits}.T, a row for each image"
        remedy = turned if len(labels) == classes else f"{logits} and {name} in one loop"
        raise ValueError(
            f"{name}: one for each of the {length} rows of {logits} expected, got {labels.shape}; "
            f"write {remedy}"
        )
    if len(labels) and labels.min() >= 1 and labels.max() == classes:
        raise ValueError(
            f"{name}: 0 to {classes - 1} expected, got {labels.min()} to {classes}; the first "
            "class has the number 0: subtract 1"
        )
    return label_array(name, labels, classes=classes, length=length)


def column(arrays: Mapping[str, np.ndarray], name: str, length: int) -> np.ndarray | None:
    """Return the text or group of each image or class; None if the file does not store it."""
    if (values := arrays.get(name)) is None:
        return None
    texts = name in ("class_names", "files")
    if values.shape != (length,) or values.dtype.kind not in ("U" if texts else "iuU"):
        remedy = f"one for each image, np.asarray({name}).astype(str)"
        raise ValueError(
            f"{name}: {length} {'texts' if texts else 'whole numbers or texts'} expected, got "
            f"{values.dtype} {values.shape}; write "
            + (f"np.array(list_of_{length}, dtype=str)" if texts else remedy)
        )
    if name == "class_names" and len(set(names := values.tolist())) < length:
        twice = sorted({text for text in names if names.count(text) > 1})
        raise ValueError(f"class_names: each once expected, got {', '.join(twice)} twice")
    return values


def head(arrays: Mapping[str, np.ndarray], validation: Outputs, level: bool) -> Head | None:
    """Return the head, checked on the logits of the first images; None without weights."""
    if "head_weight" not in arrays:
        return None
    classes, width = validation.num_classes, validation.features.shape[1]
    weight = matrix(arrays, "head_weight", width=width, length=classes)
    bias = matrix({"head_bias": arrays["head_bias"][None]}, "head_bias", width=classes)[0]
    few = slice(0, 256)
    expected, computed = validation.logits[few], validation.features[few] @ weight.T + bias
    if not level:  # some probabilities may have underflowed
        expected, computed = softmax(expected, axis=1), softmax(computed, axis=1)
    if np.abs(computed - expected).max() > 10 * ROUNDING * max(np.abs(expected).max(), 1):
        raise ValueError(
            "head_weight, head_bias: features @ head_weight.T + head_bias differs from the logits; "
            "features are what the last layer multiplies: give these, or leave the head out"
        )
    return Head(weight, bias)


def row_by_row(choose: Callable[..., np.ndarray], logits: np.ndarray) -> np.ndarray:
    """Return the column that `choose` (argmax, argmin) finds in each row, block by block.

    A single call would copy the whole array that is mapped from a file.
    """
    return np.concatenate([choose(logits[rows], axis=1) for rows in row_blocks(logits.shape)])
