"""Checks of arrays; a message ends with the line of code that solves the problem."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral, Real

import numpy as np
from scipy.special import logsumexp, softmax

from helpers.checks import known_name, plain_array
from helpers.outputs import Head, Outputs
from helpers.scores.calibration import ROUNDING, are_probabilities, log_probabilities, row_blocks
from known_unknowns.auditing.reading import MULTI_LABEL, ONE_LABEL, check_lengths, repeated

#: Possible content of the arrays of logits.
OUTPUT_KINDS = ("logits", "probabilities")
#: Arrays that only the validation images have, and arrays that belong to no images.
SINGLE = (
    "labels", "production_labels", "head_weight", "head_bias", "class_names", "files",
    "production_files", "groups", "strata",
)  # fmt: skip
#: Label of an image of no known class, and of an image without a label.
NO_CLASS = -1
NOT_LABELLED = -2
#: Numbers that data sets and losses use instead of a label.
NO_LABEL = {-100, -1, 100, 255}
#: Largest logit or feature: a million squares of it have a finite sum in single precision.
LARGEST = 1e15
#: First characters of a cell that a spreadsheet computes as a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_WHOLE = re.compile(r"[+-]?\d{1,18}(\.0*)?")
_MOST_DIGITS = 6  # decimal places of rounded probabilities
_TOGETHER = (
    "train_logits train_labels", "train_labels train_logits", "train_features train_logits",
    "production_features production_logits", "head_weight head_bias", "head_bias head_weight",
    "head_weight features", "production_labels production_logits",
)  # fmt: skip
# an array, and the array that it needs


def plain(name: str, values) -> np.ndarray:
    """Return an array; lists and columns of pandas get a NumPy type for numbers or texts.

    >>> plain("labels", np.array([2, 1], dtype=object)).dtype.kind
    'i'
    """
    if str(getattr(values, "dtype", "")) == "torch.bfloat16":
        raise ValueError(f"{name}: numbers of NumPy expected, got bfloat16; write {name}.float()")
    array = plain_array(name, values)
    if isinstance(values, list | tuple) and array.dtype.kind == "U":
        array = np.array(values, dtype=object)  # NumPy makes a text of a number next to a text
    if array.dtype.kind == "T":  # texts of any length
        array = array.astype(object)
    if array.dtype.kind != "O" or array.ndim != 1:
        return array
    items = array.tolist()
    if all(isinstance(item, str) for item in items):
        return np.array(items, dtype=str)
    for kind, dtypes in ((Integral, "iu"), (Real, "f")):
        if all(isinstance(item, kind) and not isinstance(item, bool) for item in items):
            numbers = np.array(items)
            # NumPy rounds large whole numbers of different signs
            return numbers if numbers.dtype.kind in dtypes else array
    return array


def kind_of_outputs(arrays: Iterable[str]) -> str:
    """Return the kind of the arrays, one of `OUTPUT_KINDS`; refuse both."""
    logits = [name for name in arrays if f"_{name}".endswith("_logits")]
    probabilities = [name for name in arrays if f"_{name}".endswith("_probabilities")]
    if logits and probabilities:
        raise ValueError(
            f"{logits[0]}, {probabilities[0]}: logits or probabilities expected, got both; leave "
            "the probabilities out, since logits contain more"
        )
    return "probabilities" if probabilities else "logits"


def both_classes(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return arrays with a column for each of two classes; a single column is for class 1.

    >>> both_classes({"probabilities": np.array([0.25])})["probabilities"]
    array([[0.75, 0.25]])
    """
    changed = dict(arrays)
    for name, array in arrays.items():
        numbers = name.endswith("probabilities") and array.dtype.kind in "iuf"
        if numbers and array.ndim in (1, 2) and array.size and array.size == len(array):
            array = array.reshape(-1)
            if array.min() < 0 or array.max() > 1:
                raise ValueError(
                    f"{name}: the probability of class 1, from 0 to 1, expected in a single "
                    f"column, got {array.min():g} to {array.max():g}; write {name} / 100 of "
                    "percentages, or name logits so"
                )
            changed[name] = np.c_[1 - array, array]
    return changed


