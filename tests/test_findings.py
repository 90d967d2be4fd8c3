"""Bad input that was once accepted: each case is refused by name."""

import json
import zipfile

import numpy as np
import pytest

import helpers.scores
import known_unknowns
from helpers import data, metrics
from helpers.data.packs import read_pack, write_pack
from helpers.outputs import Head, Outputs
from helpers.scores.calibration import softmax
from known_unknowns import guarantees
from known_unknowns.auditing import Inputs, audit, read_outputs
from known_unknowns.auditing.rejector import Rejector

CLASSES, WIDTH = 4, 6


class OnADevice:
    """Stands for a tensor that keeps track of gradients, or lies elsewhere."""

    def __array__(self, *arguments, **options):
        raise RuntimeError("Can't call numpy() on Tensor that requires grad.")


def model():
    generator = np.random.default_rng(0)
    labels = np.arange(60) % CLASSES
    weight = generator.normal(size=(CLASSES, WIDTH)).astype(np.float32)
    features = generator.normal(size=(60, WIDTH)).astype(np.float32) + 2 * weight[labels]
    return Outputs(features @ weight.T, features, labels), Head(weight, np.zeros(CLASSES, "f4"))


OUTPUTS, HEAD = model()
BARE = Outputs(OUTPUTS.logits, np.empty((60, 0), np.float32), OUTPUTS.labels)
MASKED, EVEN = np.ma.array([1.0, 999.0], mask=[False, True]), [[0.5, 0.5]]
MSP = helpers.scores.create("msp")
RULE = Rejector(MSP, 0.5, 2)


def fit(name, head=HEAD, outputs=OUTPUTS, **arguments):
    return helpers.scores.create(name, **arguments).fit(outputs, head)


REFUSED = {
    "a mask would be forgotten": ("known", lambda: metrics.auroc(MASKED, [0.0])),
    "whole numbers beyond float64": ("known", lambda: metrics.auroc([2**53 + 2], [2**53 + 1])),
    "ragged lists": ("known", lambda: metrics.auroc([[1], [1, 2]], [1])),
    "a tensor with gradients": ("known", lambda: metrics.auroc(OnADevice(), [1])),
    "half a class at the top": ("top", lambda: metrics.accuracy(EVEN, [0], top=1.5)),
    "negative weights": ("weights", lambda: metrics.weighted_mean([1.0, 2.0], [[-1, 3]])),
    "half a success": ("successes", lambda: guarantees.clopper_pearson(2.5, 10)),
    "a million million bins": ("bins", lambda: metrics.ece(EVEN, [0], bins=10**12)),
    "tpr as text": ("tpr", lambda: metrics.fpr_at_tpr([1], [0], tpr="0.95")),
    "keep as text": ("keep", lambda: metrics.rejection_threshold([1], keep="0.95")),
    "several thresholds": (
        "threshold", lambda: metrics.detection_error_rate([1], [1], np.array([1.0, 2.0]))
    ),
    "half an image": ("n", lambda: metrics.resample_weights(2.5, replicates=5, seed=0)),
    "a temperature as text": ("temperature", lambda: softmax(np.zeros((1, 2)), "2")),
    "a risk as text": (
        "risk", lambda: guarantees.risk_threshold(np.arange(99), np.ones(99), risk="0.05")
    ),
    "a percentile as text": ("percentile", lambda: fit("react", percentile="90")),
    "a head that is a pair": ("head", lambda: fit("vim", (HEAD.weight, HEAD.bias))),
    "no outputs to fit to": ("train_outputs", lambda: fit("knn", outputs=None)),
    "an array to fit to": ("train_outputs", lambda: fit("knn", outputs=OUTPUTS.logits)),
    "an array to score": ("outputs", lambda: MSP.score_samples(OUTPUTS.logits)),
    **{
        f"{name} without features": (
            "outputs|train_outputs|head",
            lambda name=name: fit(name, Head(HEAD.weight[:, :0], HEAD.bias), BARE)
            .score_samples(BARE),
        )
        for name in ("react", "she", "gradnorm", "ash", "dice", "fdbd", "gmm", "knn", "nnguide",
                     "scale")
    },
    "a rejector's threshold is missing": ("threshold", lambda: Rejector(MSP, None, 2)),
    "a number to reject": ("logits", lambda: RULE.accepts(3)),
    "rows of other lengths to reject": ("logits", lambda: RULE.accepts([[1], [1, 2]])),
    "probabilities to reject": ("logits", lambda: RULE.accepts([[0.5, 0.5], [0.9, 0.1]])),
    "letters as logits": ("logits|could not", lambda: Outputs([["a"]], [[0]], [0])),
    "complex logits": ("logits", lambda: given(logits=OUTPUTS.logits * 1j)),
    "masked logits": ("logits", lambda: given(logits=np.ma.masked_less(OUTPUTS.logits, 0))),
    "a label that int64 would make −1": (
        "labels", lambda: given(labels=OUTPUTS.labels.astype(np.uint64) - np.uint64(1))
    ),
    "a class that is left twice": ("classes", lambda: given().restricted([2, 2])),
    "a class that there is not": ("classes", lambda: given().restricted([0, CLASSES])),
    "no class that is left": ("classes", lambda: given().restricted([])),
    "a model with two classes of one name": (
        "class_names", lambda: data.load("digits", "test").renumber(["0", "1", "1"])
    ),
    "rows of logits of other lengths": ("logits", lambda: given(logits=[[1.0], [1.0, 2.0]])),
    "a data set without a name": ("name", lambda: data.load(None, "test")),
    "a million pixels a side": ("size", lambda: data.load("digits", "test", size=10**6)),
    "a risk of an audit as text": ("risk", lambda: small_audit(risk="0.05")),
}  # fmt: skip


