"""A rejector as an ONNX file says what the rejector says; run where the extra `onnx` is.

``make test-onnx`` installs the extra and runs this file and ``test_onnx_model.py``.
"""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest

import helpers.scores
from helpers.outputs import Head, Outputs
from helpers.scores.calibration import softmax
from known_unknowns.auditing import export
from known_unknowns.auditing.command import HOLDS, REFUSED, main
from known_unknowns.auditing.rejector import Rejector

CLASSES, WIDTH = 7, 12
NOT_EXPORTED = {
    "gmm",  # a Gaussian of its own for every class: as large as the training images
    "jsd",  # several networks or passes
    "native",
    "odin",  # with the images
    "openmax",  # Weibull distributions
}


def problem(n=200, seed=0):
    """Return outputs whose every class occurs, and their head."""
    generator = np.random.default_rng(seed)
    weight = np.random.default_rng(1).normal(size=(CLASSES, WIDTH)).astype(np.float32)
    head = Head(weight, np.linspace(-1, 1, CLASSES, dtype=np.float32))
    labels = np.arange(n) % CLASSES
    features = generator.normal(size=(n, WIDTH)).astype(np.float32) + weight[labels]
    return Outputs(features @ weight.T + head.bias, features, labels), head


def edges():
    """Return logits and features that are all the same, 0, huge, tiny, or have ties."""
    logits = np.zeros((6, CLASSES), np.float32)
    features = np.zeros((6, WIDTH), np.float32)
    features[1:] = np.random.default_rng(5).normal(size=(5, WIDTH))
    logits[1, 2], features[1] = 1e4, 1e3
    logits[2], features[2] = -1e4, -np.abs(features[2])
    logits[3, :2] = 5
    features[3] = 1e-6
    logits[4], features[4] = np.linspace(-80, 80, CLASSES), np.eye(1, WIDTH)
    logits[5] = 1e-6 * np.arange(CLASSES)
    return logits, features


def made(name, **more):
    score = helpers.scores.create(name, **{"knn": {"k": 5}}.get(name, {})).fit(*problem())
    found = Rejector(score, 0.0, classes=CLASSES, width=WIDTH, **more)
    return replace(found, threshold=float(np.median(found.score_samples(problem(seed=3)[0]))))


def runner(path):
    """Return what a file says of logits and features."""
    pytest.importorskip("onnxruntime", reason="the extra onnx; make test-onnx has it")
    import onnxruntime

    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [one.name for one in session.get_inputs()]

    def run(*arrays):
        given = dict(zip(names, arrays, strict=False))
        outputs = [one.name for one in session.get_outputs()]
        return dict(zip(outputs, session.run(None, given), strict=True))

    return run


def test_every_score_is_exported_or_known_not_to_be():
    names = {one for one in helpers.scores.names()
             if "images" not in helpers.scores.create(one).info.needs}  # fmt: skip
    assert names - NOT_EXPORTED <= set(export.names()) <= set(helpers.scores.names())


@pytest.mark.parametrize("temperature", [None, 1.7])
@pytest.mark.parametrize("name", export.names())
def test_the_file_says_what_the_rejector_says(name, temperature, tmp_path):
    """On images like the training images, and on odd ones; alone and together."""
    pytest.importorskip("onnx", reason="the extra onnx; make test-onnx has it")
    rejector = made(name, temperature=temperature, provenance={"temperature": 1.3})
    run = runner(export.export_onnx(rejector, tmp_path / "rejector.onnx"))
    new, _ = problem(100, seed=3)
    arrays = [
        np.concatenate(pair) for pair in zip((new.logits, new.features), edges(), strict=True)
    ]
    expected = rejector.score_samples(*arrays)
    found = run(*arrays)
    largest = np.maximum(np.abs(expected), np.abs(arrays[0]).max(axis=1))
    if "mahalanobis" in name or "rmds" in name:  # a small distance of points that lie far off
        largest = np.maximum(largest, (arrays[1].astype(float) ** 2).sum(axis=1))
    off = np.abs(found["score"] - expected)
    assert (off <= 1e-8 * largest + 1e-9).all(), np.c_[found["score"], expected][off.argmax()]
    clear = np.abs(expected - rejector.threshold) > 1e-8 * np.maximum(largest, 1)
    assert clear.mean() > 0.95
    assert (found["accepted"] == rejector.accepts(*arrays))[clear].all()
    assert 0 < found["accepted"].mean() < 1
    assert (found["label"] == arrays[0].argmax(axis=1)).all()
    sure = softmax(arrays[0], 1.3).max(axis=1)
    assert found["confidence"] == pytest.approx(sure, abs=1e-12)
    alone = run(*(one[:1] for one in arrays))
    assert alone["score"] == pytest.approx(found["score"][:1], abs=1e-9)


