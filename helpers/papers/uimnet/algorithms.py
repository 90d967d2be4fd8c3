"""The algorithms: what is known of each beside its parameters, in one record.

What one changes in the recipe (its objective among it), the hyper-parameters of trial 0 and the
laws that the other trials draw from are in ``params/<tier>/uimnet.yaml`` under its name.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class AlgorithmRecord:
    """What there is to know about an algorithm.

    Attributes
    ----------
    title : str
        What tables and figures call it.
    key : str
        BibTeX key of its paper; "" where there is none to name.
    native : str
        The score that the measure Native is, of one network; "" where it has no such one.
    passes : bool
        Whether its network answers in several passes, with dropout.
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
"""The paper's eight algorithms, in the order in which they are shown; others come after them."""

ALGORITHMS = {name: one.title for name, one in RECORDS.items()}
"""How they are called."""
