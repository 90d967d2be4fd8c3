"""Sentences of the report name every cause, and the numbers of a rare class."""

import re

import numpy as np

from known_unknowns.auditing import audit
from known_unknowns.auditing.findings import findings, summary
from known_unknowns.auditing.sentences import render


def test_watch_names_three_causes():
    counts = {
        "file": "new.npz",
        "unlike": 90,
        "images": 1000,
        "looks": 1,
        "total": 1000,
        "acknowledged": False,
    }
    for bound in (0.0, 0.03):
        limits = {"bound": bound, "most": 0.02, "usual": 0.05, "false_alarms": 0.05}
        sentence = render("watched", **counts, **limits)[1]
        assert re.search(
            "changed.* unknown classes.* another mixture of the known classes", sentence
        )


def test_the_report_names_three_causes(inputs):
    audited = audit(inputs, replicates=20)
    causes = "changed images, images of unknown classes, or another mixture of the known classes"
    (sentence,) = [text for text in summary(audited) if "unlike the validation images" in text]
    assert causes in sentence
    parts = {part["name"]: part for part in findings(audited)}
    assert causes in parts["unlabelled"]["sentence"]
    assert causes in parts["drift"]["advice"]


def test_precision_and_recall_are_on_the_first_screen_if_one_class_exceeds_80_percent():
    labels = np.repeat([0, 1], [950, 50])
    answers = np.repeat([0, 1, 0, 1], [920, 30, 10, 40])  # 30 false alarms, 10 missed
    logits = np.eye(2)[answers] * np.linspace(2, 3, 1000)[:, None]
    arrays = {"logits": logits, "labels": labels, "class_names": np.array(["valid", "fraud"])}
    text = summary(audit(arrays, replicates=20))[1]
    assert text.startswith("95.0 % of the labels are “valid”")
    assert "“fraud”: 57.1 % [44.7, 68.9] of 70 answers are correct, 80.0 %" in text
    assert "98.9 % [98.0, 99.5] of 930 answers are correct, 96.8 % [95.5, 97.9] of 950" in text
    balanced = np.arange(1000) % 2
    arrays = {"logits": np.eye(2)[balanced] + 0.1, "labels": balanced}
    assert not any("labels are" in each for each in summary(audit(arrays, replicates=20)))


def test_an_audit_in_a_notebook_is_short_and_its_sentences_are_shown(inputs):
    audited = audit(inputs, risk=0.2, replicates=5)
    assert repr(audited).startswith("Audit(300 images, Rejector(Maximum softmax")
    assert len(repr(audited)) < 120
    assert audited.summary() == summary(audited) == audited.as_dict()["summary"]
    assert audited._repr_html_().count("<li>") == len(audited.summary())
