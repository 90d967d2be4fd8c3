"""Outputs of arrays that somebody hands in, the public ``known_unknowns.Outputs``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import helpers.outputs
from helpers.checks import label_array, plain_array

_ARRAYS = ("logits", "features", "labels", "members", "native")


class Outputs(helpers.outputs.Outputs):
    """What a model says about one data set, refused where a conversion would lose part of it.

    Parameters
    ----------
    logits, features, labels, members, native : array_like
        As of `helpers.outputs.Outputs`, which keeps what the project itself has computed.  They
        are not copied where their type fits, and can be read but not written through this object.

    Raises
    ------
    ValueError
        As `helpers.outputs.Outputs`, and for masked arrays, complex or other numbers that single
        precision does not stand for, and labels that are no class before they become int64.

    Examples
    --------
    >>> import numpy as np
    >>> Outputs(np.ones((1, 2)) * 1j, np.empty((1, 0)), [0])
    Traceback (most recent call last):
        ...
    ValueError: logits: real numbers expected, got dtype complex128
    """

    def __post_init__(self):
        for name in ("logits", "features", "members", "native"):
            if (values := getattr(self, name)) is not None:
                array = plain_array(name, values)
                if array.dtype.kind not in "biuf":
                    raise ValueError(f"{name}: real numbers expected, got dtype {array.dtype}")
                object.__setattr__(self, name, array)
        labels = plain_array("labels", self.labels)
        if self.logits.ndim == 2:  # else the logits are what is wrong
            label_array("labels", labels, classes=self.logits.shape[1], unknown=True)
        object.__setattr__(self, "labels", labels)
        super().__post_init__()
        for name in _ARRAYS:  # what is fitted once serves several scores, so nothing may move
            if getattr(self, name) is not None:
                view = getattr(self, name).view()
                view.flags.writeable = False
                object.__setattr__(self, name, view)

    def restricted(self, classes: Sequence[int]) -> helpers.outputs.Outputs:
        """Return the outputs of a model that knows only these of its classes, in this order.

        Raises
        ------
        ValueError
            No class, one that the model has not or one that is named twice; outputs with members.

        Examples
        --------
        >>> import numpy as np
        >>> Outputs(np.eye(3), np.empty((3, 0)), [0, 1, 2]).restricted([2, 2])
        Traceback (most recent call last):
            ...
        ValueError: classes: each one once expected, got 2 more than once
        """
        numbers = label_array("classes", plain_array("classes", classes), classes=self.num_classes)
        values, counts = np.unique(numbers, return_counts=True)
        if counts.max() > 1:
            twice = ", ".join(map(str, values[counts > 1]))
            raise ValueError(f"classes: each one once expected, got {twice} more than once")
        return super().restricted(numbers.tolist())
