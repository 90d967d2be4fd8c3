"""The protocol of *Rethinking Out-of-Distribution Detection From a Human-Centric Perspective*.

`networks` trains or loads what is judged, `evaluation` judges it and writes the rows.
"""

from helpers.experiments.human_centric.evaluation import (
    Judged,
    evaluate,
    judge,
    parts,
    sweep,
)
from helpers.experiments.human_centric.networks import Network, network

__all__ = ["Judged", "Network", "evaluate", "judge", "network", "parts", "sweep"]
