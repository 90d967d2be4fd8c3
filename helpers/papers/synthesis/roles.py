"""The five papers together: every algorithm, score and metric on the same networks and images.

The images play the roles of the benchmark of unknown detection, whose networks are among those
that are compared; generated families that are none of its sets teach the regression that
predicts an AUROC without labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from helpers import data
from helpers.data import Images
from helpers.papers.unknown_detection import protocol as unknown_detection
from helpers.papers.unknown_detection import roles
from helpers.papers.unknown_detection.cifar import SIZE
from helpers.papers.unknown_detection.protocol import Roles, limited

__all__ = ["ALGORITHMS", "MEASURES", "Measure", "Protocol", "Roles", "families", "roles"]

ALGORITHMS = {
    "baseline": "Baseline (ERM)",
    "crl": "CRL",
    "edl": "EDL",
    "mc_dropout": "MC dropout",
    "ensemble": "Deep Ensemble",
    "augmix": "AugMix",
    "outlier_exposure": "Outlier Exposure",
    "mixup": "Mixup",
    "rnd": "RND",
    "oc": "OC",
    "mimo": "MIMO",
    "rbf": "RBF",
    "soft_labels": "Soft labeler",
    "spectral": "Spectral normalisation",
    "adversarial": "Adversarial training",
    "autoaugment": "AutoAugment",
    "noise": "Noise",
    "stylised": "Stylised images",
    "distillation": "Distillation",
}
"""The training algorithms of all chapters, and how they are called."""


@dataclass(frozen=True)
class Measure:
    """One number that methods are compared by, as a row of the results table has it.

    Attributes
    ----------
    metric, test_set : str
        The row's.
    title : str
    higher : bool
        Whether higher is better.
    paper : str
        The chapter that it comes from; "" for what no paper has.
    of_score : bool
        Whether it is a number of an algorithm with a score, not of the algorithm alone.
    """

    metric: str
    test_set: str
    title: str
    higher: bool
    paper: str
    of_score: bool = True


MEASURES = {
    "accuracy": Measure("accuracy", "test", "Accuracy", True, "unknown_detection", False),
    "nll": Measure("nll", "test", "NLL", False, "uimnet", False),
    "ece": Measure("ece", "test", "ECE", False, "uimnet", False),
    "brier": Measure("brier", "test", "Brier score", False, "openset_calibration", False),
    "parameters": Measure("parameters", "test", "Parameters", False, "", False),
    "passes": Measure("passes", "test", "Passes per image", False, ""),
    "aurc": Measure(
        "aurc", "union", "AURC, unknown detection", False, "unknown_detection"
    ),
    "aurc_test": Measure(
        "aurc", "test", "AURC, misclassification", False, "unknown_detection"
    ),
    "auroc_near": Measure("auroc", "near", "AUROC, near", True, "unknown_detection"),
    "auroc_far": Measure("auroc", "far", "AUROC, far", True, "unknown_detection"),
    "fpr_near": Measure("fpr_at_tpr", "near", "FPR95, near", False, "unknown_detection"),
    "fpr_far": Measure("fpr_at_tpr", "far", "FPR95, far", False, "unknown_detection"),
    "der95": Measure("der95", "average", "DER95", False, "human_centric"),
    "der99": Measure("der99", "average", "DER99", False, "human_centric"),
    "in_as_in": Measure("in_as_in", "near", "InAsIn", True, "uimnet"),
    "out_as_out": Measure("out_as_out", "near", "OutAsOut", True, "uimnet"),
    "open_set_brier": Measure(
        "open_set_brier", "near", "Open-set Brier score", False, "openset_calibration"
    ),
    "open_set_ece": Measure("open_set_ece", "near", "Open-set ECE", False, "openset_calibration"),
    "auroc": Measure("auroc", "union", "AUROC, near and far", True, "gscore"),
    "predicted_auroc": Measure("predicted_auroc", "union", "AUROC without labels", True, "gscore"),
}  # fmt: skip
"""What methods are compared by, each under a name of its own."""


@dataclass(frozen=True)
class Protocol(unknown_detection.Protocol):
    """What is free to choose: all of the benchmark of unknown detection, and what follows.

    Attributes
    ----------
    keep : float
        The threshold of InAsIn and OutAsOut keeps this share of the validation images.
    bins : int
        Of the calibration errors.
    tta_copies : int
        Augmented copies of an image, for the score of that name.

    Raises
    ------
    ValueError
        A value out of range.
    """

    keep: float = 0.95
    bins: int = 15
    tta_copies: int = 10

    def __post_init__(self):
        super().__post_init__()
        if not 0 < self.keep < 1:
            raise ValueError(f"keep: between 0 and 1 expected, got {self.keep}")
        for name in ("bins", "tta_copies"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}: at least 1 expected, got {getattr(self, name)}")


def families(
    names: Sequence[str], roles: Roles, protocol: Protocol, *, download: bool = False
) -> dict[str, Images]:
    """Load the sets that the prediction of an AUROC learns from.

    Parameters
    ----------
    names : sequence of str
        Data sets with a split ``test``; at least 3, for a line.
    roles : Roles
    protocol : Protocol
    download : bool
        Let torchvision download what is missing.

    Returns
    -------
    dict of str to Images
        Labels −1; as many of each as there are validation images, at most.

    Raises
    ------
    ValueError
        Fewer than 3 sets, or one that networks or hyper-parameters learn from or that is tested.
    """
    if len(names) < 3:
        raise ValueError(f"families: at least 3 expected, got {len(names)}")
    tested = {"test": roles.test, "near": roles.near} | roles.far | roles.aside
    taken = {"external": roles.external} | tested
    found = {}
    for name in names:
        images = data.load(name, "test", size=SIZE, download=download)
        for role, other in taken.items():
            if shared := set(images.class_names) & set(other.class_names):
                raise ValueError(
                    f"families: '{name}' shares the class {min(shared)} with the images that are "
                    f"'{role}'; take another set"
                )
        found[name] = limited(images.unknown(), len(roles.validation), seed=protocol.seed)
    return found
