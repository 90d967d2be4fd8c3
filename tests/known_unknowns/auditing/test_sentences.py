"""Sentences of the report name every cause, and the numbers of a rare class."""

import re
from typing import get_type_hints

import numpy as np
import pytest

from known_unknowns.auditing import audit
from known_unknowns.auditing.findings import summary


def made_up(labels, generator):
    """Return logits; those of class 0 are hard to tell, and −1 is for no class."""
    known = np.eye(5)[labels, :4] * (labels >= 0)[:, None]
    return (3 + 3 * (labels != 0))[:, None] * known + generator.normal(size=known.shape)


def new_images(hard, unknown):
    """Return 1,500 new images with shares of class 0 and of no class, and other images."""
    generator = np.random.default_rng(4)
    labels = generator.integers(4, size=2000)
    shares = [hard, *[(1 - hard) / 3] * 3]
    new = generator.choice(4, p=shares, size=1500)
    new[: int(1500 * unknown)] = -1
    arrays = {"logits": made_up(labels, generator), "labels": labels}
    arrays["production_logits"] = made_up(new, generator)
    arrays["class_names"] = np.array(["ant", "bee", "cow", "dog"])
    return arrays, new


def test_one_sentence_names_three_causes_with_the_share_of_each():
    """Another mixture alone is no evidence of changed images; labels show the unknown ones."""
    arrays, _ = new_images(0.25, 0)
    same = audit(arrays, replicates=5)
    assert "The outputs give no evidence that the 1500" in same.sentences("unlabelled")[0]
    arrays, _ = new_images(0.75, 0)
    mixed = audit(arrays, replicates=5)
    assert mixed.unlabelled.least > 0.05
    assert mixed.unlabelled.rest[0] == 0
    assert mixed.unlabelled.to_state is None
    _, low, high = mixed.unlabelled.mixture.moved
    assert 0.3 < low < 0.5 < high < 0.7
    sentence = mixed.sentences("unlabelled")[0]
    assert "another mixture of the known classes explains" in sentence
    assert "(“ant”: 7" in sentence
    assert "no evidence of changed images or of unknown classes" in sentence
    arrays, new = new_images(0.25, 0.3)
    foreign = audit(arrays, replicates=5)
    least, share = foreign.unlabelled.rest
    assert 0.15 < least < 0.3 < share + 0.1
    assert foreign.unlabelled.mixture.moved[1] == 0
    sentence = foreign.sentences("unlabelled")[0]
    assert sentence.startswith(f"At least {100 * least:.1f} % of the 1500 unlabelled images are")
    assert "these two causes cannot be told apart without labels; another mixture of" in sentence
    labelled = audit(arrays | {"production_labels": new}, replicates=5)
    sentence = labelled.sentences("unlabelled")[0]
    assert "the labels show 30.0 % [27.7, 32.4] of unknown classes" in sentence
    assert "without labels" not in sentence
    assert labelled.sentences("about_unlabelled")[-1].startswith("No action: all unlabelled")


def test_a_share_of_changed_images_is_certain_if_labels_show_fewer_unknown_ones():
    arrays, new = new_images(0.25, 0.5)
    given = np.full(1500, -2)
    drawn = np.random.default_rng(0).permutation(1500)[:200]
    given[drawn] = np.maximum(new, 0)[drawn]  # people recognise each image
    audited = audit(arrays | {"production_labels": given}, replicates=5)
    least = audited.unlabelled.rest[0] - audited.unlabelled.labelled.unknown.high
    assert least > 0.2
    assert f"so at least {100 * least:.1f} % are changed;" in audited.sentences("unlabelled")[0]


def test_sentences_are_about_the_unit_of_the_data(tmp_path):
    """Names in the data stay; a rejector keeps the unit."""
    arrays, _ = new_images(0.25, 0.3)
    arrays["class_names"] = np.array(["an image", "images", "cow", "dog"])
    audited = audit(arrays, replicates=5, unit="entry")
    audited.save(tmp_path)
    page = (tmp_path / "report.html").read_text("utf-8").partition("<body>")[2]
    page = re.sub("data:image/png[^>]*", "", page)
    words = re.sub("“an image”|“images”|<td>(an image|images)</td>", "", page)
    left = re.findall(r".{20}\bimages?\b.{20}", words)
    assert not left
    assert "on 2000 entries that the model was not trained on" in page
    assert "of the 1500 unlabelled entries are changed" in page
    assert "write a class, or -1" in page
    assert (
        "accepted entries like the validation entries" in audited.rejector.provenance["guarantee"]
    )
    assert audited.rejector.unit == "entry"
    with pytest.raises(ValueError, match="unit: a noun in the singular expected"):
        audit(arrays, unit="{{ 1 }}")


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
    assert get_type_hints(type(audited.rejector).accepts)["return"] is np.ndarray
