"""Roles in *What classifiers know what they don't?*: ImageNot, algorithms and measures.

Belghazi and Lopez-Paz (2021): the classes of one data set fall into two branches that look
different to a network; one is in-domain, as many classes of the other are out-domain.
"""

from helpers.benchmarks.uimnet.imagenot import Partition, Roles, partition, roles
from helpers.benchmarks.uimnet.naming import apart, normalised, selected
from helpers.benchmarks.uimnet.protocol import ALGORITHMS, MEASURES, Protocol, score_of

__all__ = [
    "ALGORITHMS",
    "MEASURES",
    "Partition",
    "Protocol",
    "Roles",
    "apart",
    "normalised",
    "partition",
    "roles",
    "score_of",
    "selected",
]
