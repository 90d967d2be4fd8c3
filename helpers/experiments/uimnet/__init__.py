"""The protocol of *What classifiers know what they don't?*.

Belghazi and Lopez-Paz (2021): algorithms, each with hyper-parameters drawn at random and with or
without spectral normalisation, are trained in-domain; one trial or the ensemble of all is chosen by
its likelihood on held-out images, and measured in-domain and out-domain.  `networks` trains,
`measuring` measures, `evaluation` chooses and writes the rows.
"""

from helpers.benchmarks.uimnet import selected
from helpers.experiments.uimnet.evaluation import evaluate, parts, sweep
from helpers.experiments.uimnet.measuring import answers, measured
from helpers.experiments.uimnet.networks import Algorithm, Trial, class_means, trained

__all__ = [
    "Algorithm",
    "Trial",
    "answers",
    "class_means",
    "evaluate",
    "measured",
    "parts",
    "selected",
    "sweep",
    "trained",
]
