"""Somebody's own answers beside the methods': read, refused by name, measured alike, and walked."""

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from helpers import metrics
from helpers.data import Images, ImageStream
from helpers.papers.parameters import load
from helpers.papers.unknown_detection import tables, yours
from helpers.papers.unknown_detection.roles import Benchmark
from helpers.report import results

ROOT = Path(__file__).resolve().parents[3]
PARAMETERS = load("unknown_detection", "mini", replicates=8, far=["digits"])


def images(name, n, seed):
    pixels = np.random.default_rng(seed).integers(256, size=(n, 4, 4, 3), dtype=np.uint8)
    return Images(pixels, np.arange(n) % 3, ("a", "b", "c"), name, "test")


@pytest.fixture(scope="module")
def benchmark():
    seen, outside = images("train", 9, 0), images("external", 5, 1).unknown()
    return Benchmark(
        known=("a", "b", "c"), near_classes=("a", "b", "c"), superclass_of={}, train=seen,
        validation=seen, test=images("test", 30, 2), external=outside, external_validation=outside,
        near=images("near", 18, 3), far={"digits": images("digits", 20, 4)},
        aside={"gaussian": images("gaussian", 10, 5)},
    )  # fmt: skip


@pytest.fixture(scope="module")
def manifest(benchmark):
    return yours.manifest(benchmark)


@pytest.fixture
def arrays(benchmark):
    """Logits of every test set, mostly right about the ID images."""
    generator = np.random.default_rng(0)
    return {
        f"{name}_logits": generator.normal(size=(len(one), 3)) + 2 * np.eye(4, 3)[one.labels]
        for name, one in benchmark.test_sets.items()
    }


@pytest.fixture
def write(tmp_path):
    def to_file(content):
        if isinstance(content, pd.DataFrame):
            content.to_csv(tmp_path / "yours.csv", index=False)
            return tmp_path / "yours.csv"
        np.savez(tmp_path / "yours.npz", **content)
        return tmp_path / "yours.npz"

    return to_file


def read(path, manifest, **given):
    return yours.read(path, manifest, ["test", "near", "digits"], **given)


def as_confidence(arrays):
    """Return the same answers as confidences and predictions."""
    found = {}
    for key, logits in arrays.items():
        shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        found[key.replace("logits", "confidence")] = shares.max(axis=1)
    return found | {"test_predictions": arrays["test_logits"].argmax(axis=1)}


def as_table(arrays, manifest):
    given = as_confidence(arrays)
    confidence = np.concatenate([given[f"{one}_confidence"] for one in manifest["set"].unique()])
    prediction = manifest["label"].copy()
    prediction[manifest["set"] == "test"] = given["test_predictions"]
    return manifest.assign(confidence=confidence, prediction=prediction)


def test_the_manifest_names_every_image(benchmark, manifest, tmp_path):
    assert manifest["set"].value_counts(sort=False).to_dict() == {
        "test": 30, "near": 18, "digits": 20, "gaussian": 10
    }  # fmt: skip
    test = manifest[manifest["set"] == "test"]
    assert test["class"].tolist() == ["a", "b", "c"] * 10 and test["number"].tolist() == [
        *range(30)
    ]
    assert set(manifest.loc[manifest["set"] != "test", "label"]) == {-1}
    assert set(manifest.loc[manifest["set"] != "test", "class"]) == {""}
    assert manifest["image"].nunique() == 78
    held = yours.pixels(benchmark)
    assert np.array_equal(held["near"], benchmark.near.images) and len(held["train_labels"]) == 9
    from PIL import Image

    for name in "ab":
        (tmp_path / "pets" / name).mkdir(parents=True)
        Image.new("RGB", (8, 8)).save(tmp_path / "pets" / name / "1.png")
    stream = replace(benchmark, near=ImageStream.scan(tmp_path / "pets"))
    near = yours.manifest(stream).query("set == 'near'")
    assert near["image"].tolist() == ["pets/a/1.png", "pets/b/1.png"]
    assert "near" not in yours.pixels(stream)


