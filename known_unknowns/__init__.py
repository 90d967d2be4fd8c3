"""The public names of Known Unknowns, which stay.

>>> import numpy as np
>>> import known_unknowns as ku
>>> labels = np.arange(400) % 4
>>> logits = 4 * np.eye(4)[labels] + np.random.default_rng(0).normal(size=(400, 4))
>>> validation = ku.Outputs(logits, np.empty((400, 0)), labels)
>>> audited = ku.audit(ku.Inputs("a toy", validation, class_names=tuple("abcd")))
>>> audited.rejector.accepts(logits[:3])
array([ True,  True,  True])
>>> ku.metrics.auroc([0.9, 0.8], [0.1, 0.2])
1.0

An audit is written to a folder by ``audited.save(folder)``, and read from a file by
``ku.audit(ku.read_outputs(file))``; ``known-unknowns`` is the same as a command.  Nothing here
needs torch, and nothing is imported before it is asked for.
"""

from __future__ import annotations

import importlib

from helpers import __version__

_PLACES = {
    "Audit": "known_unknowns.auditing.auditing",
    "Inputs": "known_unknowns.auditing.inputs",
    "Rejector": "known_unknowns.auditing",
    "audit": "known_unknowns.auditing",
    "compare": "known_unknowns.auditing.comparison",
    "read_outputs": "known_unknowns.auditing",
    "Head": "helpers.outputs",
    "Outputs": "known_unknowns.auditing.given",
    "Score": "helpers.scores",
    "create": "helpers.scores",
    "names": "helpers.scores",
}
_ROOMS = ("metrics", "scores")

__all__ = ["__version__", *sorted({*_PLACES, *_ROOMS})]


def __getattr__(name: str):
    """Import a name when it is asked for."""
    if name in _ROOMS:
        value = importlib.import_module(f"helpers.{name}")
    elif name in _PLACES:
        value = getattr(importlib.import_module(_PLACES[name]), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value  # for the next time
    return value