def set_names(
    arrays: Mapping[str, np.ndarray], needed: Sequence[str], given: str = "logits"
) -> list[str]:
    """Return the names of the OOD sets; refuse arrays of unknown names, and missing arrays."""
    # a misspelt kind of array is found for any name of a set
    ood = [name.rpartition("_")[0][4:] for name in arrays if name.startswith("ood_")]
    sets = list(dict.fromkeys(ood))
    parts = ["", "train_", "production_"] + [f"ood_{name}_" for name in sets]
    kinds = [f"{part}{kind}" for part in parts for kind in (*OUTPUT_KINDS, "features")]
    for name in arrays:
        if name in ("ood_logits", "ood_probabilities", "ood_features"):
            raise ValueError(f"{name}: without the set's name; call it ood_NAME_{name[4:]}")
        if name.startswith("new_"):
            raise ValueError(f"{name}: call the array production_{name[4:]}")
        known_name("array", name, {*kinds, *SINGLE, "train_labels"})
    for name in needed:
        if name not in arrays:
            raise ValueError(f"{name}: missing; the file holds {', '.join(arrays) or 'nothing'}")
    together = [text.replace("logits", given).split() for text in _TOGETHER]
    together += [[f"{part}features", f"{part}{given}"] for part in parts[3:]]
    for first, second in together:
        if first in arrays and second not in arrays:
            raise ValueError(f"{second}: missing, though there is {first}")
    for part in parts:
        present = f"{part}features" in arrays
        if f"{part}{given}" in arrays and present != ("features" in arrays):
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
    if not array.size:
        raise ValueError(
            f"{name}: {'no number' if len(array) else 'no image'}, shape {array.shape}; fill the "
            "array, or leave the array out"
        )
    array = array.astype(np.float32, copy=False)
    finite = [np.isfinite(array[rows]).all(axis=1) for rows in row_blocks(array.shape)]
    if bad := int((~np.concatenate(finite)).sum()):
        remedy = "find out which images they are of, and leave these out of all arrays"
        if name.endswith("logits") and array.max() < np.inf:  # false for NaN
            remedy = f"for a class that is left out, write np.maximum({name}, -1e4)"
        raise ValueError(f"{name}: NaN or infinite values in {bad} of {len(array)} rows; {remedy}")
    if (most := max(array.max(), -array.min())) > LARGEST:
        raise ValueError(
            f"{name}: numbers up to {LARGEST:g} in size expected, got {most:g}, whose squares are "
            "infinite; for a class that is left out, write -1e4"
        )
    return array


def _remedy(name: str, array: np.ndarray, length: int | None, width: int | None) -> str:
    """Return the line of code that probably corrects an array of the wrong type or shape."""
    shape = array.shape
    if array.dtype.kind not in "iuf":
        return f"write {name}.astype(np.float32)"
    if array.ndim > 2 and not name.endswith("features"):
        mean = name.replace("logits", "probabilities")
        return (
            f"of several outputs for each image, write one, or for an ensemble the mean of the "
            f"members' softmax as {mean}"
        )
    if array.ndim > 2:
        return f"write {name}.reshape(len({name}), -1), or the mean over the axes of places"
    if array.ndim == 1 and name.endswith("logits"):
        return one_logit(name, array)
    if array.ndim < 2:
        return f"write {name}.reshape(-1, {width or 1}), a row for each image"
    if (length, width) == shape[::-1] or (length == shape[1] and length != shape[0]):
        return f"write {name}.T, a row for each image or class"
    if length not in (None, shape[0]):
        return f"write all arrays in one loop, so that each has {length} rows, in the same order"
    return f"write what the same model gives for all groups, {width} numbers in a row"


