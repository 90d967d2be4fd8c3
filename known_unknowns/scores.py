"""Names for a file with your score: `BlockwiseScore`, `Info` and `register`.

`known-unknowns bench my_score.py` compares such a score with the scores of the project.
"""

from helpers.scores.base import BlockwiseScore, register
from helpers.scores.info import Info

__all__ = ["BlockwiseScore", "Info", "register"]
