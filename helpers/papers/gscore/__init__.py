"""*Unsupervised Evaluation of Out-of-distribution Detection*.

Zhang, Deng and Zheng (2023): a regression over many sets of unknown images predicts from the
scores of a mixture without labels how well a detector separates its images.
"""

from helpers.files import content_of
from helpers.papers import Paper

PAPER = Paper(**content_of(__file__, "paper"))
