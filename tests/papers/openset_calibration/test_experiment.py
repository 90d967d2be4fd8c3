import numpy as np
import pytest

from helpers import metrics
from helpers.outputs import Outputs
from helpers.papers.openset_calibration import claims, experiment
from helpers.papers.openset_calibration.experiment import Protocol
from helpers.report import results

CALIBRATIONS = ("before", "after")


class Stub:
    """Stands for a network: outputs on three sets, of which the test set has unknown classes."""

    def __init__(self, classes=6, unknown=True):
        generator = np.random.default_rng(classes)

        def outputs(n, labels):
            logits = generator.normal(size=(n, classes)).astype(np.float32)
            logits[np.arange(n), np.maximum(labels, 0)] += 1.5 * (labels >= 0)
            return Outputs(3 * logits, np.zeros((n, 1)), labels)

        self.train = outputs(300, np.arange(300) % classes)
        self.calibration = outputs(120, np.arange(120) % classes)
        self.test = outputs(400, np.arange(400) % (classes + unknown) - unknown)


@pytest.fixture
def pair():
    return Stub(10, unknown=False), Stub(6)


def test_scaling_changes_confidences_and_not_answers(pair):
    panels = experiment.panels(*pair, Protocol())
    assert list(panels) == [(m, c) for m in experiment.METHODS for c in CALIBRATIONS]
    for method in experiment.METHODS:
        before, after = (panels[method, when] for when in CALIBRATIONS)
        assert np.array_equal(before.answers, after.answers)
        assert before.temperature == 1.0 < after.temperature
        assert not np.allclose(before.confidence, after.confidence)


def test_closed_set_numbers_are_those_of_the_plain_metrics(pair):
    panel = experiment.panels(*pair, Protocol())["closed-set", "before"]
    measured = {row["metric"]: row["value"] for row in experiment.measure(panel, Protocol())}
    test = pair[0].test
    assert measured["accuracy"] == pytest.approx(test.correct.mean())
    assert measured["brier"] == pytest.approx(metrics.brier(test.probabilities, test.labels))
    assert measured["ece"] == pytest.approx(metrics.ece(test.probabilities, test.labels))
    assert "rejected" not in measured and "threshold" not in measured


def test_open_set_numbers_are_those_of_the_open_set_metrics(pair):
    panel = experiment.panels(*pair, Protocol())["open-set", "after"]
    measured = {row["metric"]: row["value"] for row in experiment.measure(panel, Protocol())}
    arrays = panel.probabilities, panel.unknown, panel.labels
    assert measured["brier"] == pytest.approx(metrics.open_set_brier(*arrays))
    assert measured["ece"] == pytest.approx(metrics.open_set_ece(*arrays, panel.answers))
    assert measured["accuracy"] == pytest.approx((panel.answers == panel.labels).mean())
    assert measured["rejected"] == pytest.approx((panel.answers == -1).mean())


def test_the_threshold_keeps_the_wished_share_of_the_held_out_images(pair):
    for keep in (0.8, 0.95):
        threshold = experiment.rejection_threshold(pair[1], Protocol(keep=keep))
        kept = (pair[1].calibration.probabilities.max(axis=1) >= threshold).mean()
        assert keep <= kept < keep + 0.02


def test_variants_differ_where_they_say_so(pair):
    primary = experiment.panels(*pair, Protocol())

    def of(variant, method, when="after"):
        return experiment.panels(*pair, Protocol(), variant)[method, when]

    plain, openmax = primary["open-set", "after"], primary["open-set + OpenMax", "after"]
    low = primary["open-set", "before"].probabilities.max(axis=1) < 0.5
    assert np.array_equal(of("half", "open-set").answers < 0, low)
    assert not np.array_equal(plain.answers < 0, low)
    moved = of("moving decision", "open-set")
    assert (moved.answers < 0).sum() > (plain.answers < 0).sum()  # T > 1 lowers all confidences
    known = of("known confidence", "open-set")
    rejected = plain.answers < 0
    assert np.array_equal(known.confidence[rejected], plain.probabilities.max(axis=1)[rejected])
    assert np.array_equal(known.confidence[~rejected], plain.confidence[~rejected])
    total = of("normalised", "open-set")
    np.testing.assert_allclose(total.probabilities.sum(axis=1) + total.unknown, 1)
    shared = of("shared temperature", "open-set + OpenMax")
    assert shared.temperature == plain.temperature != openmax.temperature
    with pytest.raises(ValueError, match="unknown variant 'halve'; did you mean 'half'"):
        experiment.panels(*pair, Protocol(), "halve")


def test_replicates_are_paired_over_methods_and_match_the_plain_numbers(pair):
    protocol = Protocol(replicates=500)
    panels = experiment.panels(*pair, protocol)
    by_metric = {}
    for key in [("open-set", "before"), ("open-set", "after")]:
        rows = {row["metric"]: row for row in experiment.measure(panels[key], protocol)}
        by_metric[key] = rows
        for metric in ("accuracy", "brier"):
            row = rows[metric]
            assert np.mean(row["bootstrap"]) == pytest.approx(row["value"], abs=0.01)
    same = [rows["accuracy"]["bootstrap"] for rows in by_metric.values()]
    assert np.array_equal(*same)  # same answers on the same resampled images


def test_evaluate_gives_a_table_that_can_be_written_read_and_judged(pair, monkeypatch, tmp_path):
    class Fitted:
        device_name, seconds = "cpu, 1 thread", 1.0

    def network(data_set, setting, run, recipe, protocol, **options):
        one = pair[0] if setting == "closed-set" else pair[1]
        one.fitted = Fitted
        return one

    monkeypatch.setattr(experiment, "network", network)
    recipes = {"resnet8": experiment.Recipe()}
    table = experiment.evaluate("mini", ["digits"], recipes, 2, Protocol(), progress=False)
    results.write(table, tmp_path / "results.parquet")
    table = results.read(tmp_path / "results.parquet")
    assert set(table["variant"]) == set(experiment.VARIANTS)
    assert table.loc[table["method"] == "closed-set", "variant"].unique().tolist() == ["primary"]
    verdicts = claims.verdicts(claims.check(table))
    assert len(verdicts) == 3 and "no data" not in set(verdicts["verdict"])
