"""The public names of Known Unknowns, which are stable.

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

``audited.save(folder)`` writes the report; ``ku.audit(ku.read_outputs(file))`` audits a file, as
the command ``known-unknowns`` does.  No name needs torch, and each is imported at its first use.
"""

from __future__ import annotations

import importlib

from helpers import __version__

_MODULES = {
    "Audit": "known_unknowns.auditing.auditing",
    "Inputs": "known_unknowns.auditing.inputs",
    "Rejector": "known_unknowns.auditing",
    "audit": "known_unknowns.auditing",
    "read_outputs": "known_unknowns.auditing",
    "Head": "helpers.outputs",
    "Outputs": "known_unknowns.auditing.checked",
    "Score": "helpers.scores",
    "create": "helpers.scores",
    "names": "helpers.scores",
}
_PACKAGES = ("metrics", "scores")

__all__ = ["__version__", *sorted({*_MODULES, *_PACKAGES})]


def __getattr__(name: str):
    """Import a name at its first use."""
    if name in _PACKAGES:
        return importlib.import_module(f"helpers.{name}")
    if name in _MODULES:
        return getattr(importlib.import_module(_MODULES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