def test_another_rejector_is_told_from_it(tmp_path):
    """The comparison above can fail."""
    pytest.importorskip("onnx", reason="the extra onnx; make test-onnx has it")
    run = runner(export.export_onnx(made("vim"), tmp_path / "rejector.onnx"))
    new, _ = problem(100, seed=3)
    expected = helpers.scores.create("vim", dim=3).fit(*problem()).score_samples(new)
    assert np.abs(run(new.logits, new.features)["score"] - expected).max() > 1e-3


def test_probabilities_are_taken_by_a_rejector_from_probabilities(tmp_path):
    """Among them one that underflowed."""
    pytest.importorskip("onnx", reason="the extra onnx; make test-onnx has it")
    rejector = replace(made("entropy"), given="probabilities")
    run = runner(export.export_onnx(rejector, tmp_path / "rejector.onnx"))
    probabilities = softmax(np.random.default_rng(0).normal(size=(50, CLASSES)) * 4)
    probabilities[0] = np.eye(1, CLASSES)
    probabilities = probabilities.astype(np.float32)
    expected = rejector.score_samples(probabilities)
    assert run(probabilities)["score"] == pytest.approx(expected, abs=1e-5)


def test_the_file_says_what_it_is(tmp_path):
    onnx = pytest.importorskip("onnx", reason="the extra onnx; make test-onnx has it")
    kept = {"promise": "At most 5 %.", "class_names": ["<b>", "ä"]}
    path = export.export_onnx(made("msp", provenance=kept), tmp_path / "rejector.onnx")
    facts = {one.key: one.value for one in onnx.load(path).metadata_props}
    assert facts["promise"] == "At most 5 %." and json.loads(facts["class_names"]) == ["<b>", "ä"]
    assert float(facts["threshold"]) == made("msp").threshold


def test_a_score_that_cannot_be_exported_is_refused(tmp_path):
    pytest.importorskip("onnx", reason="the extra onnx; make test-onnx has it")
    with pytest.raises(ValueError, match="'gmm' is not made of products"):
        export.export_onnx(made("gmm"), tmp_path / "rejector.onnx")
    assert not list(tmp_path.iterdir())


def test_without_the_extra_the_command_says_what_to_install(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "onnx", None)
    made("msp").save(tmp_path / "rejector.safetensors")
    assert main(["export", str(tmp_path / "rejector.safetensors")]) == REFUSED
    assert "pip install '.[onnx]'" in capsys.readouterr().err


def test_the_command_writes_beside_the_rejector_and_keeps_what_is_there(tmp_path, capsys):
    pytest.importorskip("onnx", reason="the extra onnx; make test-onnx has it")
    made("msp").save(tmp_path / "rejector.safetensors")
    given = ["export", str(tmp_path / "rejector.safetensors")]
    assert main(given) == HOLDS and (tmp_path / "rejector.onnx").is_file()
    assert main(given) == REFUSED and "--force" in capsys.readouterr().err
    assert main([*given, "--force"]) == HOLDS
