"""Evidence against the validation images: wrong labels, copies, missing classes.

An audit assumes correct labels and independent draws; the report begins with evidence against this.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import log_softmax

from helpers.metrics import auroc
from helpers.outputs import Outputs
from helpers.scores.calibration import row_blocks, softmax
from known_unknowns.auditing.checked import row_by_row
from known_unknowns.auditing.inputs import Inputs
from known_unknowns.auditing.sentences import render
from known_unknowns.auditing.thresholds import share
from known_unknowns.auditing.units import IMAGE
from known_unknowns.guarantees import one_of_each

#: Largest number of classes or images in a sentence.
NAMED = 5
#: Number of parts of a row, to find rows that agree only in a part.
PARTS = 5
#: Decimal digits of a difference of logits that are exact after a softmax in single precision.
DIGITS = 4
#: Standard deviations above chance of a model that is better than chance.
DEVIATIONS = 3
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
#: Largest number of classes for which the best order is computed.
ORDERED = 2_000
_ROWS = ("before", "after", "negated")
#: Share of training images among the validation images that changes no number much.
FEW = 0.01
#: Doubts that make the numbers and guarantees of an audit invalid.
INVALID = {"learnt", "shifted", "negated", "renumbered", "reordered"}


class Doubt(NamedTuple):
    """A probable problem: name, consequence for the report, and what to do."""

    name: str
    sentence: str
    advice: str

    def __str__(self) -> str:
        return f"{self.sentence} {self.advice}"


def _doubt(name: str, unit: str, **numbers) -> Doubt:
    return Doubt(name, *render(name, unit, **numbers))


def find_doubts(inputs: Inputs) -> tuple[Doubt, ...]:
    """Return the evidence against the validation images, the worst first.

    The images of a group are similar, so labels and copies are of one random image of each.
    """
    part = inputs.validation
    absent = np.flatnonzero(np.bincount(part.labels, minlength=part.num_classes) == 0)
    if inputs.groups is not None:
        order = np.random.default_rng(0).permutation(len(part))
        kept = np.sort(order[one_of_each(len(part), inputs.groups_of(order))])
        part = part.subset(kept)
        files = tuple(inputs.files[place] for place in kept) if inputs.files else ()
        inputs = replace(inputs, validation=part, files=files, groups=None, strata=None)
    found = [*_of_labels(part, inputs.unit), *_of_copies(inputs)]
    if len(absent):
        named = _named([inputs.class_names[number] for number in absent])
        found.append(
            _doubt("absent", inputs.unit, count=len(absent), classes=part.num_classes, named=named)
        )
    return tuple(found)


def _named(names: Sequence[str]) -> str:
    """Return the first names in a list of words."""
    return ", ".join(names[:NAMED]) + (", …" if len(names) > NAMED else "")


def doubt_share(least: float, stated: float, unit: str = IMAGE) -> tuple[Doubt, ...]:
    """Return the evidence against a stated share of unknown images; empty without a share."""
    return (_doubt("share", unit, least=least, stated=stated),) if 0 < stated < least else ()


def _of_labels(part: Outputs, unit: str) -> Iterator[Doubt]:
    """Yield probable mistakes in the order of labels and logits, from the model's errors."""
    right = part.correct.mean()
    answers = part.predictions
    labels = part.labels
    classes = part.num_classes
    # a search on the first half of the images is tested on the second half
    first, second = np.array_split(np.random.default_rng(0).permutation(len(part)), 2)
    step = int(np.bincount((answers - labels)[first] % classes).argmax())
    order = _best_order(answers[first], labels[first], classes)
    # from the simplest explanation to the most flexible, which must be clearly better;
    # the first row and the last row lack a neighbour on one side
    hits = {
        "right": part.correct,
        "before": answers[1:] == labels[:-1],
        "after": answers[:-1] == labels[1:],
        "negated": row_by_row(np.argmin, part.logits) == labels,
        "renumbered": (answers == (labels + step) % classes)[second],
        "reordered": (answers == order[labels])[second],
    }
    way = "right"
    for name in hits:
        if share(hits[name])[1] > share(hits[way])[2]:
            way = name
    fits = hits[way].mean()
    clear = way != "right" and share(hits[way])[1] > np.bincount(labels).max() / len(part)
    # for a poor model, too, some numbering fits better than all others, but not by this much
    if clear and (way in _ROWS or 1 - fits <= (1 - right) / 2):
        labelled = np.unique(labels)
        yield _doubt(
            "shifted" if way in ("before", "after") else way,
            unit,
            way=way,
            fits=fits,
            right_now=right,
            classes=classes,
            step=step if step <= classes / 2 else step - classes,
            labels=(labelled[0], labelled[-1]),
            moved=[(label, order[label]) for label in labelled if order[label] != label],
        )
    if _is_chance(part):
        present = np.count_nonzero(np.bincount(labels))
        yield _doubt("chance", unit, balanced=_recalls(part).mean(), one_answer=1 / present)