def test_all_kinds_of_files_say_the_same(arrays, manifest, write):
    """Logits, their probabilities, confidences and predictions, and a table of either."""
    expected = read(write(arrays), manifest)
    assert expected["test"][1].mean() > 0.5 and not expected["near"][1].any()
    shares = {
        name: np.exp(one) / np.exp(one).sum(axis=1, keepdims=True) for name, one in arrays.items()
    }
    each = np.concatenate([*arrays.values()])
    columns = {f"logit_{number}": each[:, number] for number in range(3)}
    for other in (
        shares,
        as_confidence(arrays),
        as_table(arrays, manifest),
        manifest[["set", "number"]].assign(**columns),
    ):
        found = read(write(other), manifest)
        for name, (confidence, correct) in expected.items():
            assert found[name][0] == pytest.approx(confidence, rel=1e-5)
            assert (found[name][1] == correct).all()


def test_any_score_of_logits_can_be_asked(arrays, manifest, write):
    found = read(write(arrays), manifest, score="max_logit")
    assert found["near"][0] == pytest.approx(arrays["near_logits"].max(axis=1))
    with pytest.raises(ValueError, match="score 'knn' needs features, training outputs, beside"):
        read(write(arrays), manifest, score="knn")
    shares = {name: np.full(one.shape, 1 / 3) for name, one in arrays.items()}
    with pytest.raises(ValueError, match="test_logits: these are probabilities, of which 'energy'"):
        read(write(shares), manifest, score="energy")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda a: a.pop("near_logits"), "yours.npz: nothing about the test set near"),
        (lambda a: a.update(nera_logits=a["near_logits"]), "unknown array 'nera_logits'; did you"),
        (lambda a: a.update(near_logits=a["near_logits"][1:]), "near_logits: 18 images expected"),
        (
            lambda a: a.update(test_logits=a["test_logits"][:, 1:]),
            "test_logits: 3 classes expected",
        ),
        (lambda a: a.update(near_confidence=np.ones(18)), "near: either near_logits or near_conf"),
        (lambda a: a["near_logits"].__setitem__((0, 0), np.nan), "near_logits"),
        (
            lambda a: a.update(test_labels=np.arange(30) % 3 + (np.arange(30) == 7)),
            "test_labels: image 7 has 2, in the manifest 1: these are other images",
        ),
    ],
)
def test_what_is_wrong_with_an_archive_is_said(arrays, manifest, write, change, message):
    change(arrays)
    with pytest.raises(ValueError, match=message):
        read(write(arrays), manifest)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.iloc[:-11], "set digits: 20 images expected, as in the manifest, got 19"),
        (lambda t: t.iloc[::-1], "number: row 0 of the set gaussian is 9, in the manifest 0"),
        (lambda t: t.assign(label=0), "label: row 1 of the set test is 0, in the manifest 1"),
        (lambda t: t.assign(image="x"), "image: row 0 of the set test is x"),
        (lambda t: t.drop(columns="number"), "number: missing"),
        (lambda t: t.rename(columns={"confidence": "confidnce"}), "did you mean 'confidence'"),
        (lambda t: t.replace({"set": {"near": "neer"}}), "unknown test set 'neer'; did you mean"),
        (lambda t: t.drop(columns="prediction"), "test_predictions: missing"),
        (lambda t: t.assign(prediction=3), "test_predictions: numbers of classes, 0 to 2, or -1"),
    ],
)
def test_what_is_wrong_with_a_table_is_said(arrays, manifest, write, change, message):
    with pytest.raises(ValueError, match=message):
        read(write(change(as_table(arrays, manifest))), manifest)


