"""What a model says about the images of each role, and among which classes it answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np

from helpers.checks import known_name
from helpers.data import Images, ImageStream
from helpers.networks.model import Model
from helpers.outputs import Head, Outputs
from helpers.papers.human_centric.roles import ShiftRoles


@dataclass(frozen=True)
class RoleOutputs:
    """What a model says about the images of each role.

    Attributes
    ----------
    head : Head or None
    weights : int
        How many the model has.
    train, test : Outputs
    input_shifted, label_shifted : dict of str to Outputs
        The former of images of known classes alone, the latter of unknown classes alone.
    sources : dict of str to (str, int, ndarray of int64)
        Where the images of each test set come from: from which set of how many images, and which
        of these they are.
    near, beside : tuple of str
        Of `label_shifted`, the sets whose classes are akin to the known ones; and those that count
        in the variant of all far sets alone.
    """

    head: Head | None
    weights: int
    train: Outputs
    test: Outputs
    input_shifted: dict[str, Outputs]
    label_shifted: dict[str, Outputs]
    sources: dict[str, tuple[str, int, np.ndarray]]
    near: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()

    def averaged(self) -> RoleOutputs:
        """Return the same without the sets that count in a variant alone."""
        kept = {name: one for name, one in self.label_shifted.items() if name not in self.beside}
        return replace(self, label_shifted=kept, beside=())

    @property
    def groups(self) -> dict[str, list[str]]:
        """The test sets over which means are taken; near and far ones where there are any near."""
        shifted = {"input-shifted": [*self.input_shifted], "label-shifted": [*self.label_shifted]}
        if self.near:
            far = [name for name in self.label_shifted if name not in self.near]
            shifted |= {"near": [*self.near], "far": far}
        return shifted | {"average": [*self.sets]}

    @property
    def sets(self) -> dict[str, Outputs]:
        """All test sets by name."""
        return {"test": self.test} | self.input_shifted | self.label_shifted


class OwnClasses(Outputs):
    """Outputs whose answer is the most probable of some classes, those that a data set has.

    So it is evaluated what answers an image of ImageNet-R with one of its 200 classes.  Only
    whether an answer is `correct` depends on them.  Logits, probabilities and predictions, which
    scores read, are those of all classes: so are the training images that give the thresholds.

    Examples
    --------
    >>> outputs = Outputs(np.array([[1.0, 9.0, 2.0]]), np.ones((1, 4)), np.array([2]))
    >>> own = OwnClasses.of(outputs, [0, 2])
    >>> own.correct.tolist(), own.predictions.tolist(), outputs.correct.tolist()
    ([True], [1], [False])
    """

    classes: tuple[int, ...]

    @classmethod
    def of(cls, outputs: Outputs, classes: Sequence[int]) -> OwnClasses:
        """Return outputs that answer with one of these classes."""
        own = object.__new__(cls)  # what has been checked is not checked again
        own.__dict__.update({one.name: getattr(outputs, one.name) for one in fields(Outputs)})
        own.__dict__["classes"] = tuple(classes)
        return own

    @cached_property
    def correct(self) -> np.ndarray:
        """Whether the most probable of the classes is the label, bool [N]."""
        values = self.logits if self.members is None else self.probabilities
        classes = np.asarray(self.classes)
        return classes[values[:, classes].argmax(axis=1)] == self.labels

    def subset(self, indices) -> OwnClasses:
        """Return the outputs of some images: an index array, a mask or a slice."""
        return self.of(super().subset(indices), self.classes)


def outputs_with(model: Model, roles: ShiftRoles, class_names: Sequence[str]) -> RoleOutputs:
    """Return what a model says that answers with these of its classes.

    Raises
    ------
    ValueError
        The model does not know one of them, or none of an input-shifted set's.
    """
    for one in class_names:
        known_name(f"class of {model.name}", one, model.class_names)
    columns = [model.class_names.index(one) for one in class_names]
    every = columns == list(range(len(model.class_names)))

    def answer(images: Images | ImageStream) -> Outputs:
        return model.outputs(images) if every else model.outputs(images).restricted(columns)

    sets, sources = {}, {}
    for name, images in roles.sets.items():
        found, known = answer(images), name not in roles.label_shifted
        chosen = np.flatnonzero((found.labels >= 0) == known)
        if known and not len(chosen):
            raise ValueError(f"{name}: '{model.name}' knows none of its classes by name")
        if len(chosen):  # else all of its images are of classes that are known
            sets[name] = _subset(found, chosen)
            if name in roles.own_classes:
                own = [one for one in images.class_names if one in class_names]
                numbers = [class_names.index(one) for one in own]
                sets[name] = OwnClasses.of(sets[name], numbers)
            base, where = roles.drawn_from.get(name, (name, np.arange(len(images))))
            sources[name] = base, len(roles.sets[base]), where[chosen]
    train = answer(roles.train)
    return RoleOutputs(
        model.head.restricted(columns) if model.head and not every else model.head,
        model.parameters,
        _subset(train, np.flatnonzero(train.labels >= 0)),
        sets["test"],
        {name: sets[name] for name in roles.input_shifted},
        {name: sets[name] for name in roles.label_shifted if name in sets},
        sources,
        *(tuple(name for name in own if name in sets) for own in (roles.near, roles.beside)),
    )


def _subset(outputs: Outputs, chosen: np.ndarray) -> Outputs:
    """Return the outputs of some images: no copy of all, which may be mapped from a large file."""
    return outputs if len(chosen) == len(outputs) else outputs.subset(chosen)
