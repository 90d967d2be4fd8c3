"""Ten files as people have them: the sentences that matter, and sentences that would be false."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, softmax
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from known_unknowns.auditing.command import main
from known_unknowns.auditing.commands.places import HOLDS, REFUSED
from known_unknowns.bench.feature_packs import EMBEDDED, FeaturePack


def outputs(images, classes, *, strength=3.0, shares=None):
    """Return logits of a made-up model, and labels."""
    generator = np.random.default_rng(classes)
    labels = generator.choice(classes, size=images, p=shares)
    logits = generator.normal(size=(images, classes)).astype(np.float32)
    logits[np.arange(images), labels] += strength
    return logits, labels


def of_scikit_learn():
    images, labels = load_digits(return_X_y=True)
    train, test, known, unseen = train_test_split(
        images / 16, labels, test_size=0.5, random_state=0
    )
    model = LogisticRegression().fit(train, known)
    names = model.classes_.astype(str)
    return {"probabilities": model.predict_proba(test), "labels": unseen, "class_names": names}


def of_half_precision():
    """The softmax of a published network: a quarter of the rows are equal to another row."""
    test = FeaturePack.read(EMBEDDED / "densenet100.dice_cifar10.safetensors").test
    rounded = softmax(test.logits, axis=1).astype(np.float16)
    assert len(np.unique(rounded, axis=0)) < 1500
    return {"probabilities": rounded, "labels": test.labels}


def of_thousand_classes():
    logits, labels = outputs(600, 1000, strength=8)
    return {"logits": logits, "labels": labels}


def of_two_classes():
    logits, labels = outputs(400, 2)
    return {"probabilities": expit(logits[:, 1] - logits[:, 0]), "labels": labels}


def of_a_rare_class():
    """A model of frauds with an AUROC above 99 %."""
    generator = np.random.default_rng(0)
    fraud = generator.random(20_000) < 0.005
    logits = generator.normal(size=20_000) + np.where(fraud, 6, 0) - 5
    return {"probabilities": expit(1.5 * logits), "labels": fraud.astype(int)}


def of_texts():
    logits, labels = outputs(300, 3)
    names = np.array(["cat", "dog", "emu"])
    return {"logits": logits, "labels": names[labels], "class_names": names}


def of_a_table():
    logits, labels = outputs(300, 3)
    table = pd.DataFrame(
        softmax(logits, axis=1).round(4), columns=["prob_cat", "prob_dog", "prob_emu"]
    )
    table["label"] = np.array(["cat", "dog", "emu"])[labels]
    return table


def of_many_rows():
    logits, labels = outputs(100_000, 3)
    return {"logits": logits, "labels": labels}


def of_several_labels():
    logits = np.random.default_rng(0).normal(size=(300, 4))
    return {"logits": logits, "labels": (logits > 0.5).astype(int)}


def of_labelled_production():
    """All new images have a label; a fifth is of no class."""
    logits, labels = outputs(1600, 4)
    logits[1400:] = np.random.default_rng(1).normal(size=(200, 4))
    new = np.where(np.arange(1600) < 1400, labels, -1)[600:]
    arrays = {"logits": logits[:600], "labels": labels[:600]}
    return arrays | {"production_logits": logits[600:], "production_labels": new}


GUARANTEE = "Guarantee: at most 5 % of accepted answers are wrong"
NO_COPIES = "copies|chance|training images"
#: The sentences of each file, in their order, and words that would be false.
FILES = {
    of_scikit_learn: (("Accuracy: 9.* on 899 images", GUARANTEE), NO_COPIES),
    of_half_precision: (("Accuracy: 9.* on 2000 images", GUARANTEE), NO_COPIES),
    of_thousand_classes: (("of 1000 classes have no validation image", GUARANTEE), NO_COPIES),
    of_two_classes: ((GUARANTEE,), NO_COPIES),
    of_a_rare_class: (
        (
            "% of the labels are “0”, so the accuracy alone shows little",
            "“1”: .* answers are correct, .* of 1.. images are found",
        ),
        "do not deploy|chance",
    ),
    of_texts: ((GUARANTEE,), "order|shifted"),
    of_a_table: (("Accuracy: .* on 300 images", GUARANTEE), NO_COPIES),
    of_many_rows: (("Accuracy: .* on 100000 images", GUARANTEE), NO_COPIES),
    of_several_labels: (("a multi-label model is audited label by label",), "Accuracy"),
    of_labelled_production: (
        ("By 1000 labels, the accuracy", "and 20.0 % .* of the images are of no known class"),
        "Label 60|Estimate without a guarantee",
    ),
}


@pytest.mark.parametrize("write", FILES, ids=lambda write: write.__name__)
def test_the_sentences_of_a_usual_file_are_true(write, here, capsys, without_figures):
    content = write()
    if isinstance(content, pd.DataFrame):
        file = "outputs.csv"
        content.to_csv(file, index=False)
    else:
        file = "outputs.npz"
        np.savez(file, **content)
    sentences, false = FILES[write]
    expected = REFUSED if write is of_several_labels else HOLDS
    assert main(["audit", file, "--out", "report"]) == expected
    text = "".join(capsys.readouterr())
    assert re.search(r"(.|\n)*".join(sentences), text), text
    summary = text.partition("is done")[2] or text
    assert not re.search(false, summary), summary