def test_answers_are_measured_like_a_methods(arrays, benchmark, write):
    path = write(arrays)
    found = yours.rows(PARAMETERS, benchmark, [path, path], name="my net")
    assert set(found["run"]) == {0, 1} and set(found["method"]) == {"yours: my net"}
    said = read(path, yours.manifest(benchmark))
    value = found.set_index(["run", "test_set", "metric"])["value"]
    assert value[0, "test", "accuracy"] == said["test"][1].mean()
    assert value[1, "near", "auroc"] == metrics.auroc(said["test"][0], said["near"][0])
    every = [np.concatenate([said[one][k] for one in ("test", "near", "digits")]) for k in (0, 1)]
    assert value[0, "union", "aurc"] == metrics.aurc(*every)
    assert {"gaussian", "paper_union"} < set(found["test_set"])
    with pytest.raises(ValueError, match="name: 'crl' is a method of the benchmark's own"):
        yours.rows(PARAMETERS, benchmark, [path], name="crl")


def test_paper_ours_yours_in_one_table(arrays, benchmark, write, table_of):
    own = yours.rows(PARAMETERS, benchmark, [write(arrays)], name="my net")
    kept = own[own["test_set"].isin(["test", "near", "union", "digits"])]
    ours = table_of(
        [dict(row, method="baseline", value=0.5, bootstrap=[0.5]) for row in
         kept[["test_set", "metric", "run", "images"]].to_dict("records")],
        paper="unknown_detection",
    )  # fmt: skip
    both = pd.concat([ours.assign(backbone="resnet8", data_set="cifar10_mini"), own])
    shown = tables.main_table(both, PARAMETERS)
    assert shown.frame().index.tolist() == ["Baseline", "my net"]
    assert shown.frame().iloc[0, 0] == "50.0 (74.4)" and "(–)" in shown.frame().iloc[1, 0]
    assert "Yours: my net." in shown.caption
    part = tables.beside(both)
    frame = tables.detection(part, metrics=["auroc"]).frame()
    assert frame.index.tolist() == [
        ("Baseline", "ours"), ("Baseline", "paper"), ("my net", "yours")
    ]  # fmt: skip
    alone = tables.main_table(own, PARAMETERS)  # without any of ours
    assert alone.frame().index.tolist() == ["my net"] and alone.frame().shape[1] == 6


def test_the_commands_of_the_book(tmp_path, monkeypatch):
    """From the manifest to the table, at the tier of the embedded images."""
    text = (ROOT / "book" / "unknown_detection.md").read_text(encoding="utf-8")
    section = text.partition("## Your own network in the table")[2].partition("\n## ")[0]
    python = re.findall(r"^```python\n(.*?)^```$", section, flags=re.M | re.S)
    commands = re.findall(r"^\$ (.*)$", section, flags=re.M)
    assert len(commands) == 2 and len(python) == 1
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(ROOT))
    here = os.environ | {"PYTHONPATH": str(ROOT)}

    def walk(command):
        command = command.replace(
            ".venv/bin/python workflow/", f"{sys.executable} {ROOT}/workflow/"
        )
        command += " --set replicates=4 'aside=[]' 'resized=\"\"'"
        done = subprocess.run(command, shell=True, env=here, capture_output=True, text=True)
        assert not done.returncode, done.stderr
        return done.stdout

    walk(commands[0])
    generator = np.random.default_rng(0)
    names = {"network": lambda images: generator.normal(size=(len(images), 5))}
    exec(python[0], names)
    said = walk(commands[1])
    assert "my_network" in said and (tmp_path / "yours" / "table.html").exists()
    found = results.read(tmp_path / "yours" / "results.parquet")
    assert set(found["method"]) == {"yours: my_network"}
    wrong = dict(np.load("my_outputs.npz"))
    np.savez("wrong.npz", **wrong | {"near_logits": wrong["near_logits"][1:]})
    with pytest.raises(AssertionError, match=r"near_logits: \d+ images expected, as in the manif"):
        walk(commands[1].replace("my_outputs.npz", "wrong.npz"))