def given(**arrays):
    """Make outputs as who uses the package does."""
    whole = {name: getattr(OUTPUTS, name) for name in ("logits", "features", "labels")}
    return known_unknowns.Outputs(**whole | arrays)


def small_audit(**wishes):
    return audit(Inputs("a toy", OUTPUTS, tuple("abcd")), **wishes)


@pytest.mark.parametrize("case", REFUSED)
def test_it_is_refused_by_name(case):
    named, call = REFUSED[case]
    with pytest.raises(ValueError, match=rf"^({named})\b"):
        call()


def test_a_score_that_is_not_fitted_is_not_saved(tmp_path):
    rule = Rejector(helpers.scores.create("knn"), 0.5, 2, width=3)
    with pytest.raises(ValueError, match=r"^score: 'knn' is not fitted"):
        rule.save(tmp_path / "rule.safetensors")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("named", "changed"),
    [
        ("percentages", {"logits": 100 * softmax(OUTPUTS.logits)}),
        ("class_names", {"class_names": np.array(["a", "a", "c", "d"])}),
    ],
)
def test_arrays_to_audit_that_cannot_be_meant(tmp_path, named, changed):
    arrays = {"logits": OUTPUTS.logits, "labels": OUTPUTS.labels}
    np.savez(tmp_path / "a.npz", **arrays)
    assert len(read_outputs(tmp_path / "a.npz").validation) == 60
    np.savez(tmp_path / "a.npz", **arrays | changed)
    with pytest.raises(ValueError, match=named):
        read_outputs(tmp_path / "a.npz")


def test_an_archive_that_hides_members_is_refused(tmp_path):
    """A length of a comment that is one bit larger swallows the entries behind it."""
    path = tmp_path / "a.npz"
    np.savez(path, logits=OUTPUTS.logits, labels=OUTPUTS.labels, features=OUTPUTS.features)
    data = bytearray(path.read_bytes())
    start = data.index(b"PK\1\2", data.index(b"PK\1\2") + 1)  # of the second entry: labels
    length = int.from_bytes(data[start + 28 : start + 30], "little")
    following = data.index(b"PK\5\6") - (start + 46 + length)
    data[start + 32 : start + 34] = following.to_bytes(2, "little")
    path.write_bytes(data)
    with zipfile.ZipFile(path) as archive:  # which has noticed nothing
        assert archive.namelist() == ["logits.npy", "labels.npy"]
    with pytest.raises(ValueError, match="2 members found, 3 expected"):
        read_outputs(path)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_an_archive_with_two_arrays_of_one_name_is_refused(tmp_path):
    """Of which only the last would be read."""
    path = tmp_path / "a.npz"
    np.savez(path, logits=OUTPUTS.logits, labels=OUTPUTS.labels)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("logits.npy", archive.read("logits.npy"))
    with pytest.raises(ValueError, match=r"twice: logits\.npy"):
        read_outputs(path)


@pytest.mark.parametrize(
    ("named", "changed"),
    [
        ("labels", {"labels": [0.5] * 50}),
        ("labels", {"labels": [True] * 50}),
        ("should be 1000000000000 images", {"n": 10**12}),
        ("size", {"size": 10**6}),
        ("per_sheet", {"per_sheet": 0}),
        ("cols", {"cols": 0}),
        ("class_names", {"class_names": ["a", "a"]}),
        ("origin", {"origin": ["a"]}),
        ("name", {"name": None, "origin": None}),
    ],
)
def test_numbers_and_names_that_no_pack_has_are_refused(tmp_path, named, changed):
    """Before memory is taken for them; of a pack without checksums, which a stranger made."""
    path = tmp_path / "toy.zip"
    splits = {"test": (np.zeros((50, 8, 8, 3), np.uint8), np.arange(50) % 2)}
    write_pack(path, name="toy", class_names=["a", "b"], splits=splits, origin={"title": "Toy"})
    with zipfile.ZipFile(path) as archive:
        meta = json.loads(archive.read("meta.json"))
        sheet = archive.read("test_0000.webp")
    del meta["sha256"]

    def write():
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("meta.json", json.dumps(meta))
            archive.writestr("test_0000.webp", sheet)

    write()
    assert len(read_pack(path, "test")) == 50
    for name, value in changed.items():
        place = meta["splits"]["test"] if name in ("labels", "n", "size") else meta
        place[name] = value
        if value is None:
            del place[name]
    write()
    with pytest.raises(ValueError, match=rf"toy.zip: .*{named}"):
        read_pack(path, "test")


def test_outputs_cannot_be_changed_through_the_object():
    """Given arrays are not copied, because they are large; the object's views are read-only."""
    part = given().restricted([2, 0])
    assert np.array_equal(part.logits, OUTPUTS.logits[:, [2, 0]])
    mine = OUTPUTS.features.copy()
    taken = given(features=mine)
    with pytest.raises(ValueError, match="read-only"):
        taken.features[0] = 0
    mine[0] = 0
    assert np.shares_memory(mine, taken.features) and not taken.features[0].any()


def test_directions_of_very_long_features_are_exact():
    large = Outputs(OUTPUTS.logits, OUTPUTS.features * np.float32(2**120), OUTPUTS.labels)
    same = [fit("knn", outputs=part, k=2).score_samples(part) for part in (OUTPUTS, large)]
    assert np.allclose(*same, rtol=1e-12)
