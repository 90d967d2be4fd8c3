"""All algorithms, scores and metrics of the five papers on the same networks and images.

`networks` trains what is compared, `seeing` applies scores, `measuring` measures them,
`evaluation` writes the rows.
"""

from helpers.experiments.synthesis.evaluation import PAPER, VARIANTS, evaluate, parts, sweep
from helpers.experiments.synthesis.measuring import (
    gscore_line,
    of_algorithm,
    of_score,
    unknown_probability,
)
from helpers.experiments.synthesis.networks import Model, model, recipe_of
from helpers.experiments.synthesis.seeing import Seen, applies, percentiles, scored, seen

__all__ = [
    "PAPER",
    "VARIANTS",
    "Model",
    "Seen",
    "applies",
    "evaluate",
    "gscore_line",
    "model",
    "of_algorithm",
    "of_score",
    "parts",
    "percentiles",
    "recipe_of",
    "scored",
    "seen",
    "sweep",
    "unknown_probability",
]