def _recalls(part: Outputs) -> np.ndarray:
    """Return the share of correct answers for each class that has an image."""
    images = np.bincount(part.labels)
    correct = np.bincount(part.labels[part.correct], minlength=len(images))
    return correct[images > 0] / images[images > 0]


def _is_chance(part: Outputs) -> bool:
    """Return whether the answers and the probabilities do not depend on the class.

    We compare the mean recall of the classes, and the mean AUROC of each class against all other
    classes by its probability, with the values of answers that are independent of the labels.
    Unlike the accuracy, both do not depend on the mixture of the classes.
    """
    images = np.bincount(part.labels, minlength=part.num_classes)
    present = np.flatnonzero(images)
    if len(present) == 1:
        return not part.correct.any()
    named = np.bincount(part.predictions, minlength=part.num_classes)[present] / len(part)
    noise = np.sqrt((named * (1 - named) / images[present]).sum())
    if _recalls(part).sum() - named.sum() > DEVIATIONS * noise:
        return False
    logarithms = log_softmax(part.logits, axis=1)
    areas = []
    noises = []
    for label in present:
        among = part.labels == label
        areas.append(auroc(logarithms[among, label], logarithms[~among, label]))
        pairs = images[label] * (len(part) - images[label])
        noises.append(np.sqrt((len(part) + 1) / (12 * pairs)))
    return np.mean(areas) - 0.5 <= DEVIATIONS * np.mean(noises)


def _best_order(answers: np.ndarray, labels: np.ndarray, classes: int) -> np.ndarray:
    """Return the class of each label that makes most answers correct, every class once."""
    if classes > ORDERED:
        return np.arange(classes)
    pairs = np.bincount(labels * classes + answers, minlength=classes**2)
    return linear_sum_assignment(pairs.reshape(classes, classes), maximize=True)[1]


def _of_copies(inputs: Inputs) -> Iterator[Doubt]:
    """Yield copies among the validation images and from the training images.

    Equal outputs are not equal images: rounded probabilities and trees give many images one output.
    Then, however, many different rows agree in a part of the numbers, and without features, equal
    rows have different labels.  Equal outputs are evidence if they outnumber such rows, or if the
    names are equal, too.
    Boosted trees give few values, too, which the sum in the softmax hides in each probability; the
    differences of neighbouring logits show them.
    """
    part = inputs.validation
    parts = [part] if inputs.train is None else [part, inputs.train]
    digests = _digests(parts)
    whole, learnt = np.split(digests[:, 0], [len(part)])
    _, first, which = np.unique(whole, return_index=True, return_inverse=True)
    again = first[which] != np.arange(len(part))
    repeated = {"copies": again, "learnt": np.isin(whole, learnt)}
    if not any(equal.any() for equal in repeated.values()):
        return
    crowded = _crowded(digests)[: len(part)]
    if not part.features.shape[1]:
        crowded |= _few_differences(parts, digests[:, 0])[: len(part)]
        other_label = part.labels != part.labels[first[which]]
        crowded |= np.isin(which, which[other_label])
    named_twice = np.zeros(len(part), bool)
    if inputs.files:
        names = np.array(inputs.files)
        named_twice = again & (names == names[first[which]])
    for name, equal in repeated.items():
        clear = equal & ~crowded
        if clear.sum() <= crowded.sum():
            clear = np.zeros(len(part), bool)
        if name == "copies":
            clear |= named_twice
        rows = np.flatnonzero(clear)
        if name == "learnt" and len(rows) < FEW * len(part):
            name = "few_learnt"
        if len(rows):
            if inputs.files:
                named = _named([inputs.files[row] for row in rows])
            else:
                named = f"rows {_named([str(row) for row in rows])}"
            yield _doubt(
                name,
                inputs.unit,
                count=len(rows),
                images=len(part),
                named=named,
                what="features and logits" if part.features.shape[1] else "logits",
            )


