"""The algorithms: the facts that are not in the parameter files, one record per algorithm.

``params/<tier>/uimnet.yaml`` has, for each algorithm, its changes of the recipe, the
hyper-parameters of trial 0 and the laws of the other trials.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class AlgorithmRecord:
    """The facts about an algorithm.

    Attributes
    ----------
    title : str
        Title in tables and figures.
    key : str
        BibTeX key of the algorithm's paper; "" if there is none.
    native : str
        Name of the score that is the measure Native of a single network; "" if there is none.
    passes : bool
        Whether a prediction is a mean over several passes with dropout.
    """

    title: str
    key: str = ""
    native: str = ""
    passes: bool = False


RECORDS = {
    "erm": AlgorithmRecord("ERM"),
    "mixup": AlgorithmRecord("Mixup", "zhang2018", native="native"),
    "rnd": AlgorithmRecord("RND", "burda2019", native="native"),
    "oc": AlgorithmRecord("OC", "tagasovska2019", native="native"),
    "mc_dropout": AlgorithmRecord("MC-Dropout", "gal2016", native="jsd", passes=True),
    "mimo": AlgorithmRecord("MIMO", "havasi2021"),
    "rbf": AlgorithmRecord("RBF", "belghazi2021"),
    "soft_labels": AlgorithmRecord("Soft labeler", "belghazi2021", native="native"),
}
"""The paper's eight algorithms, in the order of tables and figures; others follow."""

ALGORITHMS = {name: record.title for name, record in RECORDS.items()}
"""The title of each algorithm."""
