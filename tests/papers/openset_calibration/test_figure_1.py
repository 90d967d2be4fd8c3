"""Figure 1 is drawn from the results table, at every tier."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from helpers import metrics
from helpers.papers.openset_calibration import experiment, figures


@pytest.fixture
def runs():
    """Answers of two runs, of which the second is surer than it is right."""
    generator = np.random.default_rng(0)
    found = []
    for power in (1, 3):
        probabilities = generator.dirichlet(np.ones(3), 200)
        best = probabilities.max(axis=1)
        answers = probabilities.argmax(axis=1)
        labels = np.where(generator.random(200) < best**power, answers, (answers + 1) % 3)
        found.append(experiment.Answers(probabilities, np.zeros(200), answers, labels))
    return found


def table_of(runs, bins):
    rows = [
        {"method": "closed-set", "calibration": "before", "run": run} | row
        for run, answers in enumerate(runs)
        for row in experiment.bins_of(answers, bins)
    ]
    return pd.DataFrame(rows)


@pytest.mark.parametrize("bins", [4, 15])
def test_it_is_the_curve_of_the_images_of_all_runs(runs, bins):
    curves = figures.reliability_curves(table_of(runs, bins))
    together = metrics.reliability_curve(
        np.concatenate([one.confidence for one in runs]),
        np.concatenate([one.correct for one in runs]),
        bins=bins,
    )
    own = curves["closed-set", "before"]
    for name, theirs in together._asdict().items():
        assert getattr(own, name) == pytest.approx(theirs), name
    alone = figures.reliability_curves(table_of(runs[:1], bins))["closed-set", "before"]
    assert alone.count @ alone.accuracy / 200 > own.count @ own.accuracy / 400 + 0.05


def test_a_table_without_bins_has_no_figure(runs):
    table = table_of(runs, 15)
    assert figures.reliability_curves(table.assign(metric="ece")) == {}


def test_rejected_images_are_in_the_bin_of_their_own_confidence(runs):
    refused = dataclasses.replace(
        runs[0], unknown=np.full(200, 0.1), answers=np.full(200, -1), labels=np.full(200, -1)
    )
    (row, sure) = experiment.bins_of(refused, 10)
    assert (row["metric"], row["value"], row["images"]) == ("accuracy_in_bin_01_of_10", 1, 200)
    assert sure["value"] == pytest.approx(0.1)
