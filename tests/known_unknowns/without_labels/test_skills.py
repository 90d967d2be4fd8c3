"""Errors of the estimates, protocol by protocol."""

import pytest

from known_unknowns.without_labels.skills import set_errors


def record(method, metric, value, **others):
    return {"test_set": "all", "method": method, "metric": metric, "value": value} | others


def test_protocols_have_a_constant_and_truths_of_their_own(table_of):
    """Other sets teach there, or other ID images are shown: nothing is taken from the primary."""
    records = []
    for number, truth in enumerate((0.7, 0.6, 0.8)):
        own = {"test_set": f"set {number}"}
        for part in ("meta", "test"):
            records.append(record("msp", "auroc", truth, variant=part, **own))
        for variant, off in (("share drawn, size 50", 0.0), ("share drawn, shift fog/3", -0.2)):
            if off:
                records.append(
                    record("msp/truth", "true_auroc", truth + off, variant=variant, **own)
                )
            for method, value in (("constant", truth + off + 0.2), ("gscore", truth + off + 0.1)):
                cell = {"variant": variant, **own}
                records.append(record(f"msp/{method}", "predicted_auroc", value, **cell))
    errors = set_errors(table_of(records, paper="gscore"))
    errors = errors[errors["evaluator"] == "gscore"]
    assert len(errors) == 6 and errors["row"].notna().all()
    assert errors["error"].tolist() == pytest.approx([0.1] * 6)
    assert errors["guessed"].tolist() == pytest.approx([0.2] * 6)
