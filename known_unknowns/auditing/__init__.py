"""The audit of one model: what a person needs who wants to deploy it.

Outputs of any framework, or a network and folders of images, become a report: accuracy and
calibration, every score that applies ranked, a threshold with a promise, what unlabelled images
say, and a rejector to deploy.

>>> import numpy as np
>>> from known_unknowns.auditing import Inputs, audit
>>> from helpers.outputs import Outputs
>>> labels = np.arange(400) % 4
>>> logits = 4 * np.eye(4)[labels] + np.random.default_rng(0).normal(size=(400, 4))
>>> validation = Outputs(logits, np.empty((400, 0)), labels)
>>> audited = audit(Inputs("a toy", validation, class_names=tuple("abcd")))
>>> audited.deployed, audited.rejector.accepts(logits[:3])
('risk', array([ True,  True,  True]))
"""

import importlib

_MODULES = {
    "Audit": "auditing",
    "Inputs": "inputs",
    "Rejector": "rejector",
    "audit": "auditing",
    "gather": "networks",
    "read_outputs": "inputs",
}
__all__ = [*_MODULES]


def __getattr__(name: str):
    """Import when something is asked for; only `gather` needs torch."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value  # for the next time
    return value
