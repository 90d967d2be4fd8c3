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
    "Audit": "audit",
    "Inputs": "audit",
    "RejectingClassifier": "audit.estimator",
    "Rejector": "audit",
    "audit": "audit",
    "compare": "audit.comparison",
    "export_onnx": "audit.export",
    "read_outputs": "audit",
    "Head": "outputs",
    "Outputs": "audit.given",
    "Score": "scores",
    "create": "scores",
    "names": "scores",
}
_ROOMS = ("metrics", "scores")

__all__ = ["__version__", *sorted({*_PLACES, *_ROOMS} - {"RejectingClassifier"})]
"""All that a bare installation has; `RejectingClassifier` takes scikit-learn."""


def __getattr__(name: str):
    """Import what is asked for."""
    if name in _ROOMS:
        found = importlib.import_module(f"helpers.{name}")
    elif name in _PLACES:
        found = getattr(importlib.import_module(f"helpers.{_PLACES[name]}"), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found  # for the next time
    return found