def one_logit(name: str, array: np.ndarray) -> str:
    """Return the line of code that makes two columns from the single output of a model."""
    if array.size and 0 <= array.min() <= array.max() <= 1:
        instead = name.replace("logits", "probabilities")
        return (
            f"all values lie between 0 and 1: of one probability for two classes, write "
            f"{instead}=np.c_[1 - {name}, {name}], or name the column of a table proba"
        )
    return f"of one logit for two classes, write np.c_[0 * {name}, {name}]"


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


#: Largest difference of a sum from 1 for which a division corrects probabilities.
_NEARLY = 0.1
_INSTEAD = {
    "probabilities": "no value is negative and every row sums to 1, so these are probabilities; "
    "pass logits (before the softmax), or name the array {probable}, of which the audit takes "
    "logarithms",
    "percentages": "no value is negative and every row sums to 100, so these are percentages; pass "
    "logits (before the softmax), or {probable}={name} / {name}.sum(axis=1, keepdims=True)",
    "rounded probabilities": "no value is negative and the rows sum to 1 but for rounding, so "
    "these are probabilities of few digits, which tie; pass logits (before the softmax), or "
    "{probable}={name} / {name}.sum(axis=1, keepdims=True)",
    "sigmoids": "all values lie between 0 and 1 and the rows do not sum to 1, so these are "
    "probably sigmoids, one for each class; pass what goes into them: "
    "scipy.special.logit(np.clip({name}, 1e-7, 1 - 1e-7))",
}


def logits(name: str, values: np.ndarray, given: str) -> np.ndarray:
    """Return logits, or the logarithms of probabilities."""
    kind = looks_like(values)
    if name in OUTPUT_KINDS and kind in ("", "sigmoids") and values.min() == values.max():
        raise ValueError(
            f"{name} {values.shape}: all values are {values.flat[0]:g}, so no class is predicted; "
            "see whether the array was filled, and with the outputs of a trained model"
        )
    # if the model is not confident for a set, all its logits may be in this range
    if given == "logits" and kind and (kind != "sigmoids" or name == "logits"):
        instead = {"name": name, "probable": name.replace("logits", "probabilities")}
        raise ValueError(f"{name} {values.shape}: {_INSTEAD[kind].format(**instead)}")
    probable = kind == "probabilities"
    if given == "probabilities" and not probable:
        sums = values.sum(axis=1, dtype=np.float64)
        least = values.min()
        row = int(np.abs(sums - 1).argmax())
        remedy = f"{name} / {name}.sum(axis=1, keepdims=True)"
        if kind == "sigmoids" and np.abs(sums - 1).max() > _NEARLY:
            clipped = f"np.clip({name}, 1e-7, 1 - 1e-7)"
            remedy = (
                f"the logits of these sigmoids, scipy.special.logit({clipped}), if each image has "
                f"one label; if it has several, audit label by label, {name}[:, k] and labels[:, k]"
            )
        if least < 0:
            remedy = f"{name.replace('probabilities', 'logits')}={name}, if these are logits"
        raise ValueError(
            f"{name}: probabilities expected, but the least value is {least:g} "
            f"and row {row} sums to {sums[row]:g}; pass {remedy}"
        )
    return log_probabilities(values) if probable else values


def normalised(logits: np.ndarray) -> bool:
    """Return whether logits are logarithms of probabilities, which lose the level."""
    return all(
        np.abs(logsumexp(logits[rows].astype(np.float64), axis=1)).max() <= ROUNDING
        for rows in row_blocks(logits.shape)
    )


