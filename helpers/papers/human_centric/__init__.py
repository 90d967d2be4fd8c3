"""The protocol of *Rethinking Out-of-Distribution Detection From a Human-Centric Perspective*.

`networks` trains or loads what is judged, `measuring` fits scores and measures them, `experiment`
writes the rows.
"""

from helpers.papers.human_centric.experiment import VARIANTS, evaluate, parts, sweep
from helpers.papers.human_centric.measuring import (
    KEEPS,
    Judged,
    Scored,
    judge,
    measure,
    resampled,
    scored,
)
from helpers.papers.human_centric.networks import network
from helpers.papers.human_centric.roles import METHODS, Protocol

__all__ = [
    "KEEPS",
    "METHODS",
    "VARIANTS",
    "Judged",
    "Protocol",
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
