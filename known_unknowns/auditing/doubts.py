"""What speaks against the validation images themselves, found without being asked.

An audit believes its labels, and takes its images for independent draws from what the model will
meet.  Where the arrays say otherwise it is the first thing to be read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from helpers.outputs import Outputs
from known_unknowns.auditing import near_copies
from known_unknowns.auditing.checked import row_by_row
from known_unknowns.auditing.inputs import Inputs
from known_unknowns.auditing.thresholds import share

NAMED = 5
"""Classes and images that are named, of those that a doubt is about."""
ORDERED = 2_000
"""Classes, at the most, whose best order is looked for."""
_ROWS = ("before", "after", "negated")


@dataclass(frozen=True)
class Doubt:
    """One thing that is probably wrong: what, what it does to the report, and what to do."""

    name: str
    sentence: str
    advice: str

    def __str__(self) -> str:
        return f"{self.sentence} {self.advice}"


def find_doubts(inputs: Inputs) -> tuple[Doubt, ...]:
    """Return what speaks against the validation images, the worst first.

    Examples
    --------
    >>> labels = np.arange(100) % 2
    >>> logits = np.eye(2)[labels] + np.arange(100)[:, None] / 1000
    >>> good = Outputs(logits, np.empty((100, 0)), labels)
    >>> find_doubts(Inputs("a toy", good, ("ant", "bee")))
    ()
    >>> bad = Outputs(logits, np.empty((100, 0)), 1 - labels)
    >>> [one.name for one in find_doubts(Inputs("a toy", bad, ("ant", "bee")))]
    ['shifted', 'chance']
    """
    return (*_of_labels(inputs.validation), *_of_copies(inputs), *_of_classes(inputs))


def doubt_share(least: float, stated: float) -> tuple[Doubt, ...]:
    """Return what speaks against a stated share of unknown images; nothing without one.

    Examples
    --------
    >>> doubt_share(0.1, 0.2), len(doubt_share(0.1, 0.05)), doubt_share(0.1, 0)
    ((), 1, ())
    """
    if not 0 < stated < least:
        return ()
    return (
        Doubt(
            "share",
            f"At least {100 * least:.1f} % of the unlabelled images are unlike the validation "
            f"images, and the promise reckons with {100 * stated:g} % of unknown ones.",
            "State a larger share, and audit again.",
        ),
    )


def _of_labels(part: Outputs) -> Iterator[Doubt]:
    """Yield what the model's errors say about how its answers were written down."""
    right, low = share(part.correct)[:2]
    answers, labels, classes = part.predictions, part.labels, part.num_classes
    # what is searched for in the first half of the images is tested on the second
    first, second = np.array_split(np.random.default_rng(0).permutation(len(part)), 2)
    step = int(np.bincount((answers - labels)[first] % classes).argmax())
    order = _best_order(answers[first], labels[first], classes)
    # from the simplest explanation to the most flexible, which has to be clearly better;
    # the first and the last row have no neighbour on one side
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
    most = np.bincount(labels).max() / len(part)
    fits = hits[way].mean()
    # of a poor model, too, some numbering fits better than the others, but not that much better
    if share(hits[way])[1] > most and (way in _ROWS or 1 - fits <= (1 - right) / 2):
        yield from _of_writing(part, way, 100 * fits, step, order)
    if low <= most:
        yield Doubt(
            "chance",
            f"The model is hardly better than always naming the most frequent class, which is right"
            f" on {100 * most:.1f} % of these images; it is right on {100 * right:.1f} %.",
            "See whether the labels count the classes in the order of the logits; if they do, do "
            "not deploy this model.",
        )


def _of_writing(
    part: Outputs, way: str, fits: float, step: int, order: np.ndarray
) -> Iterator[Doubt]:
    """Yield how logits and labels were probably written down; nothing if they are right."""
    right, labels, classes = 100 * part.correct.mean(), part.labels, part.num_classes
    again = "and audit again: nothing below is true."
    would = f"{fits:.1f} % of the answers would be right, and {right:.1f} % are now."
    if way in ("before", "after"):
        yield Doubt(
            "shifted",
            f"The labels are probably shifted by a row: {fits:.1f} % of the answers fit the label "
            f"of the row {way} their own, and {right:.1f} % that of their own.",
            f"Write logits and labels in one loop, {again}",
        )
    elif way == "negated":
        yield Doubt(
            way,
            "The logits probably have the wrong sign"
            + (", or the two labels are swapped" if classes == 2 else "")
            + f": the smallest one is that of the label in {fits:.1f} % of the images, the largest "
            f"in {right:.1f} %.",
            "Give the logits with the sign that the softmax takes"
            + (", or the labels 1 - labels" if classes == 2 else "")
            + ", and audit again.",
        )
    elif way == "renumbered":
        step -= classes * (step > classes / 2)
        new = f"label {'-' if step < 0 else '+'} {abs(step)}"
        if not 0 <= labels.min() + step <= labels.max() + step < classes:
            new = f"({new}) % {classes}"
        by = "one" if abs(step) == 1 else abs(step)
        yield Doubt(
            way,
            f"The labels are probably shifted by {by}: with {new}, {would}",
            "Count the classes as the logits do, a background class included if there is one, "
            f"{again}",
        )
    elif way == "reordered":
        moved = [number for number in np.unique(labels) if order[number] != number]
        named = [f"{number} is logit {order[number]}" for number in moved[:NAMED]]
        yield Doubt(
            way,
            f"The labels probably count the classes in another order than the logits: if label "
            f"{', '.join(named)}{', …' * (len(moved) > NAMED)}, {would}",
            "Sort the classes of the labels as the model was trained with them, which is often the "
            f"order of its training folders, {again}",
        )


