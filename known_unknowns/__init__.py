"""What is public of Known Unknowns, by names that stay.

>>> import numpy as np
>>> import known_unknowns as ku
>>> labels = np.arange(400) % 4
>>> logits = 4 * np.eye(4)[labels] + np.random.default_rng(0).normal(size=(400, 4))
>>> validation = ku.Outputs(logits, np.empty((400, 0)), labels)
>>> found = ku.audit(ku.Inputs("a toy", validation, class_names=tuple("abcd")))
>>> found.rejector.accepts(logits[:3])
array([ True,  True,  True])
>>> ku.metrics.auroc([0.9, 0.8], [0.1, 0.2])
1.0

An audit is written to a folder by ``found.save(folder)``, and read from a file by
``ku.audit(ku.read_outputs(file))``; ``known-unknowns`` is the same as a command.  Nothing here
needs torch, and nothing is imported before it is asked for.
"""

from __future__ import annotations

import importlib

from helpers import __version__

_PLACES = {
    "Audit": "known_unknowns.auditing",
    "Inputs": "known_unknowns.auditing",
    "RejectingClassifier": "known_unknowns.auditing.estimator",
    "Rejector": "known_unknowns.auditing",
    "audit": "known_unknowns.auditing",
    "compare": "known_unknowns.auditing.comparison",
    "export_onnx": "known_unknowns.auditing.export",
    "read_outputs": "known_unknowns.auditing",
    "Head": "helpers.outputs",
    "Outputs": "known_unknowns.auditing.given",
    "Score": "helpers.scores",
    "create": "helpers.scores",
    "names": "helpers.scores",
}
_ROOMS = ("metrics", "scores")

__all__ = ["__version__", *sorted({*_PLACES, *_ROOMS} - {"RejectingClassifier"})]
"""All that a bare installation has; `RejectingClassifier` takes scikit-learn."""


def __getattr__(name: str):
    """Import what is asked for."""
    if name in _ROOMS:
        found = importlib.import_module(f"helpers.{name}")
    elif name in _PLACES:
        found = getattr(importlib.import_module(_PLACES[name]), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found  # for the next time
    return found