def labels(
    arrays: Mapping[str, np.ndarray], name: str, logits: np.ndarray, given: str
) -> np.ndarray:
    """Return labels as int64 from 0 on; texts are names of classes."""
    labels = arrays[name]
    names = arrays.get("class_names")
    length, classes = logits.shape
    outputs = name.replace("labels", given)
    if labels.ndim == 1 and labels.dtype.kind == "U":
        labels = _numbers_of(name, labels, names)
    if labels.ndim != 1 or labels.dtype.kind not in "iu":
        raise ValueError(
            f"{name}: whole numbers [{length}] expected, got {labels.dtype} {labels.shape}; "
            + _label_remedy(name, labels, classes)
        )
    if len(labels) != length:
        turned = f"{outputs}.T, a row for each image"
        remedy = turned if len(labels) == classes else f"{outputs} and {name} in one loop"
        raise ValueError(
            f"{name}: one for each of the {length} rows of {outputs} expected, got {labels.shape}; "
            f"write {remedy}"
        )
    if labels.min() < 0 or labels.max() >= classes:
        remedy = f"these are texts of class_names: write {name}.astype(str)"
        if names is None or not np.isin(labels.astype(str), names).all():
            remedy = _remedy_of_range(name, labels, logits)
        raise ValueError(
            f"{name}: 0 to {classes - 1} expected, got {labels.min()} to {labels.max()}; {remedy}"
        )
    return labels.astype(np.int64)


def some_labels(arrays: Mapping[str, np.ndarray], logits: np.ndarray, given: str) -> np.ndarray:
    """Return labels of some images: −1 is for an image of no class, and −2 for one without a label.

    Texts are names of classes, "-1" or "", and in numbers of pandas, NaN is for no label.
    """
    name = "production_labels"
    values = arrays[name]
    if values.ndim == 1 and values.dtype.kind == "f":
        filled = np.where(np.isnan(values), NOT_LABELLED, values)
        whole = filled.astype(np.int64)
        values = whole if (whole == filled).all() else values
    if values.shape != (len(logits),) or values.dtype.kind not in "iuU":
        return labels({**arrays, name: values}, name, logits, given)  # which refuses them
    if values.dtype.kind != "U" and values.min() < NOT_LABELLED:
        raise ValueError(
            f"{name}: a class, {NO_CLASS} for no known class, or {NOT_LABELLED} for no label "
            f"expected, got {values.min()}; write {NOT_LABELLED} for an image without a label"
        )
    result = np.full(len(values), NOT_LABELLED)
    if values.dtype.kind == "U":
        known = {*arrays.get("class_names", ())}
        values = np.where(np.isin(values, [*known]), values, np.char.strip(values))
        unknown = np.isin(values, [*{"-1", "-1.0"} - known])
        empty = np.isin(values, [*{"", "-2", "-2.0"} - known])
    else:
        unknown = values == NO_CLASS
        empty = values == NOT_LABELLED
    result[unknown] = NO_CLASS
    named = ~unknown & ~empty
    if named.any():
        result[named] = labels({**arrays, name: values[named]}, name, logits[named], given)
    return result


def numbered(names: Iterable[str]) -> bool:
    """Return whether names are numbers, but not those of the classes.

    >>> numbered(["1", "2"]), numbered(["0", "1"]), numbered(["ant", "bee"])
    (True, False, False)
    """
    return any(_WHOLE.fullmatch(name) and name != str(at) for at, name in enumerate(names))


def _numbers_of(name: str, labels: np.ndarray, names: np.ndarray | None) -> np.ndarray:
    """Return the class numbers of labels that are texts: names of classes, or whole numbers.

    A float such as 3.0 is a whole number: an empty cell of another set makes floats of integers.
    If names are other numbers than those of the classes, each text is a name.

    >>> _numbers_of("labels", np.array(["1.0", "3"]), np.array(["1", "2", "3"])).tolist()
    [0, 2]
    >>> _numbers_of("labels", np.array(["1.0", "0"]), np.array(["ant", "bee", "cow"])).tolist()
    [1, 0]
    """
    numbers = {} if names is None else {name: i for i, name in enumerate(names.tolist())}
    if not {*labels.tolist()} <= {*numbers}:
        labels = np.char.strip(labels)
    if not {*labels.tolist()} <= {*numbers} and all(map(_WHOLE.fullmatch, labels.tolist())):
        whole = labels.astype(float).astype(np.int64)
        labels = whole.astype(str)
        if not ({*labels.tolist()} <= {*numbers} or numbered(numbers)):
            return whole
    texts = {*labels.tolist()}
    if names is None:
        remedy = (
            "give class_names, the names in the order of the logits (of scikit-learn, "
            "class_names=model.classes_), or in a table the columns logit_CLASS or prob_CLASS"
        )
        if {text.lower() for text in texts} <= {"true", "false"}:
            remedy = "write 1 for true and 0 for false"
        example = min(texts, key=lambda text: (text.isdecimal(), text))
        raise ValueError(f"{name}: class numbers expected, got texts such as {example!r}; {remedy}")
    if unknown := sorted(texts - numbers.keys()):
        near = difflib.get_close_matches(unknown[0], numbers, n=1) or [*numbers][:3]
        raise ValueError(
            f"{name}: names of {len(numbers)} classes expected, got {unknown[0]!r}; the nearest "
            f"of class_names: {', '.join(map(repr, near))}"
        )
    return np.array([numbers[text] for text in labels.tolist()])


