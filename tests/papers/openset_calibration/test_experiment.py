import numpy as np
import pytest

from helpers import metrics
from helpers.outputs import Outputs
from helpers.papers import run
from helpers.papers.openset_calibration import experiment
from helpers.papers.openset_calibration.claims import CLAIMS
from helpers.papers.openset_calibration.experiment import SplitOutputs
from helpers.papers.parameters import load

CALIBRATIONS = ("before", "after")


PARAMETERS = load("openset_calibration", "mini")


def stub(classes, unknown):
    """Outputs on three sets, of which the test set may have unknown classes."""
    generator = np.random.default_rng(classes)

    def outputs(n, labels):
        logits = generator.normal(size=(n, classes)).astype(np.float32)
        logits[np.arange(n), np.maximum(labels, 0)] += 1.5 * (labels >= 0)
        return Outputs(3 * logits, np.zeros((n, 1)), labels)

    return SplitOutputs(
        outputs(300, np.arange(300) % classes),
        outputs(120, np.arange(120) % classes),
        outputs(400, np.arange(400) % (classes + unknown) - unknown),
    )


@pytest.fixture
def pair():
    return {"closed-set": stub(10, unknown=False), "open-set": stub(6, unknown=True)}


def measure(panel, replicates=20):
    """Return the rows of a panel by metric."""
    weights = metrics.resample_weights(len(panel.labels), replicates=replicates, seed=0)
    return {row["metric"]: row for row in experiment.measure(panel, 15, weights)}


def test_scaling_changes_confidences_and_not_answers(pair):
    panels = experiment.panels(pair, PARAMETERS)
    assert list(panels) == [(m, c) for m in experiment.METHODS for c in CALIBRATIONS]
    for method in experiment.METHODS:
        before, after = (panels[method, when] for when in CALIBRATIONS)
        assert np.array_equal(before.answers, after.answers)
        assert before.temperature == 1.0 < after.temperature
        assert not np.allclose(before.confidence, after.confidence)


def test_closed_set_numbers_are_those_of_the_plain_metrics(pair):
    panel = experiment.panels(pair, PARAMETERS)["closed-set", "before"]
    measured = {metric: row["value"] for metric, row in measure(panel).items()}
    test = pair["closed-set"].test
    assert measured["accuracy"] == pytest.approx(test.correct.mean())
    assert measured["brier"] == pytest.approx(metrics.brier(test.probabilities, test.labels))
    assert measured["ece"] == pytest.approx(metrics.ece(test.probabilities, test.labels))
    assert "rejected" not in measured and "threshold" not in measured


def test_open_set_numbers_are_those_of_the_open_set_metrics(pair):
    panel = experiment.panels(pair, PARAMETERS)["open-set", "after"]
    measured = {metric: row["value"] for metric, row in measure(panel).items()}
    arrays = panel.probabilities, panel.unknown, panel.labels
    assert measured["brier"] == pytest.approx(metrics.open_set_brier(*arrays))
    assert measured["ece"] == pytest.approx(metrics.open_set_ece(*arrays, panel.answers))
    assert measured["accuracy"] == pytest.approx((panel.answers == panel.labels).mean())
    assert measured["rejected"] == pytest.approx((panel.answers == -1).mean())


def test_the_threshold_keeps_the_wished_share_of_the_held_out_images(pair):
    for keep in (0.8, 0.95):
        threshold = experiment.rejection_threshold(pair["open-set"], PARAMETERS.replace(keep=keep))
        kept = (pair["open-set"].calibration.probabilities.max(axis=1) >= threshold).mean()
        assert keep <= kept < keep + 0.02


def test_variants_differ_where_they_say_so(pair):
    primary = experiment.panels(pair, PARAMETERS)

    def of(variant, method, when="after"):
        return experiment.panels(pair, PARAMETERS, variant)[method, when]

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
        experiment.panels(pair, PARAMETERS, "halve")


def test_replicates_are_paired_over_methods_and_match_the_plain_numbers(pair):
    panels = experiment.panels(pair, PARAMETERS)
    by_metric = {}
    for key in [("open-set", "before"), ("open-set", "after")]:
        rows = measure(panels[key], replicates=500)
        by_metric[key] = rows
        for metric in ("accuracy", "brier"):
            row = rows[metric]
            assert np.mean(row["bootstrap"]) == pytest.approx(row["value"], abs=0.01)
    same = [rows["accuracy"]["bootstrap"] for rows in by_metric.values()]
    assert np.array_equal(*same)  # same answers on the same resampled images


def test_the_driver_gives_a_table_that_can_be_judged(pair, monkeypatch, tmp_path):
    monkeypatch.setenv("CACHE_ROOT", str(tmp_path))
    monkeypatch.setattr(experiment, "roles", lambda *_: {})
    monkeypatch.setattr(experiment, "models", lambda *_: {})
    monkeypatch.setattr(experiment, "outputs", lambda *_: pair)
    few = PARAMETERS.replace(data_sets=["digits"], networks={"resnet8": {}}, replicates=20)
    table = run.rows(few, progress=False)
    assert set(table["variant"]) == set(experiment.VARIANTS) and set(table["run"]) == {0, 1}
    assert table.loc[table["method"] == "closed-set", "variant"].unique().tolist() == ["primary"]
    verdicts = CLAIMS.verdicts(CLAIMS.check(table))
    assert len(verdicts) == 4 and "no data" not in set(verdicts["verdict"])


def test_a_part_goes_through_all_stages_and_is_kept(monkeypatch, tmp_path):
    """With real networks, tiny ones."""
    monkeypatch.setenv("CACHE_ROOT", str(tmp_path))
    tiny = PARAMETERS.replace(data_sets=["digits"], runs=1, epochs=1, replicates=2)
    (part,) = run.parts(tiny, "digits/resnet8/0")
    table = run.rows_of_part(tiny, part)
    assert "failed" not in set(table["metric"]) and set(table["backbone"]) == {"resnet8"}
    files = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.*")}
    assert run.rows_of_part(tiny, part).equals(table)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.*")} == files
    assert len(list((tmp_path / "networks").glob("*"))) == 2


def test_the_matched_tail_refuses_about_as_many_held_out_images_as_the_threshold(pair):
    """Nearer to it than the shortest and the longest tail; the threshold itself is as close."""
    network, beyond = pair["open-set"], {}
    largest = round(experiment.correct_per_class(network))
    chosen = experiment.matched_tail(network, PARAMETERS)
    for tail in (2, chosen, largest):
        beyond[tail] = abs(experiment._refused(network, PARAMETERS, tail))
    assert beyond[chosen] == min(beyond.values()) < max(beyond.values())
    panels = experiment.panels(pair, PARAMETERS, "matched tail")
    expected = experiment.panels(pair, PARAMETERS.replace(tail=chosen))
    key = (experiment.METHODS[2], "after")
    assert np.array_equal(panels[key].answers, expected[key].answers)
    assert set(panels) == {(experiment.METHODS[2], when) for when in CALIBRATIONS}
