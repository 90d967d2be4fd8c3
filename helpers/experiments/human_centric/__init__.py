"""The protocol of *Rethinking Out-of-Distribution Detection From a Human-Centric Perspective*.

`networks` trains or loads what is judged, `measuring` fits scores and measures them, `evaluation`
writes the rows.
"""

from helpers.experiments.human_centric.evaluation import VARIANTS, evaluate, parts, sweep
from helpers.experiments.human_centric.measuring import (
    KEEPS,
    Judged,
    Scored,
    judge,
    measure,
    resampled,
    scored,
)
from helpers.experiments.human_centric.networks import Network, network

__all__ = [
    "KEEPS",
    "VARIANTS",
    "Judged",
    "Network",
    "Scored",
    "evaluate",
    "judge",
    "measure",
    "network",
    "parts",
    "resampled",
    "scored",
    "sweep",
]
