"""Contracts of all scores, the registry, bad input, and what scores share."""

from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest

import helpers.scores
from helpers.outputs import Head, Outputs
from helpers.scores import base
from helpers.scores.info import LACKING, NEEDS, lacking
from helpers.scores.openmax import OpenMax
from known_unknowns.checks import parametrize_with_checks
from known_unknowns.checks.cases import ScoreCase
from tests.mistakes import beside, refusals

SCORES = [helpers.scores.create(name) for name in helpers.scores.names()]
for score in SCORES:
    if score.info.name == "nnguide":
        score.bank = 1000  # the bank is kept in memory, up to its own size


@parametrize_with_checks(SCORES)
def test_every_score_passes_its_checks(check):
    """Every check of `known_unknowns.checks` that applies to the score."""
    check()


@pytest.mark.parametrize("name", helpers.scores.names())
def test_records_and_arguments_of_each_score(name):
    score = helpers.scores.create(name)
    assert BY_HAND["defaults"].get(name, {}).items() <= vars(score).items()
    info = score.info
    assert info.name == name
    for chosen in info.settings.values():
        assert chosen
        assert helpers.scores.create(name, **chosen)
    with pytest.raises(ValueError, match=f"score '{name}'"):
        helpers.scores.create(name, wrong=1)


def test_a_name_is_registered_once(monkeypatch):
    monkeypatch.setattr(base, "_REGISTRY", dict(base._REGISTRY))
    with pytest.raises(ValueError, match="'msp' is registered already"):
        base.register(type(helpers.scores.create("msp")))


def fit(name, features, labels=-1, weight=None, **arguments):
    """Fit a score to features whose logits a head without bias gives."""
    features, classes = np.asarray(features, float), len(weight or features[0])
    head = Head(np.array(weight or np.eye(classes), float), np.zeros(classes))
    train = Outputs(features @ head.weight.T, features, np.broadcast_to(labels, len(features)))
    return helpers.scores.create(name, **arguments).fit(train, head)


def ask(name, **arguments):
    plain = Outputs(np.zeros((2, 2)), np.zeros((2, 1)), np.full(2, -1))
    return helpers.scores.create(name, **arguments).score_samples(plain)


def openmax(**arguments):
    logits = np.concatenate([6 * np.eye(6), 5 * np.eye(6)])
    return OpenMax(**arguments).fit(logits, np.arange(12) % 6)


OBJECTS = {"fitted OpenMax": openmax(), "unfitted OpenMax": OpenMax(), "no rows": np.empty((0, 3))}
BY_HAND = beside(__file__, "by_hand.yaml")
KINDS = BY_HAND["kinds"]


test_bad_arguments_and_bad_input_are_named = refusals(__file__, OBJECTS)


def test_moments_and_gaussians_are_computed_once_for_all_scores(monkeypatch):
    """Count the rows that are read from outputs, and the eigenvalue problems."""
    counts = Counter()
    subset = Outputs.subset
    eigh = np.linalg.eigh

    def counted(outputs, indices):
        counts["rows"] += len(part := subset(outputs, indices))
        return part

    monkeypatch.setattr(Outputs, "subset", counted)
    monkeypatch.setattr(np.linalg, "eigh", lambda matrix: counts.update(["eigh"]) or eigh(matrix))
    case = ScoreCase(classes=20, width=40, train=300)
    train = case.outputs(("logits", "features", "labels"), train=True)
    head = case.head()
    for name, passes, eigh_calls in BY_HAND["read"]:
        counts.clear()
        helpers.scores.create(name).fit(train, head)
        assert (counts["rows"], counts["eigh"]) == (passes * len(train), eigh_calls), name


@pytest.mark.parametrize("kind", KINDS)
def test_the_missing_inputs_of_each_kind_of_model_are_named(kind):
    networks, passes, head, members, *expected = KINDS[kind]
    head = Head(np.eye(3), np.zeros(3)) if head else None
    members = np.full((2, 4, 3), 1 / 3) if members else None
    model = SimpleNamespace(networks=(None,) * networks, passes=passes, head=head)
    outputs = Outputs(np.zeros((4, 3)), np.zeros((4, 3)), np.zeros(4, int), members)
    assert set(lacking(NEEDS, model, outputs)) == {*expected} <= LACKING.keys()
