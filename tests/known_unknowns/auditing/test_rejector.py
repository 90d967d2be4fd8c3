"""A rejector decides the same after it is read from its file, or the file is refused."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.numpy import save_file

from helpers import checkpoints
from helpers.outputs import Head, Outputs
from helpers.scores import create, names
from helpers.scores.calibration import log_probabilities
from known_unknowns.auditing import audit
from known_unknowns.auditing.command import main
from known_unknowns.auditing.rejector import Rejector
from known_unknowns.auditing.state import pack, unpack

CLASSES = 20
WIDTH = 40
OTHERS = {"members", "native", "images"}  # which no rejector is given


def trained(n=300, seed=0):
    """Return outputs whose every class occurs, and their head."""
    generator = np.random.default_rng(seed)
    weight = np.random.default_rng(1).normal(size=(CLASSES, WIDTH)).astype(np.float32)
    head = Head(weight, np.linspace(-1, 1, CLASSES, dtype=np.float32))
    labels = np.arange(n) % CLASSES
    features = generator.normal(size=(n, WIDTH)).astype(np.float32) + weight[labels]
    return Outputs(features @ weight.T + head.bias, features, labels), head


def rejector(name="knn", threshold=0.0, **more):
    score = create(name).fit(*trained())
    return Rejector(score, threshold, classes=CLASSES, width=WIDTH, **more)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "rejector.safetensors"


@pytest.mark.parametrize(
    "name", [name for name in names() if OTHERS.isdisjoint(create(name).info.needs)]
)
def test_rejectors_come_back(path, name):
    outputs, _ = trained(80, seed=2)
    values = rejector(name).score_samples(outputs)
    for threshold in (-0.0, np.sort(values)[40]):
        rejector(name, threshold, provenance={"a": 1}).save(path)
        read = Rejector.load(path)
        assert (read.threshold, read.provenance) == (threshold, {"a": 1})
        assert np.array_equal(read.score_samples(outputs), values)
        assert np.array_equal(read.accepts(outputs), values >= threshold)
        judged = read.judge(outputs.logits, outputs.features)
        assert np.array_equal(judged["accepted"], values >= threshold)


LOGITS = np.zeros((5, CLASSES))
FEATURES = np.zeros((5, WIDTH))


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ([LOGITS], "^features: expected, since 'knn' needs them"),
        ([LOGITS[:, :19], FEATURES], "^logits: width 20 expected, .* got 19"),
        ([LOGITS, np.zeros((5, 41))], "^features: width 40 expected, .* got 41"),
        ([LOGITS, FEATURES[:4]], "^features: 5 images expected, got 4"),
        ([LOGITS[:0], FEATURES[:0]], "^logits: empty"),
        ([LOGITS[0], FEATURES], r"^logits: numbers \[N, K\] expected"),
    ],
)
def test_outputs_of_another_model_are_refused(arrays, message):
    """The message names the array."""
    with pytest.raises(ValueError, match=message):
        rejector().accepts(*arrays)


@pytest.mark.parametrize(
    ("score", "changed", "message"),
    [
        (create("jacobian"), {}, "^score: 'jacobian' needs the images"),
        (create("odin", epsilon=0.01), {}, "^score: 'odin' needs the images"),
        (create("knn"), {"width": None}, "^width: .* 'knn' needs"),
        (create("msp"), {"threshold": np.nan}, "^threshold: a number expected, got nan"),
        (create("msp"), {"provenance": {"images": np.int64(3)}}, "^provenance: plain JSON"),
    ],
)
def test_a_rejector_that_cannot_be_deployed_is_refused(score, changed, message):
    """The error comes before a file is written."""
    arguments = {"threshold": 0.0, "classes": CLASSES, "width": WIDTH} | changed
    with pytest.raises(ValueError, match=message):
        Rejector(score, **arguments)


def test_deep_nesting_is_refused_in_one_sentence(path):
    """The text is written by hand: Python does not write it either."""
    rejector("knn").save(path)
    tensors, saved = checkpoints.load(path, framework="np")
    text = json.dumps(saved).replace('"provenance": {}', f'"provenance": {"[" * 9**5}{"]" * 9**5}')
    metadata = {"information": text, "sha256": checkpoints._checksum(tensors, text)}
    save_file(tensors, path, metadata=metadata)
    with pytest.raises(ValueError, match="nested"):
        Rejector.load(path)


def test_a_file_that_does_not_fit_is_refused(path, bad_rejector, message):
    """With its path; the checksum of the changed file fits."""
    rejector("knn").save(path)
    (tensors, saved) = checkpoints.load(path)
    change = dict(bad_rejector)
    if "fill" in change:
        value = change.pop("fill")
        tensors = {k: v * value if v.is_floating_point() else v for k, v in tensors.items()}
    checkpoints.save(path, change.pop("tensors", tensors), **saved | change)
    with pytest.raises(ValueError, match=f"^{path}.*{message}"):
        Rejector.load(path)


def test_the_kind_of_input_is_kept_and_the_other_kind_refused(path):
    """Probabilities are converted to logarithms if the rejector was made from probabilities."""
    (train, head) = trained()
    (new, _) = trained(50, seed=3)
    logarithms = replace(new, logits=log_probabilities(new.probabilities))
    given = replace(new, logits=np.exp(logarithms.logits))
    of_features = rejector("knn")  # which does not look at logits
    assert (of_features.score_samples(given) == of_features.score_samples(new)).all()
    train = replace(train, logits=log_probabilities(train.probabilities))
    for name in ("msp", "fdbd"):
        rejector(name).save(path)
        assert Rejector.load(path).given == "logits"
        with pytest.raises(ValueError, match=r"^logits: .* probabilities, but .* from logits"):
            Rejector.load(path).accepts(given)
        score = create(name).fit(train, head)
        Rejector(score, 0.0, classes=CLASSES, width=WIDTH, given="probabilities").save(path)
        rule = Rejector.load(path)
        expected = score.score_samples(logarithms)
        assert (rule.score_samples(logarithms) == expected).all()
        assert rule.score_samples(given) == pytest.approx(expected, abs=1e-4)
        assert rule.score_samples(given.subset(slice(0, 1)))[0] == rule.score_samples(given)[0]
        with pytest.raises(ValueError, match=r"^logits: the rejector was made from probabilities"):
            rule.accepts(new)


def test_logits_of_one_image_may_add_up_to_about_one():
    """1 / (1 + exp(-0.3995)); logits of two such images are probabilities."""
    rule = Rejector(create("msp"), 0.5, classes=2)
    assert rule.score_samples([[0.7, 0.3005]]) == pytest.approx([0.598567], abs=1e-6)
    with pytest.raises(ValueError, match=r"^logits: .* these are probabilities"):
        rule.score_samples([[0.7, 0.3005]] * 2)


def test_p_values_are_of_the_images_that_were_kept(path):
    """They are uniform for known images and low for unknown images."""
    rule = rejector("msp")
    (new, _) = trained(400, seed=3)
    values = rule.score_samples(new)
    rule = replace(rule, known=np.sort(values[:200]))
    rule.save(path)
    table = Rejector.load(path).judge(new.logits)
    assert table["score"].tolist() == values.tolist()
    assert table["p_value"].tolist() == rule.p_values(values).tolist()
    assert abs((table["p_value"][200:] <= 0.5).mean() - 0.5) < 0.15
    assert rule.p_values([values.min() - 1, values.max() + 1]).tolist() == [1 / 201, 1.0]


def test_other_files_and_parts_are_refused(path):
    checkpoints.save(path, {"weight": torch.zeros(3)})
    with pytest.raises(ValueError, match="no rejector"):
        Rejector.load(path)
    rule = rejector("react")
    rule.score.more = {"set": {1}}
    with pytest.raises(ValueError, match=r"^score: react\.more\.set is a set"):
        rule.save(path.with_name("new"))
    assert not path.with_name("new").exists()


def test_an_array_of_two_parts_is_written_once():
    tensors = {}
    turned = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    packed = pack({"a": turned, "b": (turned, turned.T, turned[:1])}, "score", tensors)
    assert [*tensors] == ["score.a", "score.b.2"]
    (again, transposed, _) = unpack(packed, tensors)["b"]
    assert np.array_equal(again, turned) and again.flags.f_contiguous
    assert np.array_equal(transposed, turned.T)


def test_a_threshold_in_single_precision_is_saved(path):
    rule = replace(rejector("msp"), threshold=np.float32(0.5))
    rule.save(path)
    assert Rejector.load(path).threshold == 0.5


def test_each_answer_can_have_a_threshold(here, capsys):
    """Many answers 1 are wrong, so that only the surest are accepted, and 2 is too rare."""
    generator = np.random.default_rng(0)
    answers = generator.choice(3, p=[0.6, 0.39, 0.01], size=6000)
    sure = generator.random(6000)
    false = generator.random(6000) < np.where(answers == 1, 0.25 * (1 - sure), 0.01)
    logits = np.where(np.arange(3) == answers[:, None], 1 + 3 * sure[:, None], 0.0)
    labels = np.where(false, (answers + 1) % 3, answers)
    audited = audit({"logits": logits, "labels": labels}, risk=0.05, score="msp", replicates=5)
    rule = audited.rejector
    assert np.isinf(rule.by_answer).tolist() == [False, False, True]
    accepted = rule.judge(logits, by_answer=True)["accepted"].to_numpy()
    assert false[accepted & (answers == 1)].mean() <= 0.05
    assert false[rule.accepts(logits) & (answers == 1)].mean() > 0.06
    assert not accepted[answers == 2].any()
    assert accepted[answers == 0].mean() > 0.99
    rule.save("r.safetensors")
    assert Rejector.load("r.safetensors") == rule
    assert replace(rule, threshold=0.5) != rule != replace(rule, by_answer=None)
    assert repr(rule).startswith("Rejector(Maximum softmax probability (MSP) >= ")
    assert len(repr(rule)) < 80
    np.savez("new.npz", logits=logits)
    command = "accept r.safetensors new.npz --out a.csv --by-answer".split()
    assert main(command) == 0
    assert f"{accepted.sum()} of 6000 images are accepted" in capsys.readouterr().out
    rows = pd.read_csv("a.csv")
    assert rows["accepted"].tolist() == accepted.tolist()
    assert "`accept --by-answer`" in " ".join(audited.sentences("answers"))
    old = Rejector(rule.score, rule.threshold, 3)
    with pytest.raises(ValueError, match=r"none has enough .* a larger risk"):
        old.judge(logits, by_answer=True)
    with pytest.raises(ValueError, match="by_answer: 3 thresholds expected"):
        Rejector(rule.score, rule.threshold, 3, by_answer=np.ones(2))
