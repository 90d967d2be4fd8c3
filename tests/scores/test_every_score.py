"""Contracts of all scores, the registry, bad input, and what scores share."""

from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import yaml

import helpers.scores
from helpers.outputs import Head, Outputs
from helpers.scores import base
from helpers.scores.calibration import fit_temperature, softmax
from helpers.scores.info import LACKING, NEEDS, lacking
from helpers.scores.openset import OpenMax
from known_unknowns.checks import parametrize_with_checks

SCORES = [helpers.scores.create(name) for name in helpers.scores.names()]
for score in SCORES:
    if score.info.name == "nnguide":
        score.bank = 1000  # the bank is kept in memory, up to its own size


@parametrize_with_checks(SCORES)
def test_what_must_hold_of_every_score(check):
    """Every check of `known_unknowns.checks` that applies to the score."""
    check()


@pytest.mark.parametrize("name", helpers.scores.names())
def test_records_and_arguments_of_each_score(name):
    info = helpers.scores.create(name).info
    assert info.name == name and info.key.endswith(str(info.year))
    for chosen in info.published.values():
        assert chosen and helpers.scores.create(name, **chosen)
    with pytest.raises(ValueError, match=f"score '{name}'"):
        helpers.scores.create(name, wrong=1)


def test_a_name_is_registered_once(monkeypatch):
    monkeypatch.setattr(base, "_REGISTRY", dict(base._REGISTRY))
    with pytest.raises(ValueError, match="'msp' is registered already"):
        base.register(type(helpers.scores.create("msp")))


NAN = float("nan")
LOGITS = np.concatenate([6 * np.eye(6), 5 * np.eye(6)])


def fit(name, features, labels=-1, head=None, **arguments):
    """Return a call that fits a score to features whose logits a head gives."""
    features = np.asarray(features, float)
    head = head or Head(np.eye(features.shape[1]), np.zeros(features.shape[1]))
    labels = np.broadcast_to(labels, len(features))
    train = Outputs(features @ head.weight.T + head.bias, features, labels)
    return lambda: helpers.scores.create(name, **arguments).fit(train, head)


def openmax(use=None, **arguments):
    """Return a call that fits OpenMax to six classes, and uses it."""
    fitted = lambda: OpenMax(**arguments).fit(LOGITS, np.arange(12) % 6)  # noqa: E731
    return fitted if use is None else lambda: use(fitted())


BAD = [
    ("two or more classes, each with weights of its own",
     fit("fdbd", np.ones((4, 3)), head=Head(np.ones((2, 3)), np.zeros(2)))),
    ("features that vary within a class", fit("mahalanobis", [[0, 1], [0, 1]], 0)),
    ("a correctly classified image expected", fit("she", [[1, 0], [0, 1]], [1, 0])),
    (r"dim: below 3 \(the features\) expected", fit("vim", np.eye(3), dim=3)),
    ("do not leave a subspace of 2 dim", fit("vim", np.diag([1, 1, 0]), dim=2)),
    (r"k: at most 9 \(the .*\) expected, got 10", fit("knn", [[1, 2]] * 9, k=10)),
    (r"k: at most 7 \(the .*\) .* got 10", fit("nnguide", [[1, 2]] * 9, bank=7)),
    *[(f"^{named}: ", lambda logits=logits, labels=labels: fit_temperature(logits, labels))
      for named, logits, labels in [
        ("logits", np.empty((0, 3)), []), ("logits", [1.0, 2.0], [0, 1]),
        ("logits", [[1.0, NAN]], [0]), ("logits", [[1.0, np.inf]], [0]),
        *[("labels", [[1.0, 2.0]], labels) for labels in ([0, 1], [2], [-1], [1.0])]]],
    *[("^temperature: ", lambda value=value: softmax([[1.0, 2.0]], value))
      for value in (0, -1, NAN, np.inf)],
    ("^tail: ", openmax(tail=1)),
    ("^tail: ", openmax(tail=2.5)),
    ("^alpha: ", openmax(alpha=0)),
    ("^alpha: at most 6", openmax(alpha=7)),
    ("did you mean 'euclidean'", openmax(distance="euclidian")),
    ("^logits: empty", lambda: OpenMax().fit(np.empty((0, 2)), [])),
    ("^logits: contains NaN", lambda: OpenMax().fit([[1.0, NAN]], [0])),
    ("^labels: length", lambda: OpenMax().fit([[1.0, 0.0]], [0, 1])),
    ("^labels: -1 to 1", lambda: OpenMax().fit([[1.0, 0.0]], [2])),
    ("^labels: no image is classified correctly", lambda: OpenMax().fit([[1.0, 0.0]], [1])),
    ("not fitted yet", lambda: OpenMax().revised_logits([[1.0, 2.0]])),
    ("^logits: 6 classes expected, got 2", openmax(lambda it: it.revised_logits([[1.0, 2.0]]))),
    ("^temperature: ", openmax(lambda it: it.probabilities(LOGITS, 0))),
]  # fmt: skip


