"""A promise for each stratum: kept, not wasteful, and said to be missing where images are few."""

import numpy as np
import pytest

from helpers.outputs import Outputs
from known_unknowns.auditing import Inputs, audit
from known_unknowns.auditing.inputs import make_inputs
from known_unknowns.auditing.summary import findings

HARD = np.array([0.15, 0.5, 1.0])
"""By stratum, how often the least sure image is wrong; the surest never is."""


def draw(generator, sizes):
    """Return a model's outputs on strata of these sizes; its confidence is uniform in (1/2, 1)."""
    strata = np.repeat(np.arange(len(sizes)), sizes)
    sure = generator.random(len(strata))
    right = generator.random(len(strata)) > HARD[strata] * (1 - sure)
    answers = generator.integers(2, size=len(strata))
    logits = np.zeros((len(strata), 2))
    logits[np.arange(len(strata)), answers] = -np.log(2 / (1 + sure) - 1)
    part = Outputs(logits, np.empty((len(strata), 0)), np.where(right, answers, 1 - answers))
    return Inputs("made up", part, ("ant", "bee"), strata=strata)


def test_what_is_promised_of_each_stratum_holds_for_all_of_them_together():
    """Over 60 draws, on both sides; the one threshold for all breaks it in the hard one."""
    generator, draws, risk, level = np.random.default_rng(0), 60, 0.1, 0.4
    broken, broken_by_one, kept = 0, 0, []
    for _ in range(draws):
        found = audit(
            draw(generator, [3000, 3000, 3000]), risk=risk, confidence=1 - level, replicates=2
        )
        needed, rows = found.by_stratum
        assert all(one.images > needed for one in rows)
        # the chosen score rises with the confidence: the images tell where the threshold lies
        score = found.samples["validation"]
        sure = 2 * found.claimed[found.measuring] - 1
        values = [one.value for one in rows]
        at = np.array([sure[score >= one].min(initial=1.0) for one in values])
        broken += bool((HARD * (1 - at) / 2 > risk).any())
        one_for_all = sure[score >= found.thresholds["risk"].value].min(initial=1.0)
        broken_by_one += bool((HARD * (1 - one_for_all) / 2 > risk).any())
        kept.append([one.coverage for one in rows])
    assert broken <= level * draws + 3 * np.sqrt(level * (1 - level) * draws)
    assert broken_by_one > 0.9 * draws
    best = np.minimum(2 * risk / HARD, 1)
    assert (np.nanmean(kept, axis=0) > 0.5 * best).all()


def test_the_report_names_strata_with_a_promise_and_those_of_too_few_images():
    found = audit(draw(np.random.default_rng(1), [3000, 3000, 40]), risk=0.1, replicates=2)
    details = next(one for one in findings(found) if one.name == "accept").details
    assert any(one.startswith("Of 2 of the 3 strata a risk of 10 %") for one in details)
    said = found.as_dict()
    few = said["strata"][2]
    assert few["name"] == "2" and few["value"] is None
    assert any(
        f"takes {said['images_needed_by_stratum']} images of a stratum" in one
        and f"2 ({few['images']})" in one
        for one in details
    )


def test_without_strata_nothing_is_said(inputs):
    found = audit(inputs, risk=0.2, replicates=2)
    details = next(one for one in findings(found) if one.name == "accept").details
    assert not any("strata" in one for one in details) and found.as_dict()["strata"] == []


def test_strata_of_another_length_are_refused():
    arrays = {"logits": np.eye(3)[np.arange(30) % 3] * 3 - 1, "labels": np.arange(30) % 3}
    assert make_inputs(arrays | {"strata": np.arange(30) % 2}, source="x").strata is not None
    with pytest.raises(ValueError, match="strata: 30 whole numbers or texts expected"):
        make_inputs(arrays | {"strata": np.arange(29)}, source="x")
