"""*Evaluating Uncertainty Calibration for Open-Set Recognition* (Lyu et al. 2022).

Are probabilities calibrated, after temperature scaling and with OpenMax, if test images are of
unknown classes?
"""

from helpers.files import content_of
from helpers.papers import Paper

PAPER = Paper(**content_of(__file__, "paper"))
