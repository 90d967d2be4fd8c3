"""The halves, the files and the rejector of an audit agree, and the same seed gives the same."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom, ks_2samp

from helpers.outputs import Outputs
from helpers.scores.calibration import softmax
from known_unknowns.auditing import (
    audit,
    auditing,
    doubts,
    ranking,
    read_outputs,
)
from known_unknowns.auditing.doubts import likely_label_errors
from known_unknowns.auditing.findings import facts
from known_unknowns.auditing.prediction import DRIFT_LEVEL as LEVEL
from known_unknowns.auditing.prediction import distance, find_drift
from known_unknowns.auditing.rejector import Rejector
from known_unknowns.auditing.sentences import render


@pytest.fixture
def found(inputs):
    return audit(inputs, risk=0.2, replicates=50)


def test_the_halves_have_nothing_in_common(found):
    both = np.concatenate([found.choosing, found.measuring])
    assert np.array_equal(np.sort(both), np.arange(300)) and len(found.measuring) == 150


def test_the_measuring_half_chooses_nothing(inputs):
    """Whatever its labels are, temperature, ranking and recommendation stay."""
    first = audit(inputs, replicates=20)
    labels = inputs.validation.labels.copy()
    labels[first.measuring] = np.random.default_rng(1).permutation(labels[first.measuring])
    part = inputs.validation
    other = audit(
        replace(inputs, validation=Outputs(part.logits, part.features, labels)), replicates=20
    )
    assert (other.temperature, other.best) == (first.temperature, first.best)
    assert other.ranking.equals(first.ranking)
    assert not other.calibration.equals(first.calibration)


def test_the_rejector_is_that_of_the_report(found, tmp_path):
    """Two lines apply it, and accept as many as the report says."""
    names = ["report.html", "audit.json", "rejector.safetensors"]
    assert [path.name for path in found.save(tmp_path)] == names
    rejector = Rejector.load(tmp_path / "rejector.safetensors")
    part = found.measured
    accepted = rejector.accepts(part.logits, part.features)
    promised = found.thresholds[found.deployed]
    assert found.deployed == "risk"
    assert accepted.mean() == promised.coverage[0]
    assert (~part.correct[accepted]).mean() == promised.risk[0] <= 0.2
    for name, one in found.inputs.ood.items():
        share = (found.samples[name] >= promised.value).mean()
        assert promised.ood_accepted[name] == share
        assert set(found.samples[name]) <= set(rejector.score_samples(one))
    assert rejector.provenance["promise"] == promised.promise


def test_the_same_seed_gives_the_same_report(inputs, found):
    again = audit(inputs, risk=0.2, replicates=50)
    assert again.as_dict() == found.as_dict()
    assert not np.array_equal(audit(inputs, seed=1, replicates=5).choosing, found.choosing)


def test_a_wish_that_cannot_be_had_gives_no_rejector_and_says_what_can(inputs):
    found = audit(inputs, risk=0.001, replicates=5)
    assert found.thresholds["risk"].problem and not found.thresholds["coverage"].problem
    assert found.deployed == "" and found.rejector is None
    said = render("threshold", **facts(found))[-1]
    assert said.startswith("No rejector is written: the wished risk of 0.1 % cannot be had, the ")
    smallest = float(said.removesuffix(" %.").rpartition(" ")[2]) / 100
    assert audit(inputs, risk=smallest, replicates=5).deployed == "risk"
    assert audit(inputs, risk=0.85 * smallest, replicates=5).deployed == ""
    found = audit(inputs, wish="coverage", coverage=0.999, risk=0.2, replicates=5)
    assert found.deployed == "" and not found.thresholds["risk"].problem
    (said,) = render("rejector", **facts(found))
    assert said.endswith("coverage of 99.9 % cannot be had, the largest that can is 99.33 %.")
    assert audit(inputs, wish="coverage", coverage=0.9933, replicates=5).deployed == "coverage"


def test_folder_and_report_agree_after_an_audit_without_a_threshold(found, inputs, tmp_path):
    """The rejector of the audit before would be taken for that of this one."""
    found.save(tmp_path)
    assert (tmp_path / "rejector.safetensors").exists()
    audit(inputs, risk=0.001, replicates=5).save(tmp_path)
    assert json.loads((tmp_path / "audit.json").read_text())["deployed"] == ""
    assert not (tmp_path / "rejector.safetensors").exists()
    assert "No rejector is written" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_kill_between_the_two_files_leaves_no_rejector_of_another_audit(
    found, inputs, tmp_path, monkeypatch
):
    found.save(tmp_path)
    other = audit(inputs, wish="coverage", replicates=5)

    def killed(*arguments):
        raise InterruptedError

    monkeypatch.setattr(Rejector, "save", killed)
    with pytest.raises(InterruptedError):
        other.save(tmp_path)
    assert not (tmp_path / "rejector.safetensors").exists()


def test_a_rejector_from_probabilities_takes_these_and_their_logarithms(arrays, write):
    """And answers both alike; what goes into the softmax is of another kind."""
    logits = arrays["logits"]
    arrays = {
        name: softmax(one) if name.endswith("logits") else one
        for name, one in arrays.items()
        if "head" not in name
    }
    found = audit(read_outputs(write(arrays), treat_as="probabilities"), risk=0.2, replicates=5)
    rejector = found.rejector
    assert rejector.given == "probabilities"
    part = found.inputs.validation
    expected = rejector.accepts(part)
    assert 0 < expected.mean() < 1
    accepted = rejector.accepts(arrays["logits"].astype(np.float32), part.features)
    assert np.array_equal(accepted, expected)
    if "logits" in rejector.score.info.needs:
        with pytest.raises(ValueError, match="made from probabilities, but these are neither"):
            rejector.accepts(logits, part.features)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"wish": "rsk"}, "unknown wish 'rsk'; did you mean 'risk'"),
        ({"risk": 5}, "risk: between 0 and 1 expected, got 5"),
        ({"coverage": 1.0}, "coverage: between 0 and 1 expected"),
        ({"confidence": 0}, "confidence: between 0 and 1 expected"),
    ],
)
def test_wrong_wishes_are_refused(inputs, arguments, message):
    with pytest.raises(ValueError, match=message):
        audit(inputs, **arguments)


def test_the_least_that_can_be_given_is_audited(arrays, write):
    """Logits and labels, all of them right: nothing is infinite, and the oddity is noted."""
    logits = 9.0 * np.eye(4)[arrays["labels"]] + arrays["logits"] / 100
    found = audit(read_outputs(write({"logits": logits, "labels": arrays["labels"]})))
    assert found.accuracy[0] == 1 and len(found.wrong) == 0 and found.prediction is None
    assert "every image is classified correctly" in " ".join(render("limits", **facts(found)))
    json.dumps(found.as_dict(), allow_nan=False)


def test_of_many_images_some_are_and_promises_rest_on_all(inputs, monkeypatch):
    """The halves, the threshold's half and the accuracy are those of all images."""
    whole = audit(inputs, risk=0.2, replicates=2)
    monkeypatch.setattr(ranking, "COMPARED", 90)
    monkeypatch.setattr(auditing, "FITTED", 80)
    monkeypatch.setattr(doubts, "COPIES_AMONG", 70)
    seen = []
    monkeypatch.setattr(auditing, "fit_temperature", lambda *pair: seen.append(len(pair[1])) or 1.0)
    found = audit(inputs, risk=0.2, replicates=2)
    assert seen == [80] and found.accuracy == whole.accuracy
    assert np.array_equal(found.measuring, whole.measuring)
    assert len(found.samples["validation"]) == len(found.measuring) == 150
    compared = "at most 90 ID images, and as many of each set"
    for told in (compared, "80 images of the half", "among 70 validation"):
        assert any(told in one for one in found.notes)


