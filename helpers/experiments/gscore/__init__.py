"""The protocol of *Unsupervised Evaluation of Out-of-distribution Detection*.

Zhang, Deng and Zheng (2023): a regression over many sets of unknown images foretells from the
scores of a mixture without labels how well a detector tells its images apart.  `measuring` shows
every set to a network once and measures every mixture, `regressing` learns and tests the
regressions, `evaluation` writes the rows.
"""

from helpers.experiments.gscore.evaluation import evaluate, network, parts, roles_of, sweep
from helpers.experiments.gscore.measuring import (
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
from helpers.experiments.gscore.regressing import divided, regressed, tau_of

__all__ = [
    "Measured",
    "Scores",
    "Variant",
    "distances",
    "divided",
    "evaluate",
    "measured",
    "mixed",
    "network",
    "parts",
    "regressed",
    "roles_of",
    "scores_of",
    "sweep",
    "tau_of",
    "truths_of",
    "variants",
]
