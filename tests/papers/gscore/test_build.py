"""Numbers of the default build, next to the committed numbers."""

import numpy as np
import pytest

from helpers import metrics
from helpers.papers import load, run
from helpers.papers.gscore import experiment
from helpers.papers.gscore.mixtures import DetectorScores


def test_auroc_and_fpr95_of_a_set_have_replicates_over_both_kinds_of_images():
    draw = np.random.default_rng(0).normal
    known = {half: draw(1, 1, 60) for half in ("meta", "test")}
    scores = DetectorScores(known, draw(1, 1, 30), {"a": draw(0, 1, 40)})
    weights = run.draws(load("gscore", "mini", replicates=50))
    replicates = experiment._replicates(scores, weights)
    assert {(half, metric) for half, metric, _ in replicates} == {
        (half, metric) for half in known for metric in ("auroc", "fpr95")
    }
    for half, of_half in known.items():
        areas = replicates[half, "auroc", "a"]
        known_again = np.repeat(of_half, weights(f"ID {half}", 60)[7])
        unknown_again = np.repeat(scores.sets["a"], weights("a", 40)[7])
        assert len(areas) == 50
        assert areas[7] == pytest.approx(metrics.auroc(known_again, unknown_again))
