"""The threshold that a reader moves: what each place says is what that threshold does."""

from dataclasses import replace

import numpy as np
import pytest

from known_unknowns.auditing import audit, moving
from known_unknowns.auditing.page import page


def test_each_place_is_what_the_threshold_does(inputs):
    found = audit(inputs, risk=0.2, replicates=5)
    rows, own = moving.places(found), found.samples["validation"]
    pets = found.samples["pets_and_toys"]
    for row in rows:
        accepted = own >= row.threshold
        assert row.coverage == accepted.mean()
        assert row.risk == pytest.approx((~found.correct[accepted]).mean())
        assert row.ood_accepted == {"pets_and_toys": (pets >= row.threshold).mean()}
    (promised,) = [row for row in rows if row.promised]
    kept = found.thresholds["risk"]
    assert (promised.threshold, promised.coverage) == (kept.value, kept.coverage[0])
    assert rows[0].coverage == 1 and np.all(np.diff([row.coverage for row in rows]) < 0)


def test_the_rejectors_place_is_shown_first_and_said(inputs):
    said = audit(inputs, risk=0.2, replicates=5).as_dict()
    still = moving.draw(said).partition("<script")[0]
    assert "This is the rejector's." in still.replace("&#x27;", "'") and "pets_and_toys" in still
    without = audit(inputs, risk=0.001, replicates=5).as_dict()
    assert not any(row["promised"] for row in without["curve"])
    assert "the rejector" not in moving.draw(without)


def test_where_all_scores_are_the_same_there_is_nothing_to_move(inputs):
    found = audit(inputs, risk=0.2, replicates=5)
    same = {name: np.zeros(len(one)) for name, one in found.samples.items()}
    rows = moving.places(replace(found, samples=same, deployed=""))
    assert len(rows) == 1 and moving.draw({"curve": [vars(row) for row in rows]}) == ""
    said = found.as_dict()
    assert "Move the threshold" in page(found, said)
    assert "Move the threshold" not in page(found, said | {"curve": said["curve"][:1]})