FILE = Path(__file__).with_name("mistakes.yaml")
CALLS = [
    (kind, message, name, arguments)
    for kind, messages in yaml.safe_load(FILE.read_text("utf-8")).items()
    for message, calls in messages.items()
    for name, arguments in calls.items()
]


@pytest.mark.parametrize(("kind", "message", "name", "arguments"), CALLS)
def test_bad_arguments_and_lacking_outputs_are_named(kind, message, name, arguments):
    plain = Outputs(np.zeros((2, 2)), np.zeros((2, 1)), np.full(2, -1))
    with pytest.raises(ValueError, match=message):
        score = helpers.scores.create(name, **arguments)
        if kind != "created":
            score.score_samples(plain)


@pytest.mark.parametrize(("message", "call"), BAD)
def test_bad_input_is_named(message, call):
    with pytest.raises(ValueError, match=message):
        call()


def problem(n=300, width=40, classes=20):
    """Return outputs and their head: each class occurs, most images are correct."""
    generator = np.random.default_rng(0)
    weight = generator.normal(size=(classes, width)).astype(np.float32)
    head = Head(weight, generator.normal(size=classes).astype(np.float32))
    labels = np.arange(n) % classes
    features = generator.normal(size=(n, width)).astype(np.float32) + weight[labels]
    return Outputs(features @ weight.T + head.bias, features, labels), head


def test_moments_and_gaussians_are_computed_once_for_all_scores(monkeypatch):
    """Count the rows that are read from outputs, and the eigenvalue problems."""
    counts, subset, eigh = Counter(), Outputs.subset, np.linalg.eigh

    def counted(outputs, indices):
        counts["rows"] += len(part := subset(outputs, indices))
        return part

    monkeypatch.setattr(Outputs, "subset", counted)
    monkeypatch.setattr(np.linalg, "eigh", lambda matrix: counts.update(["eigh"]) or eigh(matrix))
    train, head = problem()
    for name, passes, eigh_calls in (
        ("mahalanobis", 2, 1), ("rmds", 0, 1), ("vim", 1, 1), ("mahalanobis_pp", 2, 1),
        ("rmds_pp", 0, 1), ("mahalanobis", 0, 0), ("dice", 1, 0), ("react", 2, 0), ("vra", 4, 0),
    ):  # fmt: skip
        counts.clear()
        helpers.scores.create(name).fit(train, head)
        assert (counts["rows"], counts["eigh"]) == (passes * len(train), eigh_calls), name


HEAD = Head(np.eye(3), np.zeros(3))
MEMBERS = np.full((2, 4, 3), 1 / 3)
UNLEVELLED = {"native", "head", "level of the logits"}
KINDS = {  # networks, passes, head, members; and what is lacking
    "one network": ((1, 0, HEAD, None), {"members", "native"}),
    "several heads": ((1, 0, None, MEMBERS), UNLEVELLED),
    "passes": ((1, 2, HEAD, MEMBERS), {"native", "images"}),
    "an ensemble": ((2, 0, None, MEMBERS), UNLEVELLED | {"one network"}),
    # the mean over networks of means over passes has lost the level as well
    "an ensemble with passes": ((2, 2, None, MEMBERS), UNLEVELLED | {"one network", "images"}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_kind_of_model_lacks(kind):
    (networks, passes, head, members), expected = KINDS[kind]
    model = SimpleNamespace(networks=(None,) * networks, passes=passes, head=head)
    outputs = Outputs(np.zeros((4, 3)), np.zeros((4, 3)), np.zeros(4, int), members)
    assert set(lacking(NEEDS, model, outputs)) == expected <= LACKING.keys()
