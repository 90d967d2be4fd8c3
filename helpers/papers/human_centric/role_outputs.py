"""Outputs of a network on the images of each role, with all or some of its classes."""

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
    """Outputs of a network on the images of each role.

    `input_shifted` holds only known classes, `label_shifted` only unknown ones.  `sources` names,
    for each test set, the set that its images come from, the size of that set, and their indices in
    it. `near` and `beside` are label-shifted sets with classes like the known ones, and of a
    variant.
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
        """Return the outputs without the sets of the variant `every far set`."""
        kept = {name: one for name, one in self.label_shifted.items() if name not in self.beside}
        return replace(self, label_shifted=kept, beside=())

    @property
    def groups(self) -> dict[str, list[str]]:
        """The test sets over which means are computed."""
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
    """Outputs whose prediction is the most probable class of a data set's own classes.

    Only `correct` depends on these classes, as in the evaluation on ImageNet-R.  Scores read
    logits, probabilities and predictions of all classes.

    >>> outputs = Outputs(np.array([[1.0, 9.0, 2.0]]), np.ones((1, 4)), np.array([2]))
    >>> own = OwnClasses.of(outputs, [0, 2])
    >>> own.correct.tolist(), own.predictions.tolist(), outputs.correct.tolist()
    ([True], [1], [False])
    """

    classes: tuple[int, ...]

    @classmethod
    def of(cls, outputs: Outputs, classes: Sequence[int]) -> OwnClasses:
        """Return outputs whose predictions are among these classes."""
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
    """Return the outputs of a network that predicts only these of its classes."""
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
    """Return the outputs of some images; without a copy, if these are all images."""
    return outputs if len(chosen) == len(outputs) else outputs.subset(chosen)