def _best_order(answers: np.ndarray, labels: np.ndarray, classes: int) -> np.ndarray:
    """Return for each label the class that makes most answers right, every class once."""
    if classes > ORDERED:
        return np.arange(classes)
    pairs = np.bincount(labels * classes + answers, minlength=classes**2)
    return linear_sum_assignment(pairs.reshape(classes, classes), maximize=True)[1]


def _of_copies(inputs: Inputs) -> Iterator[Doubt]:
    """Yield which images are not drawn independently, or have been learnt from."""
    seen: dict[bytes, int] = {}
    own = digests(inputs.validation)
    learnt = set() if inputs.train is None else set(digests(inputs.train))
    copies = [place for place, one in enumerate(own) if seen.setdefault(one, place) != place]
    what = "features and logits" if inputs.validation.features.shape[1] else "logits"
    if copies:
        yield Doubt(
            "copies",
            f"{len(copies)} of {len(own)} validation images are copies of others: their {what} are"
            f" equal to the last bit ({_named(inputs, copies)}). The promises below take every "
            "image for a draw of its own, and are too bold.",
            "Leave copies out, or give all images of one scene, patient or video the same number "
            "in `groups`: a group is then counted once.",
        )
    common = [place for place, one in enumerate(own) if one in learnt]
    if common:
        yield Doubt(
            "learnt",
            f"{len(common)} of {len(own)} validation images are among the training images: "
            f"their {what} are equal to the last bit ({_named(inputs, common)}). What the model"
            " has learnt from makes it look better than it is, and no promise holds.",
            "Leave them out of the validation images, and audit again.",
        )
    # of those that are equal to the last bit, which has been said, the first alone
    single = np.array(sorted({*range(len(own))} - {*copies} - {*common}), int)
    yield from _of_near_copies(inputs, single)


def _of_near_copies(inputs: Inputs, places: np.ndarray) -> Iterator[Doubt]:
    """Yield which of these images are nearly others of them, or training images."""
    part, train = inputs.validation, inputs.train
    count = len(part)
    if len(places) > near_copies.MOST:
        places, count = _drawn(places), near_copies.MOST
    features, labels = part.features[places], part.labels[places]
    ordinary = "far nearer to each other in the features than images of one class are"
    near = places[near_copies.find_near_copies(features, labels)[0]]
    if len(near):
        yield Doubt(
            "near_copies",
            f"{len(near)} of {count} validation images are nearly copies of others: {ordinary} "
            f"({_named(inputs, near)}). The promises below take every image for a draw of its own, "
            "and are too bold.",
            "Look at them. If they show one scene, patient or video, give them the same number in "
            "`groups`: a group is then counted once.",
        )
    if train is None:
        return
    learnt = slice(None)
    if len(train) > near_copies.MOST:
        learnt = _drawn(np.arange(len(train)))
    others = train.features[learnt], train.labels[learnt]
    near = places[near_copies.find_near_copies(features, labels, *others)[0]]
    if len(near):
        yield Doubt(
            "near_learnt",
            f"{len(near)} of {count} validation images are nearly copies of training images: "
            f"{ordinary} ({_named(inputs, near)}). What the model has nearly learnt from makes it "
            "look better than it is, and no promise holds.",
            "Look at them. If they show what training images show, leave them out of the "
            "validation images, and audit again.",
        )


def _drawn(places: np.ndarray) -> np.ndarray:
    """Return as many of some places as are compared, drawn by chance and in their order."""
    return np.sort(np.random.default_rng(0).choice(places, near_copies.MOST, replace=False))


def _of_classes(inputs: Inputs) -> Iterator[Doubt]:
    counts = np.bincount(inputs.validation.labels, minlength=inputs.validation.num_classes)
    absent = np.flatnonzero(counts == 0)
    if len(absent):
        names = ", ".join(inputs.class_names[one] for one in absent[:NAMED])
        yield Doubt(
            "absent",
            f"{len(absent)} of {len(counts)} classes have no validation image: {names}"
            + (", …" if len(absent) > NAMED else "")
            + ". Nothing is said of them, and an answer that names one is never right here.",
            "Bring images of every class that the model will meet, in the shares in which it will.",
        )


def digests(outputs: Outputs) -> list[bytes]:
    """Return for each image a digest of its logits and features, which copies have in common."""
    return [
        hashlib.blake2b(logits.tobytes() + features.tobytes(), digest_size=16).digest()
        for logits, features in zip(outputs.logits, outputs.features, strict=True)
    ]


def _named(inputs: Inputs, places: Sequence[int]) -> str:
    names = [inputs.files[place] if inputs.files else str(place) for place in places[:NAMED]]
    return (
        ("rows " if not inputs.files else "")
        + ", ".join(names)
        + (", …" if len(places) > NAMED else "")
    )