def _digests(parts: Sequence[Outputs]) -> np.ndarray:
    """Return digests of each row, and of each fifth of its numbers, uint64 [N, 1 + PARTS].

    Columns with one value do not count.  With fewer than `PARTS` other columns, some part is empty,
    and all rows agree in it.
    """
    varying = [_varies(parts[0].logits), _varies(parts[0].features)]
    fifths = np.concatenate([np.arange(columns.sum()) % PARTS for columns in varying])
    # random factors of mixed bits: two rows that differ have one digest with probability 2 ** -64
    factors = np.random.default_rng(0).integers(2**63, size=len(fifths), dtype=np.uint64) * 2 + 1
    digests = []
    for part in parts:
        for rows in row_blocks((len(part), max(1, len(fifths)))):
            arrays = part.logits[rows], part.features[rows]
            numbers = [each[:, columns] for each, columns in zip(arrays, varying, strict=True)]
            bits = np.hstack(numbers).astype(np.float32, copy=False).view(np.uint32)
            mixed = bits.astype(np.uint64) * _GOLDEN
            mixed ^= mixed >> np.uint64(29)
            mixed *= factors
            mixed ^= mixed >> np.uint64(32)
            sums = [mixed[:, fifths == fifth].sum(axis=1) for fifth in range(PARTS)]
            digests.append(np.transpose([sum(sums), *sums]))
    return np.concatenate(digests)


def _varies(values: np.ndarray) -> np.ndarray:
    """Return whether each column has different values."""
    return np.array([(column != column[0]).any() for column in values.T], bool)


def _crowded(digests: np.ndarray) -> np.ndarray:
    """Return whether another row, which is not equal, has a part in common with each row."""
    _, first, inverse = np.unique(digests[:, 0], return_index=True, return_inverse=True)
    # constant outputs are no evidence
    crowded = np.full(len(first), len(first) == 1)
    for values in digests[first].T[1:]:
        _, which, count = np.unique(values, return_inverse=True, return_counts=True)
        crowded |= count[which] > 1
    return crowded[inverse]


def _few_differences(parts: Sequence[Outputs], digests: np.ndarray) -> np.ndarray:
    """Return whether other rows share half of the differences of neighbouring logits of a row."""
    logits = np.concatenate([part.logits for part in parts])
    _, first, inverse = np.unique(digests, return_index=True, return_inverse=True)
    distinct = logits[first]
    shared = np.zeros(len(distinct))
    for before, after in zip(distinct.T, distinct.T[1:], strict=False):
        differences = np.subtract(after, before, dtype=np.float64).round(DIGITS)
        _, which, count = np.unique(differences, return_inverse=True, return_counts=True)
        shared += count[which] > 1
    return (2 * shared >= logits.shape[1] - 1)[inverse]


def likely_label_errors(outputs: Outputs, temperature: float = 1.0) -> np.ndarray:
    """Return the indices of images with probably incorrect labels, the most probable first.

    Confident learning (Northcutt, Jiang and Chuang 2021): a class is likely for an image if its
    probability reaches the mean over images with that label.  A label is suspected if another
    likely class is the most probable one and more probable than the label.

    >>> labels = np.array([0] * 50 + [1] * 50)
    >>> logits = 4 * np.eye(2)[labels]
    >>> labels[7] = 1
    >>> likely_label_errors(Outputs(logits, np.empty((100, 0)), labels))
    array([7])
    """
    labels = outputs.labels
    classes = outputs.num_classes
    blocks = row_blocks(outputs.logits.shape)
    of_label = np.empty(len(outputs))
    lead = np.empty(len(outputs))
    for rows in blocks:
        probabilities = softmax(outputs.logits[rows], temperature)
        of_label[rows] = probabilities[np.arange(len(probabilities)), labels[rows]]
    counts = np.bincount(labels, minlength=classes)
    least = np.full(classes, np.inf)  # a class without a label is never likely
    np.divide(np.bincount(labels, of_label, classes), counts, out=least, where=counts > 0)
    for rows in blocks:
        probabilities = softmax(outputs.logits[rows], temperature)
        # a tie is not broken by a rounding error
        likely = np.where(probabilities >= least * (1 - 1e-9), probabilities, -np.inf)
        other = likely.argmax(axis=1)
        lead[rows] = np.where(other == labels[rows], -np.inf, likely.max(axis=1) - of_label[rows])
    suspected = np.flatnonzero(lead > 0)
    return suspected[np.argsort(-lead[suspected], kind="stable")]
