"""Outputs of a user's arrays, the public ``known_unknowns.Outputs``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import helpers.outputs
from helpers.checks import label_array, plain_array

_ARRAYS = ("logits", "features", "labels", "members", "native")


class Outputs(helpers.outputs.Outputs):
    """Outputs of a model, refused if a conversion would lose part of them; arrays are read-only.

    Parameters and errors are those of `helpers.outputs.Outputs`; also refused are masked arrays,
    complex numbers, and labels that are no class.

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
        """Return the outputs of a model with only these of its classes, each once."""
        numbers = label_array("classes", plain_array("classes", classes), classes=self.num_classes)
        values, counts = np.unique(numbers, return_counts=True)
        if counts.max() > 1:
            twice = ", ".join(map(str, values[counts > 1]))
            raise ValueError(f"classes: each one once expected, got {twice} more than once")
        return super().restricted(numbers.tolist())
