"""The protocol of *What classifiers know what they don't?*.

Belghazi and Lopez-Paz (2021): algorithms, each with hyper-parameters drawn at random and with or
without spectral normalisation, are trained in-domain; one trial or the ensemble of all is chosen by
its likelihood on held-out images, and measured in-domain and out-domain.  `networks` trains,
`measuring` measures, `experiment` chooses and writes the rows.
"""

from helpers.papers.uimnet.experiment import evaluate, parts, sweep
from helpers.papers.uimnet.imagenot import Partition, Roles, partition, roles
from helpers.papers.uimnet.measuring import answers, measured
from helpers.papers.uimnet.naming import apart, normalised, selected
from helpers.papers.uimnet.networks import Algorithm, Trial, class_means, trained
from helpers.papers.uimnet.protocol import ALGORITHMS, MEASURES, Protocol, score_of

__all__ = [
    "ALGORITHMS",
    "MEASURES",
    "Algorithm",
    "Partition",
    "Protocol",
    "Roles",
    "Trial",
    "answers",
    "apart",
    "class_means",
    "evaluate",
    "measured",
    "normalised",
    "partition",
    "parts",
    "roles",
    "score_of",
    "selected",
    "sweep",
    "trained",
]
