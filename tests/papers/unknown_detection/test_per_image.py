"""The committed answers image by image give the committed numbers, and a new file its answers."""

from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest

from helpers import metrics
from helpers.files import project_root
from helpers.papers import load
from helpers.papers.learnt_distances import learnt_distances
from helpers.papers.unknown_detection import detectors, methods, per_image
from helpers.papers.unknown_detection.detectors import union
from helpers.scores.openmax import OpenMax
from helpers.tables import results
from helpers.training import finished_networks
from helpers.training.fitted import load_exported
from tests.papers import toys
from tests.papers.unknown_detection.test_experiment import PARAMETERS, roles  # noqa: F401

SMALL = project_root() / "results/small"
FOLDER = SMALL / "per_image/unknown_detection"
FAR = [*load("unknown_detection", "small").far]
#: The answers of MC dropout, which need fifty passes for each image, are not committed.
METHODS = [*(name for name in methods.NINE if name != "mc_dropout"), "mahalanobis"]


@pytest.fixture(scope="module")
def committed():
    table = results.read(SMALL / "unknown_detection.parquet")
    primary = table[table["variant"] == "primary"]
    return primary.set_index(["method", "run", "test_set", "metric"])["value"]


def numbers(answers):
    """Return five numbers of a method by test set and metric."""
    test, near = answers["test"], answers["near"]
    joint = union(answers, ["test", "near", *FAR])
    far = union(answers, FAR)
    return {
        ("test", "accuracy"): test.correct.mean(),
        ("test", "aurc"): metrics.aurc(test.confidence, test.correct),
        ("near", "auroc"): metrics.auroc(test.confidence, near.confidence),
        ("far", "auroc"): metrics.auroc(test.confidence, far.confidence),
        ("union", "aurc"): metrics.aurc(joint.confidence, joint.correct),
    }


@pytest.mark.parametrize("method", METHODS)
def test_the_files_give_the_committed_numbers_to_three_digits(method, committed):
    for run in committed[method].index.unique("run"):
        for (test_set, metric), value in numbers(per_image.answers(FOLDER, method, run)).items():
            expected = committed[method, run, test_set, metric]
            # three of 4,000 images: some rows are older than the half precision of their network
            assert value == pytest.approx(expected, abs=8e-4), (run, test_set, metric)


def test_a_new_file_has_the_answers_of_its_network(roles, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.setattr(per_image.data, "load", lambda name, split: toys.images(6, 9, name))
    model = detectors.train_method(PARAMETERS, roles, "baseline", 0)
    per_image.write_images(PARAMETERS, roles, tmp_path)
    other_order = replace(roles, far=dict(reversed(roles.far.items())))
    per_image.write_network(PARAMETERS, other_order, model, tmp_path / "0-baseline.parquet")
    listed = pq.read_table(tmp_path / "images.parquet").to_pandas()
    assert listed["set"].unique().tolist() == ["test", "near", "mazes", "plaid", "validation"]
    assert listed["sha256"].str.len().eq(16).all()
    renamed = {name: detectors.Model(name, model.networks) for name in ("odin", "openmax")}
    for method, of in {"baseline": model, **renamed}.items():
        detector = detectors.make(PARAMETERS, roles, of)
        read = per_image.answers(tmp_path, method, 0)
        for name in ("test", "near", "mazes", "plaid"):
            expected = detector.answer(roles.test_sets[name])
            np.testing.assert_allclose(read[name].confidence, expected.confidence, atol=5e-3)
            np.testing.assert_array_equal(read[name].correct, expected.correct)


@pytest.mark.parametrize(("run", "tail"), [(0, 10), (1, 2)])
def test_what_is_stored_of_the_training_images_gives_the_committed_answers_of_openmax(run, tail):
    """The distances of 18,000 training images, none of which a slice needs."""
    path = SMALL / f"networks/unknown_detection/{run}-baseline.safetensors"
    table = pq.read_table(FOLDER / path.with_suffix(".parquet").name).to_pandas()
    classes = finished_networks.load(path)[1]["class_names"]
    finished = replace(load_exported(path, classes), finished=True)
    known = learnt_distances(finished, None, ["euclidean_cosine"])["euclidean_cosine"]
    assert known.correct.mean() == pytest.approx(449, abs=1)
    rule = OpenMax(tail, 1, "euclidean_cosine").fit_distances(known)
    probabilities = rule.probabilities(table[classes].to_numpy(dtype=np.float64))
    committed = table["openmax, unknown"].to_numpy()
    assert np.abs(probabilities[:, -1] - committed).mean() < 1e-3
