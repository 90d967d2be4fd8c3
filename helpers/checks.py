"""Checks of a caller's arguments: names and arrays, refused early with a clear message."""

from __future__ import annotations

import difflib
import inspect
import re
import typing
from collections.abc import Callable, Iterable, Mapping
from numbers import Integral, Real

import numpy as np

#: Largest number up to which float64 represents every whole number.
LARGEST = 2**53
#: Largest number of characters of a name; file systems allow 255 bytes for several such names.
LONGEST_NAME = 100
#: Largest number of names that a message lists; of more names, it lists the nearest ones.
MOST_LISTED = 50


def known_name(kind: str, name: str, options: Iterable[str]) -> str:
    """Return `name` if it is one of `options`, else fail with the nearest match and other names.

    Examples
    --------
    >>> known_name("backbone", "resnt18", ["resnet18", "densenet40"])
    Traceback (most recent call last):
        ...
    ValueError: unknown backbone 'resnt18'; did you mean 'resnet18'? There are: densenet40, resnet18
    """
    options = sorted(options)
    if name in options:
        return name
    lower = {option.lower(): option for option in options}
    near = difflib.get_close_matches(str(name).lower(), lower, n=1, cutoff=0.4)
    hint = f"did you mean '{lower[near[0]]}'? " if near else ""
    words = "There are"
    if len(options) > MOST_LISTED:
        words = f"The nearest of {len(options)} names"
        nearest = difflib.get_close_matches(str(name).lower(), lower, n=5, cutoff=0)
        options = map(lower.__getitem__, nearest)
    raise ValueError(f"unknown {kind} '{name}'; {hint}{words}: {', '.join(options)}")


def file_name(kind: str, name: str) -> str:
    """Return `name` if it can be the name of a file and a word of a command line.

    Examples
    --------
    >>> file_name("network", "resnet20-1")
    'resnet20-1'
    >>> file_name("network", "../r$(touch x)")
    Traceback (most recent call last):
        ...
    ValueError: network '../r$(touch x)': letters, digits, '_', '.', '+' and '-' expected, a \
letter or a digit first
    """
    if len(str(name)) > LONGEST_NAME:
        raise ValueError(f"{kind} {name!r}: at most {LONGEST_NAME} characters expected")
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.+-]*", str(name)):
        expected = "letters, digits, '_', '.', '+' and '-' expected, a letter or a digit first"
        raise ValueError(f"{kind} {name!r}: {expected}")
    return name


def known_arguments(kind: str, function: Callable, arguments: Mapping[str, object]) -> None:
    """Refuse keyword arguments that a function does not take, and texts as truth values.

    Examples
    --------
    >>> known_arguments("function 'sorted'", sorted, {"revers": True})
    Traceback (most recent call last):
        ...
    ValueError: unknown argument of function 'sorted' 'revers'; did you mean 'reverse'? There are: \
iterable, key, reverse
    """
    parameters = inspect.signature(function).parameters
    for argument, value in arguments.items():
        if not parameters:
            raise ValueError(f"{kind} has no arguments, got '{argument}'")
        known_name(f"argument of {kind}", argument, parameters)
        if isinstance(parameters[argument].default, bool) and not isinstance(value, bool):
            raise ValueError(f"{argument}: true or false expected, got {value!r}")


def plain_array(name: str, values) -> np.ndarray:
    """Return `values` as an array of one type; refuse other values of the argument `name`.

    Examples
    --------
    >>> plain_array("scores", [[1, 2], [3]])
    Traceback (most recent call last):
        ...
    ValueError: scores: no array (setting an array element with a sequence. ...)
    """
    if isinstance(values, np.ma.MaskedArray):
        raise ValueError(f"{name}: an array without a mask expected; leave out the masked values")
    try:
        return np.asarray(values)
    except (ValueError, TypeError, RuntimeError) as error:  # the last two of tensors
        raise ValueError(f"{name}: no array ({error})") from error


def float_array(
    name: str, values, *, ndim: int = 1, length: int | None = None, finite: bool = True
) -> np.ndarray:
    """Return `values` as a float64 array; refuse other values of the argument `name`.

    >>> float_array("correct", [True, False]), float_array("scores", [np.inf], finite=False)
    (array([1., 0.]), array([inf]))
    """
    array = plain_array(name, values)
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{name}: numbers expected, got dtype {array.dtype}")
    if array.dtype.kind in "iu" and array.itemsize == 8 and array.size:
        if max(-int(array.min()), int(array.max())) > LARGEST:
            raise ValueError(f"{name}: whole numbers up to 2 ** 53 expected, as float64 holds them")
    array = array.astype(np.float64, copy=False)
    if array.ndim != ndim:
        raise ValueError(f"{name}: {ndim} dimension(s) expected, got shape {array.shape}")
    if array.size == 0:
        raise ValueError(f"{name}: empty")
    if length is not None and len(array) != length:
        raise ValueError(f"{name}: length {length} expected, got {len(array)}")
    if np.isnan(array).any():
        raise ValueError(f"{name}: contains NaN ({int(np.isnan(array).sum())} of {array.size})")
    if finite and np.isinf(array).any():
        raise ValueError(f"{name}: contains infinite values")
    return array