def _label_remedy(name: str, labels: np.ndarray, classes: int) -> str:
    """Return the line of code that turns labels of another type or shape into class numbers."""
    last = "write the number of one class for each image"
    if labels.dtype.kind not in "biufO":
        return last
    if labels.dtype.kind == "O":
        return (
            f"write class numbers without missing values: keep = ~pandas.isna({name}), the rows "
            f"[keep] of all arrays, and {name}[keep].astype(int)"
        )
    whole = labels.dtype.kind != "f" or bool((labels == np.floor(labels)).all())
    if labels.ndim == 2 and 1 in labels.shape:
        return f"write {name}.reshape(-1).astype(int)"
    if labels.ndim == 2:
        binary = bool(np.isin(labels, (0, 1)).all())
        if binary and (labels.sum(axis=1) == 1).all():
            return f"of one-hot rows, write {name}.argmax(axis=1)"
        if binary:
            return f"these are labels of several classes, and {MULTI_LABEL}; {ONE_LABEL}"
        if labels.shape[1] == classes and np.allclose(labels.sum(axis=1), 1):
            return f"of shares of each class, write {name}.argmax(axis=1)"
    if labels.ndim == 1 and whole:
        return f"write {name}.astype(int)"
    if labels.ndim == 1 and np.isnan(labels).any():
        return (
            f"NaN is no class: keep = ~np.isnan({name}), the rows [keep] of all arrays, and "
            f"{name}[keep].astype(int)"
        )
    return last


def _remedy_of_range(name: str, labels: np.ndarray, logits: np.ndarray) -> str:
    """Return the line of code whose labels agree best with the predictions."""
    labels = labels.astype(np.int64)
    classes = logits.shape[1]
    predictions = row_by_row(np.argmax, logits)
    known = (labels >= 0) & (labels < classes)
    every = np.ones(len(labels), bool)
    lines = {
        f"the first class has the number 0: write {name} - 1": (labels - 1, every),
        f"{classes} stands for the class 0: write {name} % {classes}": (
            np.where(labels == classes, 0, labels),
            every,
        ),
        f"the first class has the number 0: write {name} + 1": (labels + 1, every),
    }
    values = np.unique(labels)
    if len(values) == classes:
        lines[
            f"there are {classes} different labels: write np.searchsorted(np.unique({name}), "
            f"{name}), or class_names=np.unique({name}).astype(str) and {name}.astype(str)"
        ] = np.searchsorted(values, labels), every
    others = sorted({*labels[~known].tolist()})
    if known.any() and (len(others) == 1 or {*others} <= NO_LABEL):
        lines[
            f"if {' or '.join(map(str, others))} stands for images without a label, leave the "
            f"{int((~known).sum())} images out: keep = ({name} >= 0) & ({name} < {classes}), and "
            "the rows [keep] of all arrays of these images; if for images of unknown classes, give "
            "these as ood_NAME_logits"
        ] = labels, known
    agreement = {
        # an image that is left out counts half
        line: np.where(kept, changed == predictions, 0.5).mean()
        for line, (changed, kept) in lines.items()
        if ((changed >= 0) & (changed < classes))[kept].all()
    }
    if not agreement:
        return f"the model has {classes} classes; give the logits of all classes of the labels"
    return max(agreement, key=agreement.__getitem__)


