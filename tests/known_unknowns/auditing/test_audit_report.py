import json
from dataclasses import replace

import numpy as np
import pytest

from helpers.metrics import auroc
from helpers.outputs import Outputs
from helpers.scores.calibration import softmax
from known_unknowns.auditing import audit, read_outputs, words
from known_unknowns.auditing.rejector import Rejector
from known_unknowns.auditing.report import _plain


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


def test_the_json_says_what_the_report_says(found, tmp_path):
    found.save(tmp_path)
    said = json.loads((tmp_path / "audit.json").read_text())
    assert said["recommended"] == found.best[0] and said["deployed"] == "risk"
    assert said["accuracy"][0] == found.inputs.validation.correct.mean()
    assert said["images"]["ood"] == {"pets_and_toys": 120}
    assert len(said["most_wrongly_sure"]) == (~found.inputs.validation.correct).sum()
    assert said["sha256"].keys() == {"outputs"} and said["settings"]["risk"] == 0.2


def test_numbers_of_numpy_become_those_of_json():
    found = _plain({1: [np.int64(2), np.float32(0.5)], "a": (np.nan, np.array([np.inf, 1.0]))})
    assert json.dumps(found) == '{"1": [2, 0.5], "a": [null, [null, 1.0]]}'


def test_the_same_seed_gives_the_same_report(inputs, found):
    again = audit(inputs, risk=0.2, replicates=50)
    assert again.as_dict() == found.as_dict()
    assert not np.array_equal(audit(inputs, seed=1, replicates=5).choosing, found.choosing)


def test_the_surest_errors_come_first(found):
    """And are errors."""
    sure = softmax(found.inputs.validation.logits, found.temperature).max(axis=1)[found.wrong]
    assert (np.diff(sure) <= 0).all() and not found.inputs.validation.correct[found.wrong].any()


def test_the_prediction_is_of_the_chosen_score(found):
    """With one set there is no line; the Gscore alone says little, and that is said."""
    assert found.prediction.sets == 1 and any(
        "No prediction by a Gscore" in one for one in words.prediction(found)
    )
    value = auroc(found.samples["validation"], found.samples["pets_and_toys"])
    rows = found.confirmed.query("metric == 'auroc'")
    assert rows["value"].item() == pytest.approx(value)


def test_a_wish_that_cannot_be_had_gives_no_rejector_and_says_what_can(inputs):
    found = audit(inputs, risk=0.001, replicates=5)
    assert found.thresholds["risk"].problem and not found.thresholds["coverage"].problem
    assert found.deployed == "" and found.rejector is None
    said = words.threshold(found)[-1]
    assert said == words.rejector(found)
    assert said.startswith("No rejector is written: the wished risk of 0.1 % cannot be had, the ")
    smallest = float(said.removesuffix(" %.").rpartition(" ")[2]) / 100
    assert audit(inputs, risk=smallest, replicates=5).deployed == "risk"
    assert audit(inputs, risk=0.85 * smallest, replicates=5).deployed == ""
    found = audit(inputs, wish="coverage", coverage=0.999, risk=0.2, replicates=5)
    assert found.deployed == "" and not found.thresholds["risk"].problem
    said = words.rejector(found)
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


def test_a_promise_that_cannot_be_kept_gives_way_to_the_other_if_asked(inputs):
    found = audit(inputs, risk=0.001, fallback=True, replicates=5)
    assert found.thresholds["risk"].problem and found.deployed == "coverage"
    said = " ".join(words.threshold(found))
    assert "A risk of 0.1 % cannot be promised" in said and "2996 images" in said
    assert "5992 in all" in said
    assert said.endswith("for the coverage, which promises nothing about the risk.")
    assert json.loads(json.dumps(found.as_dict()))["thresholds"]["risk"]["value"] is None


def test_errors_are_the_problem_where_images_are_enough(inputs):
    """Then it does not help to say how few images would do."""
    wrong = replace(inputs.validation, labels=(inputs.validation.predictions + 1) % 4)
    said = " ".join(words.threshold(audit(replace(inputs, validation=wrong), replicates=5)))
    assert "no larger risk can be promised either" in said and "It takes" not in said


def test_without_any_promise_there_is_no_rejector(inputs, tmp_path):
    found = audit(inputs, risk=0.001, coverage=0.999, fallback=True, replicates=5)
    assert found.rejector is None
    assert [path.name for path in found.save(tmp_path)] == ["report.html", "audit.json"]
    assert "at least 999 images" in found.thresholds["coverage"].problem
    assert "No rejector is written" in words.threshold(found)[-1]


def test_what_probabilities_do_not_say_is_said(arrays, write):
    few = {"logits": softmax(arrays["logits"]), "labels": arrays["labels"]}
    inputs = read_outputs(write(few), treat_as="probabilities")
    lost = "From probabilities the logits are known but for a constant"
    assert any(one.startswith(lost) for one in words.limits(audit(inputs, replicates=5)))
    inputs = replace(inputs, level=True)
    assert not any(one.startswith(lost) for one in words.limits(audit(inputs, replicates=5)))


def test_without_labels_no_promise_is_checked():
    assert words.promises(None) == (
        "No labels were held back, so that no promise could be checked."
    )


def test_coverage_may_be_wished(inputs):
    found = audit(inputs, wish="coverage", coverage=0.8, replicates=5)
    assert found.deployed == "coverage" and found.thresholds["coverage"].coverage[0] >= 0.8


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
    assert "every image is classified correctly" in " ".join(words.limits(found))
    assert words.prediction(found) == ["No unlabelled images were given."]
    json.dumps(found.as_dict(), allow_nan=False)


def test_words_name_the_choice_and_what_is_missing(found, inputs):
    said = words.recommendation(found)
    assert said[0].startswith(f"Take {words.title(found.best[0])}.")
    assert "pets_and_toys" in said[-1]
    alone = audit(replace(inputs, ood={}, unreadable={"production": ("a.png",)}), replicates=5)
    assert "1 files of production cannot be read as images: a.png." in words.limits(alone)
    assert "No set of unknown images was given" in words.limits(alone)[1]


def test_few_unknown_images_are_said_to_be_few(inputs):
    few = {name: one.subset(slice(0, 3)) for name, one in inputs.ood.items()}
    said = words.limits(audit(replace(inputs, ood=few), replicates=5))
    assert any(one.startswith("Fewer than 40 images in pets_and_toys:") for one in said)
    assert not any("Fewer than" in one for one in words.limits(audit(inputs, replicates=5)))


def test_unlabelled_images_that_say_nothing_do_not_end_the_audit(inputs):
    one = inputs.production.subset(slice(0, 1))
    found = audit(replace(inputs, production=one), replicates=5)
    assert "No prediction can be made" in words.prediction(found)[0]


def test_names_of_sets_and_files_are_text_in_the_report(inputs):
    """Whatever is in them: no picture, link or emphasis comes of it."""
    name = "pets<img src=x onerror=alert(1)> [a](b) `c` *d*"
    ood = {name: inputs.ood["pets_and_toys"].subset(slice(0, 30))}
    found = audit(replace(inputs, ood=ood, unreadable={name: ("<b>.png",)}), risk=0.2, replicates=5)
    said = [*words.recommendation(found), *words.threshold(found), *words.limits(found)]
    assert sum(name in one for one in said) >= 3
    shown = words.markdown(*said)
    assert "pets&lt;img src=x onerror=alert(1)&gt; &#91;a&#93;(b)" in shown
    assert not set("<>[]`") & set(shown)
    assert words.plain_text("a\n\n# b") == "a # b"
