"""*What classifiers know what they don't?* (Belghazi and Lopez-Paz 2021).

Algorithms with random hyper-parameters, with or without spectral normalisation, are trained on the
in-domain classes.  The likelihood of held-out images chooses a trial.  `trials` trains the
networks, `experiment` chooses and measures, `names` has the records of algorithms and measures.
"""

from helpers.files import content_of
from helpers.papers import Paper

PAPER = Paper(**content_of(__file__, "paper"))
