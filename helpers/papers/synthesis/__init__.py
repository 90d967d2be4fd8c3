"""All algorithms, scores and metrics of the five papers on the same networks and images.

`networks` trains what is compared, `seeing` applies scores, `measuring` measures them,
`experiment` writes the rows.
"""

from helpers.papers.synthesis.experiment import PAPER, VARIANTS, evaluate, parts, sweep
from helpers.papers.synthesis.measuring import (
    gscore_line,
    of_algorithm,
    of_score,
    unknown_probability,
)
from helpers.papers.synthesis.networks import model, recipe_of
from helpers.papers.synthesis.roles import ALGORITHMS, MEASURES, Protocol
from helpers.papers.synthesis.seeing import Seen, applies, percentiles, scored, seen

__all__ = [
    "ALGORITHMS",
    "MEASURES",
    "PAPER",
    "VARIANTS",
    "Protocol",
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
