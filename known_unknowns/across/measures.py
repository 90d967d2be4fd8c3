"""The measures of all papers that methods are compared by."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Measure:
    """One number that methods are compared by, as a row of the results table has it."""

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
    "aurc": Measure("aurc", "union", "AURC, unknown detection", False, "unknown_detection"),
    "aurc_test": Measure("aurc", "test", "AURC, misclassification", False, "unknown_detection"),
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
}

COMPARED = (
    "aurc", "aurc_test", "auroc_near", "auroc_far", "fpr_near", "fpr_far", "der95", "der99",
    "out_as_out", "ece", "open_set_brier", "predicted_auroc",
)  # fmt: skip
"""The measures that `known_unknowns.across.tables.agreement` compares."""
