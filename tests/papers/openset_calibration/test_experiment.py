"""The roles of images, and the experiment on made-up outputs."""

import numpy as np
import pytest

from helpers import metrics
from helpers.outputs import Outputs
from helpers.papers.openset_calibration import experiment
from helpers.papers.openset_calibration.experiment import METHODS, Answers, SplitOutputs
from helpers.papers.openset_calibration.roles import split
from helpers.papers.parameters import load
from helpers.scores import openmax
from helpers.scores.calibration import fit_temperature

PARAMETERS = load("openset_calibration", "mini")
OPENMAX = METHODS[2]


def stub(classes, unknown):
    """Return outputs on three sets; the test set may have unknown classes."""
    generator = np.random.default_rng(classes)

    def outputs(n, unknown=False):
        labels = np.arange(n) % (classes + unknown) - unknown
        logits = generator.normal(size=(n, classes)).astype(np.float32)
        logits[np.arange(n), np.maximum(labels, 0)] += 1.5 * (labels >= 0)
        return Outputs(3 * logits, np.zeros((n, 1)), labels)

    learnt = outputs(300)
    distances = {
        kind: openmax.class_distances(learnt.logits, learnt.labels, kind)
        for kind in experiment.DISTANCES
    }
    return SplitOutputs(outputs(120), outputs(400, unknown), distances)


@pytest.fixture(scope="module")
def pair():
    return {"closed-set": stub(10, unknown=False), "open-set": stub(6, unknown=True)}


@pytest.fixture(scope="module")
def panels(pair):
    return experiment.panels(pair, PARAMETERS)


def measure(panel, replicates=20):
    weights = metrics.resample_weights(len(panel.labels), replicates=replicates, seed=0)
    return {row["metric"]: row for row in experiment.measure(panel, 15, weights)}


def test_numbers_equal_the_plain_metrics(pair, panels):
    closed = measure(panels["closed-set", "before"])
    test = pair["closed-set"].test
    panel = panels["open-set", "after"]
    assert "rejected" not in closed
    assert "threshold" not in closed
    opened = measure(panel)
    arrays = panel.probabilities, panel.unknown, panel.labels
    for rows, metric, expected in (
        (closed, "accuracy", test.correct.mean()),
        (closed, "brier", metrics.brier(test.probabilities, test.labels)),
        (closed, "ece", metrics.ece(test.probabilities, test.labels)),
        (opened, "accuracy", (panel.answers == panel.labels).mean()),
        (opened, "brier", metrics.open_set_brier(*arrays)),
        (opened, "ece", metrics.open_set_ece(*arrays, panel.answers)),
        (opened, "rejected", (panel.answers == -1).mean()),
    ):
        assert rows[metric]["value"] == pytest.approx(expected)


def test_variants_differ_as_documented(pair, panels):
    def of(variant, method, when="after"):
        return experiment.panels(pair, PARAMETERS, variant)[method, when]

    plain = panels["open-set", "after"]
    openmax = panels[OPENMAX, "after"]
    held_out = pair["open-set"].calibration.probabilities.max(axis=1)
    assert PARAMETERS.keep <= (held_out >= plain.threshold).mean() < PARAMETERS.keep + 0.02
    rejected = plain.answers < 0
    low = panels["open-set", "before"].probabilities.max(axis=1) < 0.5
    assert np.array_equal(of("half", "open-set").answers < 0, low)
    assert (rejected != low).any()
    moved = of("moving decision", "open-set")
    assert (moved.answers < 0).sum() > rejected.sum()  # T > 1 lowers all confidences
    known = of("known confidence", "open-set")
    assert np.array_equal(known.confidence[rejected], plain.probabilities.max(axis=1)[rejected])
    assert np.array_equal(known.confidence[~rejected], plain.confidence[~rejected])
    total = of("normalised", "open-set")
    np.testing.assert_allclose(total.probabilities.sum(axis=1) + total.unknown, 1)
    for method in METHODS[1:]:
        fixed = of("one threshold", method, "before")
        low = fixed.probabilities.max(axis=1) < PARAMETERS.threshold
        assert np.array_equal(fixed.answers < 0, low)
        assert 0 < low.mean() < 1
    shared = of("shared temperature", OPENMAX)
    assert shared.temperature == plain.temperature != openmax.temperature
    with pytest.raises(ValueError, match="unknown variant 'halve'; did you mean 'half'"):
        experiment.panels(pair, PARAMETERS, "halve")


