"""Bad input, most of which was once accepted: each case is refused by name."""

import json
import zipfile
from functools import partial

import numpy as np
import pytest

import helpers.scores
import known_unknowns
from helpers import data, metrics
from helpers.checks import float_array, known_name
from helpers.data.packs import read_pack, write_pack
from helpers.outputs import Head, Outputs
from helpers.scores.calibration import softmax
from known_unknowns import guarantees
from known_unknowns.auditing import Inputs, audit
from known_unknowns.auditing.rejector import Rejector

CLASSES, WIDTH = 4, 6


class OnADevice:
    """Stands for a tensor that keeps track of gradients, or lies elsewhere."""

    def __array__(self, *arguments, **options):
        raise RuntimeError("Can't call numpy() on Tensor that requires grad.")


GENERATOR, LABELS = np.random.default_rng(0), np.arange(60) % CLASSES
WEIGHT = GENERATOR.normal(size=(CLASSES, WIDTH)).astype(np.float32)
FEATURES = GENERATOR.normal(size=(60, WIDTH)).astype(np.float32) + 2 * WEIGHT[LABELS]
OUTPUTS = Outputs(FEATURES @ WEIGHT.T, FEATURES, LABELS)
HEAD = Head(WEIGHT, np.zeros(CLASSES, np.float32))
BARE = Outputs(OUTPUTS.logits, np.empty((60, 0), np.float32), LABELS)
MASKED, EVEN = np.ma.array([1.0, 999.0], mask=[False, True]), [[0.5, 0.5]]
MSP, KNN = helpers.scores.create("msp"), helpers.scores.create("knn")
RULE = Rejector(MSP, 0.5, 2)


def fit(name, head=HEAD, outputs=OUTPUTS, **arguments):
    return helpers.scores.create(name, **arguments).fit(outputs, head)


NEEDY = ("react", "she", "gradnorm", "ash", "dice", "fdbd", "gmm", "knn", "nnguide", "scale")


def given(kind=known_unknowns.Outputs, **arrays):
    """Make outputs as who uses the package does."""
    return kind(**{"logits": OUTPUTS.logits, "features": FEATURES, "labels": LABELS} | arrays)


def score_bare(name):
    """Score outputs without features, which the score needs."""
    fit(name, Head(HEAD.weight[:, :0], HEAD.bias), BARE).score_samples(BARE)


REFUSED = [  # the argument that the message names, and the call
    ("known", lambda: metrics.auroc(MASKED, [0.0])),  # the mask would be forgotten
    ("known", lambda: metrics.auroc([2**53 + 2], [2**53 + 1])),
    ("known", lambda: metrics.auroc([[1], [1, 2]], [1])),
    ("known", lambda: metrics.auroc(OnADevice(), [1])),
    ("top", lambda: metrics.accuracy(EVEN, [0], top=1.5)),
    ("weights", lambda: metrics.weighted_mean([1.0, 2.0], [[-1, 3]])),
    ("successes", lambda: guarantees.clopper_pearson(2.5, 10)),
    ("bins", lambda: metrics.ece(EVEN, [0], bins=10**12)),
    ("tpr", lambda: metrics.fpr_at_tpr([1], [0], tpr="0.95")),
    ("keep", lambda: metrics.rejection_threshold([1], keep="0.95")),
    ("threshold", lambda: metrics.detection_error_rate([1], [1], np.array([1.0, 2.0]))),
    ("n", lambda: metrics.resample_weights(2.5, replicates=5, seed=0)),
    ("temperature", lambda: softmax(np.zeros((1, 2)), "2")),
    ("risk", lambda: guarantees.risk_threshold(np.arange(99), np.ones(99), risk="0.05")),
    ("risk", lambda: audit(Inputs("a toy", OUTPUTS, tuple("abcd")), risk="0.05")),
    ("percentile", lambda: fit("react", percentile="90")),
    ("head", lambda: fit("vim", (HEAD.weight, HEAD.bias))),
    ("train_outputs", lambda: fit("knn", outputs=None)),
    ("train_outputs", lambda: fit("knn", outputs=OUTPUTS.logits)),
    ("outputs", lambda: MSP.score_samples(OUTPUTS.logits)),
    *(("outputs|train_outputs|head", partial(score_bare, name)) for name in NEEDY),
    ("threshold", lambda: Rejector(MSP, None, 2)),
    ("score: 'knn' is not fitted", lambda: Rejector(KNN, 0.5, 2, width=3).save("no.safetensors")),
    ("logits", lambda: RULE.accepts(3)),
    ("logits", lambda: RULE.accepts([[1], [1, 2]])),
    ("logits", lambda: RULE.accepts([[0.5, 0.5], [0.9, 0.1]])),  # probabilities
    ("logits|could not", lambda: Outputs([["a"]], [[0]], [0])),
    ("labels: 60 images expected, got 2", lambda: given(Outputs, labels=np.array([0, 1]))),
    ("labels: −1 … 3 expected", lambda: given(Outputs, labels=np.full(60, CLASSES))),
    ("labels: integers expected", lambda: given(Outputs, labels=np.full(60, 0.5))),
    ("logits: contains NaN", lambda: given(Outputs, logits=np.full((60, 4), np.nan))),
    ("features: 2 dimension", lambda: given(Outputs, features=np.zeros(60))),
    ("members: 60 images expected, got 4", lambda: given(Outputs, members=np.zeros((2, 4, 4)))),
    ("members: 4 classes expected, got 7", lambda: given(Outputs, members=np.zeros((2, 60, 7)))),
    ("scores: empty", lambda: float_array("scores", [])),
    ("scores: contains NaN .1 of 2", lambda: float_array("scores", [1.0, np.nan])),
    ("scores: contains infinite", lambda: float_array("scores", [1.0, np.inf])),
    ("scores: 1 dimension", lambda: float_array("scores", [[1.0]])),
    ("scores: length 2 expected, got 1", lambda: float_array("scores", [1.0], length=2)),
    ("scores: numbers expected", lambda: float_array("scores", ["a"])),
    ("unknown tier 'x'; There are: mini, y", lambda: known_name("tier", "x", ["y", "mini"])),
    ("logits", lambda: given(logits=OUTPUTS.logits * 1j)),
    ("logits", lambda: given(logits=np.ma.masked_less(OUTPUTS.logits, 0))),
    ("logits", lambda: given(logits=[[1.0], [1.0, 2.0]])),
    ("labels", lambda: given(labels=LABELS.astype(np.uint64) - np.uint64(1))),  # int64 makes it −1
    ("classes", lambda: given().restricted([2, 2])),
    ("classes", lambda: given().restricted([0, CLASSES])),
    ("classes", lambda: given().restricted([])),
    ("class_names", lambda: data.load("digits", "test").renumber(["0", "1", "1"])),
    ("name", lambda: data.load(None, "test")),
    ("size", lambda: data.load("digits", "test", size=10**6)),
]


