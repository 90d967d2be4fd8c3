"""The audit of one model, before it is deployed.

The input is outputs of any framework, or a network and folders of images.  The report has accuracy,
calibration, a ranking of all scores, a threshold with a guarantee, and a rejector to deploy.
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
    """Import a name at its first use; only `gather` needs torch."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
