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
>>> found = audit(Inputs("a toy", validation, class_names=tuple("abcd")))
>>> found.deployed, found.rejector.accepts(logits[:3])
('risk', array([ True,  True,  True]))
"""

__all__ = [
    "LEAST",
    "TREATED",
    "WISHES",
    "Audit",
    "Inputs",
    "Prediction",
    "Rejector",
    "Threshold",
    "audit",
    "check_promises",
    "example",
    "gather",
    "images_of",
    "open_network",
    "predict",
    "promises_table",
    "read_outputs",
    "show_images",
    "words",
]

_SHOWS_IMAGES = (
    "check_promises", "example", "gather", "images_of", "open_network", "promises_table",
    "show_images",
)  # fmt: skip


def __getattr__(name: str):
    """Import when something is asked for: who only reads the parameters waits for nothing.

    What shows images to networks needs torch, and is imported together; all else does without.
    """
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in _SHOWS_IMAGES:
        from known_unknowns.auditing.example import example
        from known_unknowns.auditing.folders import images_of
        from known_unknowns.auditing.networks import open_network, show_images
        from known_unknowns.auditing.promises import check_promises, promises_table
        from known_unknowns.auditing.sources import gather
    else:
        import known_unknowns.auditing.words as words  # no "from", which would ask here again
        from known_unknowns.auditing.auditing import audit
        from known_unknowns.auditing.inputs import LEAST, TREATED, Inputs, read_outputs
        from known_unknowns.auditing.prediction import Prediction, predict
        from known_unknowns.auditing.rejector import Rejector
        from known_unknowns.auditing.report import Audit
        from known_unknowns.auditing.thresholds import WISHES, Threshold

    found = {one: value for one, value in locals().items() if one in __all__}
    globals().update(found)  # for the next time
    return found[name]