@pytest.mark.parametrize("measure", [ranking.coverage_at_risk, ranking.risk_at_coverage])
def test_replicates_at_a_time_change_nothing(measure, monkeypatch):
    generator = np.random.default_rng(0)
    given = generator.normal(size=50).round(1), generator.random(50) < 0.8
    weights = generator.integers(0, 3, (20, 50))
    whole = measure(*given, weights, 0.3)
    monkeypatch.setattr(ranking, "_CELLS", 120)
    assert np.array_equal(measure(*given, weights, 0.3), whole)


def groups(generator, images, others, *, score=0.0, feature=0.0):
    values, theirs = generator.normal(size=(images, 6)), generator.normal(size=(others, 6))
    theirs[:, 4] += feature
    return generator.normal(size=images), generator.normal(size=others) - score, values, theirs


@pytest.mark.parametrize(("images", "others"), [(40, 60), (300, 150), (500, 2000)])
@pytest.mark.parametrize("decimals", [8, 1])
def test_where_nothing_differs_a_drift_is_seldom_named(images, others, decimals):
    """With ties, too, which make it rarer."""
    generator, draws = np.random.default_rng(images), 300
    named = 0
    for _ in range(draws):
        alike = [one.round(decimals) for one in groups(generator, images, others)]
        named += bool(find_drift(*alike).found())
    assert named <= binom.ppf(0.999, draws, LEVEL)
    if decimals == 8 and images > 40:  # not for want of looking
        assert named >= binom.ppf(0.001, draws, 0.4 * LEVEL)


@pytest.mark.parametrize(
    ("moved", "expected"),
    [({"score": 0.6}, ("score",)), ({"feature": 0.6}, ("features",)),
     ({"score": 0.6, "feature": 0.6}, ("score", "features"))],
)  # fmt: skip
def test_a_drift_is_found_where_it_is(moved, expected):
    generator, draws = np.random.default_rng(7), 40
    found = [find_drift(*groups(generator, 400, 400, **moved)).found() for _ in range(draws)]
    assert sum(one == expected for one in found) >= 0.9 * draws


def test_the_distance_and_its_p_value_are_those_of_scipy():
    """With ties; the p-value is scipy's where there are many images, and larger where few."""
    generator = np.random.default_rng(9)
    for _ in range(20):
        one, other = generator.normal(size=30).round(1), generator.normal(size=50).round(1)
        found = find_drift(one, other, one[:, None], other[:, None])
        assert distance(one, other) == pytest.approx(ks_2samp(one, other).statistic)
        assert found.score[1] >= min(1, 2 * ks_2samp(one, other, method="exact").pvalue)
    one, other = generator.normal(size=4000), generator.normal(0.05, 1, 5000)
    found = find_drift(one, other, one[:, None], other[:, None])
    assert found.score[1] == pytest.approx(2 * ks_2samp(one, other).pvalue, rel=0.05)


def test_labels_that_were_changed_are_found_and_others_are_not(group):
    """Two sides: most of those changed, and of all others only what the model errs on."""
    right = group(600, 0)
    labels = right.labels
    before = likely_label_errors(right)
    changed = np.random.default_rng(1).permutation(600)[:30]
    wrong = labels.copy()
    wrong[changed] = (wrong[changed] + 1) % 4
    found = likely_label_errors(Outputs(right.logits, right.features, wrong))
    assert np.isin(changed, found).mean() > 0.7
    assert not right.correct[before].any() and len(before) <= (~right.correct).sum()
    assert len(np.setdiff1d(found, changed)) <= (~right.correct).sum()
    assert np.isin(found[:10], changed).mean() > 0.7  # the surest first
