"""*Rethinking Out-of-Distribution Detection From a Human-Centric Perspective* (Zhu et al. 2024).

Scores are compared by the errors of the answers that they accept, over many networks.
"""

from helpers.files import content_of
from helpers.papers import Paper

PAPER = Paper(**content_of(__file__, "paper"))
