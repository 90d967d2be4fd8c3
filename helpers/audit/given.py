"""Outputs of arrays that somebody hands in, the public ``known_unknowns.Outputs``."""

from __future__ import annotations

import helpers.outputs
from helpers.checks import label_array, plain_array


class Outputs(helpers.outputs.Outputs):
    """What a model says about one data set, refused where a conversion would lose part of it.

    Parameters
    ----------
    logits, features, labels, members, native : array_like
        As of `helpers.outputs.Outputs`, which keeps what the project itself has computed.

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