@pytest.mark.parametrize(("named", "call"), REFUSED)
def test_it_is_refused_by_name(named, call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=rf"^({named})\b"):
        call()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("named", "changed"), [
    ("labels", {"labels": [0.5] * 50}), ("labels", {"labels": [True] * 50}),
    ("should be 1000000000000 images", {"n": 10**12}), ("size", {"size": 10**6}),
    ("per_sheet", {"per_sheet": 0}), ("cols", {"cols": 0}), ("origin", {"origin": ["a"]}),
    ("class_names", {"class_names": ["a", "a"]}), ("name", {"name": None, "origin": None}),
])  # fmt: skip
def test_numbers_and_names_that_no_pack_has_are_refused(tmp_path, named, changed):
    """Before memory is taken for them; of a pack without checksums, which a stranger made."""
    path, splits = tmp_path / "toy.zip", {"test": (np.zeros((50, 8, 8, 3), np.uint8), LABELS[:50])}
    write_pack(path, name="toy", class_names=list("abcd"), splits=splits, origin={"title": "Toy"})
    with zipfile.ZipFile(path) as archive:
        meta, sheet = json.loads(archive.read("meta.json")), archive.read("test_0000.webp")
    meta["splits"]["test"] |= {name: changed[name] for name in changed if name not in meta}
    meta = {name: changed.get(name, value) for name, value in meta.items() if name != "sha256"}
    meta = {name: value for name, value in meta.items() if value is not None}
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("meta.json", json.dumps(meta))
        archive.writestr("test_0000.webp", sheet)
    with pytest.raises(ValueError, match=rf"toy.zip: .*{named}"):
        read_pack(path, "test")


def test_outputs_cannot_be_changed_through_the_object():
    """Given arrays are not copied, because they are large; the object's views are read-only."""
    assert np.array_equal(given().restricted([2, 0]).logits, OUTPUTS.logits[:, [2, 0]])
    mine = FEATURES.copy()
    taken = given(features=mine)
    with pytest.raises(ValueError, match="read-only"):
        taken.features[0] = 0
    mine[0] = 0
    assert np.shares_memory(mine, taken.features) and not taken.features[0].any()


def test_directions_of_very_long_features_are_exact():
    large = Outputs(OUTPUTS.logits, FEATURES * np.float32(2**120), LABELS)
    same = [fit("knn", outputs=part, k=2).score_samples(part) for part in (OUTPUTS, large)]
    assert np.allclose(*same, rtol=1e-12)
