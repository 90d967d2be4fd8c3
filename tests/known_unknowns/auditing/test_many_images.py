"""What is not linear in the images looks at some, drawn by chance, and the report says so."""

import numpy as np
import pytest

from helpers.outputs import Outputs
from known_unknowns.auditing import audit, auditing, near_copies, ranking, wished
from known_unknowns.auditing.doubts import find_doubts
from known_unknowns.auditing.inputs import Inputs
from known_unknowns.auditing.summary import findings


def said(found):
    return next(one for one in findings(found) if one.name == "limits").details


def test_of_few_images_all_are_looked_at(inputs):
    found = audit(inputs, risk=0.2, replicates=2)
    assert found.notes == () and not any("drawn" in one for one in said(found))


def test_of_many_images_some_are_and_promises_rest_on_all(inputs, monkeypatch):
    """The halves, the threshold's half and the accuracy are those of all images."""
    whole = audit(inputs, risk=0.2, replicates=2)
    monkeypatch.setattr(ranking, "COMPARED", 90)
    monkeypatch.setattr(auditing, "FITTED", 80)
    monkeypatch.setattr(near_copies, "MOST", 70)
    seen = []
    monkeypatch.setattr(auditing, "fit_temperature", lambda *pair: seen.append(len(pair[1])) or 1.0)
    found = audit(inputs, risk=0.2, replicates=2)
    assert seen == [80] and found.accuracy == whole.accuracy
    assert np.array_equal(found.measuring, whole.measuring)
    assert len(found.samples["validation"]) == len(found.measuring) == 150
    compared = "at most 90 ID images, and as many of each set"
    for told in (compared, "80 images of the half", "among 70 validation"):
        assert any(told in one for one in said(found))


def test_copies_among_many_images_are_found_among_those_drawn(monkeypatch):
    """Every image has a near copy: of 300 drawn ones a fourth, about, finds its own."""
    generator, n = np.random.default_rng(0), 600
    labels = np.tile(np.arange(n) % 2, 2)
    features = generator.normal(size=(n, 32)).astype(np.float32)
    features = np.concatenate([features, features + 1e-3])
    logits = np.eye(2)[labels] + features[:, :2] / 10
    inputs = Inputs("made up", Outputs(logits, features, labels), ("ant", "bee"))
    monkeypatch.setattr(near_copies, "MOST", 300)
    (one,) = (one for one in find_doubts(inputs) if one.name == "near_copies")
    found, _, rest = one.sentence.partition(" of ")
    assert rest.startswith("300 validation images") and 30 <= int(found) <= 130
    monkeypatch.setattr(near_copies, "MOST", 50_000)
    (one,) = (one for one in find_doubts(inputs) if one.name == "near_copies")
    assert one.sentence.startswith("1200 of 1200 validation images")


@pytest.mark.parametrize("measure", [wished.coverage_at_risk, wished.risk_at_coverage])
def test_replicates_at_a_time_change_nothing(measure, monkeypatch):
    generator = np.random.default_rng(0)
    given = generator.normal(size=50).round(1), generator.random(50) < 0.8
    weights = generator.integers(0, 3, (20, 50))
    whole = measure(*given, weights, 0.3)
    monkeypatch.setattr(wished, "_CELLS", 120)
    assert np.array_equal(measure(*given, weights, 0.3), whole)
