"""The score is chosen by the target, and by its area among equally good scores."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from helpers import scores
from known_unknowns.auditing import ranking, read_outputs
from known_unknowns.auditing.ranking import ID, Groups, Half, Target, fitted


def test_scores_in_blocks_equal_scores_at_once(inputs, monkeypatch):
    usable, _ = fitted(inputs)
    places = np.random.default_rng(0).permutation(len(inputs.validation))[:150]
    monkeypatch.setattr(ranking, "BLOCK", 64)
    values_of_halves = ranking.score_halves(usable, {"some": Half(inputs.validation, places)})
    for name, score in usable.items():
        whole = score.score_samples(inputs.validation.subset(places))
        assert np.array_equal(values_of_halves[name]["some"], whole), name


def test_every_score_is_ranked_or_left_out_with_a_reason(inputs, arrays, write):
    usable, left_out = fitted(inputs)
    assert set(usable) | set(left_out) == set(scores.names())
    assert not set(usable) & set(left_out)
    assert set(left_out) == {"jacobian", "jsd", "native", "odin", "tta"}
    few = read_outputs(write({name: arrays[name] for name in ("logits", "labels")}))
    usable, left_out = fitted(few)
    assert set(usable) == {"energy", "entropy", "gap", "gen", "max_logit", "msp"}
    assert "features" in left_out["vim"]
    assert "head's weights" in left_out["vim"]
    assert "training images" in left_out["openmax"]
    _, left_out = fitted(replace(inputs, level=False))
    of_the_level = {"energy", "max_logit", "nnguide", "openmax", "scale", "vim"}
    assert {name for name in left_out if "lost their level" in left_out[name]} == of_the_level


def test_of_scores_that_may_be_as_good_the_most_modest_comes_first():
    """A copy of a score with more needs is as good as the score itself."""
    correct, samples = made_up()
    _, best = choose(correct, {"knn": samples["msp"], "msp": samples["msp"]}, Target())
    assert best == ["msp", "knn"]


IMAGES = 1000


def made_up(seed=0):
    """Return right answers, and two scores: one good at the top, one good altogether.

    A fifth of the answers is wrong.  The first score puts all wrong ones into the lower half and
    mixes there; the second has one wrong among ten at the very top, and is perfect elsewhere.
    """
    generator = np.random.default_rng(seed)
    correct = np.arange(IMAGES) >= IMAGES // 5
    upper = np.where(correct, generator.integers(0, 2, IMAGES), 0) * 10 + generator.random(IMAGES)
    perfect = correct + generator.random(IMAGES) / 2
    perfect[generator.permutation(IMAGES // 5)[:30]] = 3 + generator.random(30)
    return correct, {"msp": upper, "energy": perfect}


def choose(correct, samples, target, ood=None, replicates=100):
    usable = {name: scores.create(name) for name in samples}
    sampled = {name: {ID: values} | (ood or {}).get(name, {}) for name, values in samples.items()}
    halves = {ID: Half(SimpleNamespace(correct=correct), np.arange(IMAGES))}
    if ood:
        halves["pets"] = Half(None, np.arange(len(ood["msp"]["pets"])))
    return ranking.ranked(usable, sampled, Groups(halves, replicates, 0, target))


@pytest.mark.parametrize(
    ("target", "chosen"),
    [
        (Target("risk", 0.01), "msp"),
        (Target("risk", 0.05), "energy"),
        (Target("coverage", 0.4), "msp"),
        (Target("coverage", 0.8), "energy"),
    ],
)
def test_the_target_chooses_the_score_and_the_area_does_not(target, chosen):
    """The first score has the smaller area for each target."""
    table, best = choose(*made_up(), target)
    area = table[table["metric"] == "aurc"].set_index("score")["value"]
    assert best == [chosen]
    assert table["score"].iloc[0] == chosen
    assert area.idxmin() == "msp"
    assert set(table["metric"]) == {target.metric, "aurc"}


def test_a_stated_share_of_unknown_images_counts():
    """A score that lets unknown images through keeps little where they are reckoned with."""
    generator = np.random.default_rng(1)
    correct = generator.random(IMAGES) < 0.97
    own = generator.random(IMAGES) + correct
    samples = {"msp": own + 0.001, "energy": own}
    ood = {"msp": {"pets": np.full(200, 3.0)}, "energy": {"pets": np.full(200, -1.0)}}
    for share, of_msp in ((0.2, 0), (0.0, 1)):
        table, best = choose(correct, samples, Target("risk", 0.05, share), ood)
        kept = table.query("metric == 'coverage'").set_index("score")["value"]
        assert kept.to_dict() == {"energy": 1, "msp": of_msp}
        assert best == ["energy"] or not share


@pytest.mark.parametrize("decimals", [8, 1])
def test_weights_are_images_drawn_again(decimals):
    """Each row of weights gives the same number as the repeated images."""
    generator = np.random.default_rng(2)
    values = generator.random(200).round(decimals)
    correct = generator.random(200) < 0.8
    weights = generator.multinomial(200, np.full(200, 1 / 200), size=5).astype(np.uint16)
    coverages = ranking.coverage_at_risk(values, correct, weights, 0.15)
    risks = ranking.risk_at_coverage(values, correct, weights, 0.7)
    for row, coverage, risk in zip(weights, coverages, risks, strict=True):
        again = np.repeat(values, row)
        right = np.repeat(correct, row)
        kept = [(again >= t).mean() for t in again if (~right[again >= t]).mean() <= 0.15]
        assert coverage == max(kept, default=0)
        enough = max(t for t in again if (again >= t).mean() >= 0.7)
        assert risk == pytest.approx((~right[again >= enough]).mean())
