"""Answers of several classes, from the wish to what is written of new images."""

import csv

import numpy as np
import pytest

from helpers.metrics.prediction_sets import SetRule, prediction_sets
from helpers.scores.calibration import softmax
from known_unknowns.auditing import Inputs, audit
from known_unknowns.auditing.command import HOLDS, main
from known_unknowns.auditing.summary import findings


def test_the_promise_of_sets_is_kept_on_new_images(group):
    """On average over draws, from the audit's own choice of the penalty on."""
    new = group(2000, 99)
    kept = []
    for seed in range(8):
        found = audit(Inputs("a toy", group(300, seed), tuple("abcd")), risk=0.2, sets=0.97,
                      replicates=2)  # fmt: skip
        rule = SetRule(found.sets.most, found.sets.penalty, found.sets.free)
        named = prediction_sets(softmax(new.logits, found.temperature), rule)
        kept.append(named[np.arange(2000), new.labels].mean())
        assert found.sets.conditional < 0.97
    deviation = 3 * np.sqrt(0.97 * 0.03 * (1 / 2000 + 1 / (8 * 150)))
    assert 0.97 - deviation <= np.mean(kept) <= 0.97 + 1 / 151 + deviation


def test_the_report_has_them_where_they_were_asked_for(inputs):
    found = audit(inputs, risk=0.2, sets=0.95, replicates=5)
    (one,) = [one for one in findings(found) if one.name == "sets"]
    assert "with a probability of 95 %" in one.sentence and one.advice.startswith("Use the sets")
    assert found.as_dict()["sets"]["size"] >= 1
    without = audit(inputs, risk=0.2, replicates=5)
    assert without.sets is None and all(one.name != "sets" for one in findings(without))


def test_too_few_images_for_a_wish_are_said_to_be(inputs):
    found = audit(inputs, risk=0.2, sets=0.999, replicates=5)
    assert "at least 999 images expected" in found.sets.problem
    (said,) = [one.sentence for one in findings(found) if one.name == "sets"]
    assert "No sets of 99.9 % can be had" in said
    assert "sets" not in found.rejector.provenance
    with pytest.raises(ValueError, match="sets: between 0 and 1"):
        audit(inputs, sets=1.0)


def test_the_command_writes_them(arrays, write, tmp_path, monkeypatch):
    path = write(arrays)
    monkeypatch.chdir(tmp_path)
    assert main(["audit", str(path), "--risk", "0.2", "--sets", "0.99"]) == HOLDS
    rejector = "outputs_audit/rejector.safetensors"
    assert main(["accept", rejector, str(path), "--out", "answers.csv"]) == HOLDS
    with open("answers.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    named = [row["set"].split("|") for row in rows]
    assert all(row["label"] == names[0] for row, names in zip(rows, named, strict=True))
    true = np.array(arrays["class_names"])[arrays["labels"]]
    assert np.mean([one in names for one, names in zip(true, named, strict=True)]) > 0.96
    assert len({len(names) for names in named}) > 1
