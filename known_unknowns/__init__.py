"""Names that are stable: `audit`, `Rejector`, `bench`, `check_score`, `metrics` and `Outputs`.

>>> import numpy as np
>>> import known_unknowns
>>> labels = np.arange(400) % 4
>>> logits = 4 * np.eye(4)[labels] + np.random.default_rng(0).normal(size=(400, 4))
>>> audited = known_unknowns.audit({"logits": logits, "labels": labels})
>>> audited.rejector.accepts(logits[:3])
array([ True,  True,  True])

``audited.save(folder)`` writes the report and the rejector, as the command ``known-unknowns audit``
does.  No name needs torch, and each is imported at its first use.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING

from helpers import __version__ as __version__

if TYPE_CHECKING:
    from helpers import metrics as metrics
    from helpers.outputs import Outputs as Outputs
    from known_unknowns.auditing.auditing import audit as audit
    from known_unknowns.auditing.rejector import Rejector as Rejector
    from known_unknowns.bench import bench as bench
    from known_unknowns.checks import check_score as check_score

# Style of all figures, a file of matplotlib.
LOOK = Path(__file__).with_name("look.mplstyle")

_MODULES = {
    "Outputs": "known_unknowns.scores",
    "Rejector": "known_unknowns.auditing",
    "audit": "known_unknowns.auditing",
    "check_score": "known_unknowns.checks",
}
_PACKAGES = {"bench": "known_unknowns.bench", "metrics": "helpers.metrics"}
__all__ = ["Outputs", "Rejector", "audit", "bench", "check_score", "metrics"]


if not TYPE_CHECKING:  # a wrong name is then an error for a type checker

    def __getattr__(name):
        """Import a name at its first use."""
        if name in _PACKAGES:
            return importlib.import_module(_PACKAGES[name])
        if name in _MODULES:
            return getattr(importlib.import_module(_MODULES[name]), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