def test_the_matched_tail_rejects_about_as_many_held_out_images_as_the_threshold(pair):
    network = pair["open-set"]
    chosen = experiment.matched_tail(network, PARAMETERS)
    tails = (2, chosen, round(experiment.correct_per_class(network)))
    beyond = {tail: abs(experiment._refused(network, PARAMETERS, tail)) for tail in tails}
    assert beyond[chosen] == min(beyond.values()) < max(beyond.values())


def test_variants_of_openmax_are_its_tail_and_its_distance(pair, panels):
    """And its temperature is fitted to revised logits."""
    network = pair["open-set"]
    key = OPENMAX, "after"
    for variant, changed in {
        "matched tail": {"tail": experiment.matched_tail(network, PARAMETERS)},
        "long tail": {"tail": round(0.2 * experiment.correct_per_class(network))},
        "cosine": {"distance": "euclidean_cosine"},
    }.items():
        answers = experiment.panels(pair, PARAMETERS, variant)
        expected = experiment.panels(pair, PARAMETERS.replace(**changed))
        assert {method for method, _ in answers} == {OPENMAX}
        assert np.array_equal(answers[key].probabilities, expected[key].probabilities)
    revised = experiment.openmax(network, PARAMETERS).revised_logits(network.calibration.logits)
    temperature = fit_temperature(revised, network.calibration.labels)
    assert panels[key].temperature == temperature


def test_the_bins_of_figure_1():
    """Rejected images are in the bin of their confidence, and are correct if they are unknown."""
    known = np.array([[0.9, 0.1], [0.42, 0.58], [0.6, 0.4]])
    unknown = np.array([0, 0, 0.1])
    answers = Answers(known, unknown, np.array([0, 1, -1]), np.array([0, 0, -1]))
    rows = experiment.bins_of(answers, 10)
    expected = {"01": (1, pytest.approx(0.1)), "06": (0, 0.58), "09": (1, 0.9)}
    assert {row["metric"]: (row["value"], row["images"]) for row in rows} == {
        f"{name}_in_bin_{number}_of_10": (value, 1)
        for number, values in expected.items()
        for name, value in zip(("accuracy", "confidence"), values, strict=True)
    }


def test_the_closed_set_has_all_classes_and_labels_keep_their_names():
    closed, opened = (split(PARAMETERS, "cifar10_mini", name, 1) for name in METHODS[:2])
    assert closed.unknown == ()
    assert len(closed.known) == 10
    assert (len(closed.train), len(closed.calibration), len(closed.test)) == (2700, 300, 1000)
    assert np.array_equal(closed.test.images, opened.test.images)
    for before, after in zip(closed.test.labels, opened.test.labels, strict=True):
        name = closed.known[before]
        assert (opened.known[after] == name) if after >= 0 else (name in opened.unknown)


def test_a_replicate_with_weights_of_one_is_the_number(panels):
    panel = panels["open-set", "after"]
    ones = np.ones((2, len(panel.labels)), int)
    rows = {row["metric"]: row for row in experiment.measure(panel, 5, ones)}
    assert rows["unknown"]["value"] == (panel.labels < 0).mean()
    floor = metrics.calibration_error_floor(panel.confidence, bins=5)
    assert rows["ece_floor"]["value"] == floor
    error = metrics.calibration_error(panel.confidence, panel.correct, bins=5)
    assert rows["ece"]["value"] == error
    for name in ("accuracy", "brier", "ece", "rejected", "unknown"):
        assert rows[name]["bootstrap"] == pytest.approx(rows[name]["value"], rel=1e-5), name
    assert rows["ece_floor"]["bootstrap"] == pytest.approx(floor, rel=0.2)  # it is simulated


def test_openmax_beside_one_threshold_has_a_tail_of_twenty_and_revises_three_logits(pair):
    variant = experiment.panels(pair, PARAMETERS.replace(tail=5), "one threshold")
    plain = experiment.panels(pair, PARAMETERS.replace(tail=20, alpha=3))
    key = OPENMAX, "before"
    assert np.array_equal(variant[key].probabilities, plain[key].probabilities)