def open_share(name: str, value: float) -> float:
    """Return `value` if it is strictly between 0 and 1.

    Examples
    --------
    >>> open_share("level", 1)
    Traceback (most recent call last):
        ...
    ValueError: level: between 0 and 1 expected, got 1
    """
    if not 0 < number(name, value) < 1:
        raise ValueError(f"{name}: between 0 and 1 expected, got {value}")
    return value


def closed_share(name: str, value: float) -> float:
    """Return `value` if it is between 0 and 1, or equal to one of them."""
    if not 0 <= number(name, value) <= 1:
        raise ValueError(f"{name}: a number from 0 to 1 expected, got {value}")
    return value


def at_least_zero(name: str, value: float) -> float:
    """Return `value` if it is not negative."""
    if not number(name, value) >= 0:
        raise ValueError(f"{name}: at least 0 expected, got {value}")
    return value


def number(name: str, value: float) -> float:
    """Return `value` if it is a real number, of Python or of NumPy, and not NaN.

    A truth value is no number here: ``risk=True`` is a slip.

    Examples
    --------
    >>> number("risk", "0.05")
    Traceback (most recent call last):
        ...
    ValueError: risk: a number expected, got '0.05'
    """
    if not _is_real(value) or value != value:
        raise ValueError(f"{name}: a number expected, got {value!r}")
    return value


def positive_number(name: str, value: float) -> float:
    """Return `value` if it is a number above 0, and finite."""
    if not (_is_real(value) and 0 < value < float("inf")):
        raise ValueError(f"{name}: a positive number expected, got {value!r}")
    return value


def _is_real(value) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def whole_number(name: str, value: int, *, least: int = 1) -> int:
    """Return `value` if it is a whole number, and not too small.

    Examples
    --------
    >>> whole_number("k", 0)
    Traceback (most recent call last):
        ...
    ValueError: k: a whole number, at least 1, expected, got 0
    """
    if isinstance(value, bool) or not (isinstance(value, Integral) and value >= least):
        raise ValueError(f"{name}: a whole number, at least {least}, expected, got {value!r}")
    return value


def label_array(
    name: str, labels, *, classes: int, length: int | None = None, unknown: bool = False
) -> np.ndarray:
    """Return `labels` as an int64 array [N]; refuse other values of the argument `name`.

    Examples
    --------
    >>> label_array("labels", [0, 2, -1], classes=3, unknown=True)
    array([ 0,  2, -1])
    """
    array = plain_array(name, labels)
    if array.ndim != 1:
        raise ValueError(f"{name}: 1 dimension(s) expected, got shape {array.shape}")
    if array.size == 0:
        raise ValueError(f"{name}: empty")
    if array.dtype.kind not in "iu":
        raise ValueError(f"{name}: integers expected, got dtype {array.dtype}")
    if length is not None and len(array) != length:
        raise ValueError(f"{name}: length {length} expected, got {len(array)}")
    lowest = -1 if unknown else 0
    if array.min() < lowest or array.max() >= classes:
        raise ValueError(
            f"{name}: {lowest} to {classes - 1} expected, got {array.min()} to {array.max()}"
        )
    return array.astype(np.int64)


def has_type(value, kind) -> bool:
    """Tell whether a plain value fits int, float, str, bool, or a tuple or dict of these.

    An int counts as a float, and a bool does not count as an int.

    Examples
    --------
    >>> has_type(3, float), has_type(True, int), has_type((1, "a"), tuple[int, ...])
    (True, False, False)
    """
    origin = typing.get_origin(kind)
    arguments = typing.get_args(kind)
    if origin is tuple:
        return isinstance(value, tuple) and all(has_type(item, arguments[0]) for item in value)
    if origin is dict:
        key, item = arguments
        return isinstance(value, dict) and all(
            has_type(k, key) and has_type(v, item) for k, v in value.items()
        )
    if kind in (int, float) and isinstance(value, bool):
        return False
    return isinstance(value, (int, float) if kind is float else kind)


_WORDS = {
    bool: "true or false",
    dict: "names with values",
    float: "a number",
    int: "a whole number",
    str: "a text",
    tuple: "a list",
}


def in_words(kind) -> str:
    """Return a type hint in the words of an error message.

    Examples
    --------
    >>> in_words(int), in_words(tuple[str, ...])
    ('a whole number', 'a list')
    """
    return _WORDS.get(typing.get_origin(kind) or kind, str(kind))