def column(arrays: Mapping[str, np.ndarray], name: str, length: int) -> np.ndarray | None:
    """Return the text or group of each image or class; None if the file does not store it.

    >>> column({"class_names": np.array(["cat", "dog" * 1000])}, "class_names", 2)
    Traceback (most recent call last):
        ...
    ValueError: dogdogdogdogdogdogdo…: at most 1,000 characters expected, got 3,000
    """
    if (values := arrays.get(name)) is None:
        return None
    texts = name in ("class_names", "files", "production_files")
    if values.shape != (length,) or values.dtype.kind not in ("U" if texts else "iuU"):
        if missing := sum(item is None or item != item for item in values.ravel().tolist()):
            raise _missing(name, missing, len(values))
        remedy = f"one for each image, np.array([str(value) for value in {name}])"
        raise ValueError(
            f"{name}: {length} {'texts' if texts else 'whole numbers or texts'} expected, got "
            f"{values.dtype} {values.shape}; write "
            + (f"np.array(list_of_{length}, dtype=str)" if texts else remedy)
        )
    if values.dtype.kind == "U" and (missing := int((values == "").sum())):
        raise _missing(name, missing, length)
    if name == "class_names":
        check_lengths(values)
        # a blank at an end of a name is lost in tables that people fill in
        if twice := repeated(np.char.strip(values).tolist()):
            raise ValueError(f"class_names: each once expected, got {', '.join(twice)} twice")
    return values


def _missing(name: str, missing: int, length: int) -> ValueError:
    return ValueError(
        f"{name}: missing for {missing} of {length}; write the values, or leave these out of all "
        "arrays"
    )


def head(arrays: Mapping[str, np.ndarray], validation: Outputs, level: bool) -> Head | None:
    """Return the head, checked on the logits of the first images; None without weights."""
    if "head_weight" not in arrays:
        return None
    classes = validation.num_classes
    width = validation.features.shape[1]
    weight = matrix(arrays, "head_weight", width=width, length=classes)
    bias = matrix({"head_bias": arrays["head_bias"][None]}, "head_bias", width=classes)[0]
    few = slice(0, 256)
    expected = validation.logits[few]
    computed = validation.features[few] @ weight.T + bias
    if not level:  # some probabilities may have underflowed
        expected = softmax(expected, axis=1)
        computed = softmax(computed, axis=1)
    if np.abs(computed - expected).max() > 10 * ROUNDING * max(np.abs(expected).max(), 1):
        raise ValueError(
            "head_weight, head_bias: features @ head_weight.T + head_bias differs from the logits; "
            "give the features that are the inputs of the last layer, or leave the head out"
        )
    return Head(weight, bias)


def without_mark(text: str, names: Iterable[str]) -> str:
    """Return a class in a cell without the mark of `no_formula`, and without outer blanks.

    >>> without_mark(" '-1", []), without_mark("'80s", ["'80s"])
    ('-1', "'80s")
    """
    text = text.strip()
    return text if text in names else text.removeprefix("'").strip()


def no_formula(value):
    """Return a cell of a CSV file that a spreadsheet shows, and does not compute.

    >>> no_formula("=1+1"), no_formula("cat"), no_formula(-1)
    ("'=1+1", 'cat', -1)
    """
    if isinstance(value, str) and value.startswith(_FORMULA) and value != str(NO_CLASS):
        return f"'{value}"
    return value


def row_by_row(choose: Callable[..., np.ndarray], logits: np.ndarray) -> np.ndarray:
    """Return the column that `choose` (argmax, argmin) finds in each row, block by block.

    A single call would copy the whole array that is mapped from a file.
    """
    return np.concatenate([choose(logits[rows], axis=1) for rows in row_blocks(logits.shape)])
