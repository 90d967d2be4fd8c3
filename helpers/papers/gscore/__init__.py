"""The protocol of *Unsupervised Evaluation of Out-of-distribution Detection*.

Zhang, Deng and Zheng (2023): a regression over many sets of unknown images foretells from the
scores of a mixture without labels how well a detector tells its images apart.  `measuring` shows
every set to a network once and measures every mixture, `regressing` learns and tests the
regressions, `experiment` writes the rows.
"""

from helpers.papers.gscore.experiment import evaluate, network, parts, roles_of, sweep
from helpers.papers.gscore.measuring import (
    Measured,
    Scores,
    Variant,
    distances,
    measured,
    mixed,
    scores_of,
    truths_of,
    variants,
)
from helpers.papers.gscore.mixtures import drawn_sizes, in_ratio, places
from helpers.papers.gscore.protocol import DETECTORS, Protocol
from helpers.papers.gscore.regressing import divided, regressed, tau_of
from helpers.papers.gscore.suite import Roles, gbench, pack_name, shared_classes, suite

__all__ = [
    "DETECTORS",
    "Measured",
    "Protocol",
    "Roles",
    "Scores",
    "Variant",
    "distances",
    "divided",
    "drawn_sizes",
    "evaluate",
    "gbench",
    "in_ratio",
    "measured",
    "mixed",
    "network",
    "pack_name",
    "parts",
    "places",
    "regressed",
    "roles_of",
    "scores_of",
    "shared_classes",
    "suite",
    "sweep",
    "tau_of",
    "truths_of",
    "variants",
]
